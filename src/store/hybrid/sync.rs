//! The locks of the store, so that its own tests can put those of a model checker in their place. Knows nothing of what
//! they guard.
//!
//! Outside of the crate's unit tests these are parking_lot's and nothing else. In unit tests, a lock that is made while
//! [`modelled::model`] runs belongs to shuttle, which then decides at every lock which thread goes on.

#[cfg(test)]
pub(super) mod modelled;

#[cfg(not(test))]
pub(super) use parking_lot::{Condvar, Mutex, RwLock};

#[cfg(test)]
pub(super) use self::modelled::{Condvar, Mutex, RwLock};
