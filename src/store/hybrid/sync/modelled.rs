//! Locks with the face of parking_lot's that are shuttle's inside of a model, and parking_lot's elsewhere. For tests alone.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use shuttle::sync as model;

thread_local! {
    /// Shuttle runs all threads of a model on the one that started it.
    static MODELLED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a body of which every interleaving is a model's; locks made in it are shuttle's.
pub fn model(body: impl Fn()) {
    MODELLED.set(true);
    body();
    MODELLED.set(false);
}

/// A thread of a model that panics has found a fault already.
const SOUND: &str = "no thread of a model panics with a lock";

/// Declares a guard that is one or the other, and what it derefs to.
macro_rules! guard {
    ($name:ident, $real:ident, $modelled:ident) => {
        pub enum $name<'a, T> {
            Real(parking_lot::$real<'a, T>),
            /// `None` only while a condition is waited for.
            Modelled(Option<model::$modelled<'a, T>>),
        }

        impl<T> Deref for $name<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                match self {
                    Self::Real(guard) => guard,
                    Self::Modelled(guard) => guard.as_ref().expect(SOUND),
                }
            }
        }
    };
    (mut $name:ident, $real:ident, $modelled:ident) => {
        guard!($name, $real, $modelled);

        impl<T> DerefMut for $name<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                match self {
                    Self::Real(guard) => guard,
                    Self::Modelled(guard) => guard.as_mut().expect(SOUND),
                }
            }
        }
    };
}

guard!(mut MutexGuard, MutexGuard, MutexGuard);
guard!(ReadGuard, RwLockReadGuard, RwLockReadGuard);
guard!(mut WriteGuard, RwLockWriteGuard, RwLockWriteGuard);

#[derive(Debug)]
pub enum Mutex<T> {
    Real(parking_lot::Mutex<T>),
    Modelled(model::Mutex<T>),
}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        if MODELLED.get() {
            Self::Modelled(model::Mutex::new(value))
        } else {
            Self::Real(parking_lot::Mutex::new(value))
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self {
            Self::Real(mutex) => MutexGuard::Real(mutex.lock()),
            Self::Modelled(mutex) => MutexGuard::Modelled(Some(mutex.lock().expect(SOUND))),
        }
    }
}

#[derive(Debug)]
pub enum RwLock<T> {
    Real(parking_lot::RwLock<T>),
    Modelled(model::RwLock<T>),
}

impl<T> RwLock<T> {
    pub fn new(value: T) -> Self {
        if MODELLED.get() {
            Self::Modelled(model::RwLock::new(value))
        } else {
            Self::Real(parking_lot::RwLock::new(value))
        }
    }

    pub fn read(&self) -> ReadGuard<'_, T> {
        match self {
            Self::Real(lock) => ReadGuard::Real(lock.read()),
            Self::Modelled(lock) => ReadGuard::Modelled(Some(lock.read().expect(SOUND))),
        }
    }

    pub fn write(&self) -> WriteGuard<'_, T> {
        match self {
            Self::Real(lock) => WriteGuard::Real(lock.write()),
            Self::Modelled(lock) => WriteGuard::Modelled(Some(lock.write().expect(SOUND))),
        }
    }
}

#[derive(Debug)]
pub enum Condvar {
    Real(parking_lot::Condvar),
    Modelled(model::Condvar),
}

impl Condvar {
    pub fn new() -> Self {
        if MODELLED.get() { Self::Modelled(model::Condvar::new()) } else { Self::Real(parking_lot::Condvar::new()) }
    }

    pub fn wait_while<T>(&self, guard: &mut MutexGuard<'_, T>, condition: impl FnMut(&mut T) -> bool) {
        match (self, guard) {
            (Self::Real(condvar), MutexGuard::Real(guard)) => condvar.wait_while(guard, condition),
            (Self::Modelled(condvar), MutexGuard::Modelled(guard)) => {
                let held = guard.take().expect(SOUND);
                *guard = Some(condvar.wait_while(held, condition).expect(SOUND));
            }
            _ => panic!("a lock of a model met one that is not"),
        }
    }

    pub fn notify_all(&self) {
        match self {
            Self::Real(condvar) => drop(condvar.notify_all()),
            Self::Modelled(condvar) => condvar.notify_all(),
        }
    }
}
