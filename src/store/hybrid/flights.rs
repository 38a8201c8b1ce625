//! Reads that are under way, so that two threads which miss the same record read it once. Knows nothing of files.
//!
//! A record never changes where it stands, so the offset names the read. The usual read has nobody waiting for it and leaves
//! no more than an entry in a short list; only who finds another's read there makes something to wait on.

use std::sync::Arc;

use super::sync::{Condvar, Mutex};

/// The reads of one shard that are under way; `T` is what a finished one gives to those who waited.
#[derive(Debug)]
pub struct Flights<T>(Mutex<Vec<UnderWay<T>>>);

/// A read's offset and, once somebody waits for it, what they wait on.
type UnderWay<T> = (u32, Option<Arc<Flight<T>>>);

#[derive(Debug)]
pub struct Flight<T> {
    /// `Some(None)`: the read failed, or was given up.
    outcome: Mutex<Option<Option<Arc<T>>>>,
    landed: Condvar,
}

/// What the caller is to do.
pub enum Role<'a, T> {
    /// Read, and say what came of it.
    Lead(Lead<'a, T>),
    /// Another thread reads.
    Wait(Arc<Flight<T>>),
}

/// The right to read. Dropped without [`Lead::land`], it tells those who wait to see for themselves.
pub struct Lead<'a, T> {
    flights: &'a Flights<T>,
    offset: u32,
}

impl<T> Flights<T> {
    pub fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    pub fn join(&self, offset: u32) -> Role<'_, T> {
        let mut flights = self.0.lock();
        if let Some((_, waited_on)) = flights.iter_mut().find(|flight| flight.0 == offset) {
            let new = || Arc::new(Flight { outcome: Mutex::new(None), landed: Condvar::new() });
            return Role::Wait(waited_on.get_or_insert_with(new).clone());
        }
        flights.push((offset, None));
        Role::Lead(Lead { flights: self, offset })
    }

    /// Bytes of the list itself.
    pub fn allocation_size(&self) -> usize {
        self.0.lock().capacity() * size_of::<UnderWay<T>>()
    }
}

impl<T> Flight<T> {
    /// What the leader read; `None` when it did not succeed.
    pub fn wait(&self) -> Option<Arc<T>> {
        let mut outcome = self.outcome.lock();
        self.landed.wait_while(&mut outcome, |outcome| outcome.is_none());
        outcome.clone().flatten()
    }

    fn end(&self, outcome: Option<Arc<T>>) {
        *self.outcome.lock() = Some(outcome);
        self.landed.notify_all();
    }
}

impl<T> Lead<'_, T> {
    /// Ends the read; `read` makes what those who wait are given, and is called only if there are any.
    pub fn land(self, read: impl FnOnce() -> Option<T>) {
        if let Some(flight) = self.leave() {
            flight.end(read().map(Arc::new));
        }
        std::mem::forget(self);
    }

    fn leave(&self) -> Option<Arc<Flight<T>>> {
        let mut flights = self.flights.0.lock();
        let at = flights.iter().position(|flight| flight.0 == self.offset)?;
        flights.swap_remove(at).1
    }
}

impl<T> Drop for Lead<'_, T> {
    fn drop(&mut self) {
        if let Some(flight) = self.leave() {
            flight.end(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn those_who_wait_get_what_the_leader_read() {
        let flights = Flights::new();
        let Role::Lead(lead) = flights.join(5) else { panic!("nobody else reads") };
        let Role::Wait(flight) = flights.join(5) else { panic!("5 is being read") };
        assert!(matches!(flights.join(6), Role::Lead(_)));
        let found = thread::scope(|scope| {
            let waiter = scope.spawn(|| flight.wait());
            lead.land(|| Some(42));
            waiter.join().unwrap()
        });
        assert_eq!(found.as_deref(), Some(&42));
        assert!(matches!(flights.join(5), Role::Lead(_)), "the read is over");
    }

    #[test]
    fn those_who_wait_for_a_leader_that_panics_are_told() {
        let flights = Flights::<u8>::new();
        let Role::Lead(lead) = flights.join(5) else { panic!("nobody else reads") };
        let Role::Wait(flight) = flights.join(5) else { panic!("5 is being read") };
        drop(lead);
        assert_eq!(flight.wait(), None);
    }
}
