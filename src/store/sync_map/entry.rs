//! An entry: one atomic word that says what a key's value is. Knows nothing of the maps that share it.
//!
//! The word is in one of three states:
//! - a pointer to a boxed value;
//! - null: deleted, and in every map that the entry should be in; a store may revive it without a lock;
//! - expunged: deleted, and left out of the dirty map; reviving it takes the lock, to put it into the dirty map first.
//!
//! Methods whose names end in `locked` are called only under the map's lock: it is the lock that keeps an entry from
//! changing between expunged and not.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crossbeam_epoch::{Atomic, Guard, Owned, Shared};

use super::boxes::Boxed;

/// Tag of a null pointer that means expunged. Go points to a marker object instead; a tag is never mistaken for a value.
const EXPUNGED: usize = 1;

/// One word, in a block of its own, shared by the read and the dirty map.
pub struct Entry {
    value: Atomic<Boxed>,
}

/// The entry is expunged: it must be brought back under the lock. Gives back the value that was to be stored.
pub struct Expunged(pub Owned<Boxed>);

fn expunged<'g>() -> Shared<'g, Boxed> {
    Shared::null().with_tag(EXPUNGED)
}

impl Entry {
    pub fn new(value: Owned<Boxed>) -> Self {
        Self { value: Atomic::from(value) }
    }

    /// The value, unless it is deleted.
    #[inline]
    pub fn load<'g>(&self, guard: &'g Guard) -> Option<&'g [u8]> {
        bytes(self.value.load(Acquire, guard))
    }

    pub fn is_expunged(&self, guard: &Guard) -> bool {
        self.value.load(Acquire, guard) == expunged()
    }

    /// Stores the value unless the entry is expunged.
    pub fn try_store(&self, mut value: Owned<Boxed>, guard: &Guard) -> Result<(), Expunged> {
        loop {
            let present = self.value.load(Acquire, guard);
            if present == expunged() {
                return Err(Expunged(value));
            }
            match self.value.compare_exchange(present, value, AcqRel, Relaxed, guard) {
                Ok(_) => {
                    retire(present, guard);
                    return Ok(());
                }
                Err(lost) => value = lost.new,
            }
        }
    }

    /// The value that is there (and `true`), or else this one, which is stored (and `false`); `None` when expunged.
    pub fn try_load_or_store<'g>(&self, value: &[u8], guard: &'g Guard) -> Option<(&'g [u8], bool)> {
        let mut made: Option<Owned<Boxed>> = None;
        loop {
            let present = self.value.load(Acquire, guard);
            if present == expunged() {
                return None;
            }
            if let Some(present) = bytes(present) {
                return Some((present, true));
            }
            let new = made.take().unwrap_or_else(|| Owned::new(Boxed::new(value)));
            match self.value.compare_exchange(present, new, AcqRel, Relaxed, guard) {
                Ok(stored) => return bytes(stored).map(|stored| (stored, false)),
                Err(lost) => made = Some(lost.new),
            }
        }
    }

    /// Stores the value in an entry that is known not to be expunged.
    pub fn store_locked(&self, value: Owned<Boxed>, guard: &Guard) {
        let replaced = self.value.swap(value, AcqRel, guard);
        debug_assert!(replaced != expunged(), "a value was stored in an entry that the dirty map lacks");
        retire(replaced, guard);
    }

    /// Turns expunged into deleted; `true` when it was expunged, and then the caller puts it into the dirty map.
    pub fn unexpunge_locked(&self, guard: &Guard) -> bool {
        self.value.compare_exchange(expunged(), Shared::null(), AcqRel, Relaxed, guard).is_ok()
    }

    /// Turns deleted into expunged; `true` when it is expunged in the end, and then the dirty map goes without it.
    pub fn expunge_locked(&self, guard: &Guard) -> bool {
        match self.value.compare_exchange(Shared::null(), expunged(), AcqRel, Acquire, guard) {
            Ok(_) => true,
            Err(lost) => lost.current == expunged(),
        }
    }

    /// Deletes the value; `false` when there was none.
    pub fn delete(&self, guard: &Guard) -> bool {
        loop {
            let present = self.value.load(Acquire, guard);
            if present.is_null() {
                return false;
            }
            if self.value.compare_exchange(present, Shared::null(), AcqRel, Relaxed, guard).is_ok() {
                retire(present, guard);
                return true;
            }
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: `&mut self` says that nobody else sees the word, so what it holds is this entry's alone. A null
        // pointer, tagged or not, is no value.
        unsafe {
            let value = self.value.load(Relaxed, crossbeam_epoch::unprotected());
            if !value.is_null() {
                drop(value.into_owned());
            }
        }
    }
}

/// The bytes of a value that an entry held while `'g` was pinned; `None` for both kinds of null.
#[inline]
fn bytes<'g>(value: Shared<'g, Boxed>) -> Option<&'g [u8]> {
    // SAFETY: a value is retired only after it was taken out of its word, and freed only when no guard that could have
    // loaded it is left; the one behind 'g could.
    unsafe { value.as_ref() }.map(Boxed::bytes)
}

/// Frees a value that was taken out of its word, once no reader can still hold it. The deferred call is kept inside the
/// epoch's bag: it costs no block of its own.
fn retire(value: Shared<'_, Boxed>, guard: &Guard) {
    if !value.is_null() {
        // SAFETY: the exchange that took the value out gave it to this thread alone, so it is retired once.
        unsafe { guard.defer_destroy(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(value: &[u8]) -> Owned<Boxed> {
        Owned::new(Boxed::new(value))
    }

    #[test]
    fn an_entry_is_one_word() {
        assert_eq!(size_of::<Entry>(), 8);
    }

    #[test]
    fn a_deleted_entry_is_revived_without_the_lock_and_an_expunged_one_is_not() {
        let guard = &crossbeam_epoch::pin();
        let entry = Entry::new(boxed(b"one"));
        assert!(!entry.expunge_locked(guard), "an entry with a value was expunged");
        assert!(entry.delete(guard) && !entry.delete(guard));
        assert!(entry.try_store(boxed(b"two"), guard).is_ok());
        assert_eq!(entry.load(guard), Some(&b"two"[..]));

        assert!(entry.delete(guard) && entry.expunge_locked(guard) && entry.expunge_locked(guard));
        assert!(entry.try_store(boxed(b"three"), guard).is_err());
        assert_eq!(entry.try_load_or_store(b"three", guard), None);
        assert_eq!((entry.load(guard), entry.delete(guard)), (None, false));
        assert!(entry.unexpunge_locked(guard) && !entry.unexpunge_locked(guard));
        assert_eq!(entry.try_load_or_store(b"three", guard), Some((&b"three"[..], false)));
        assert_eq!(entry.try_load_or_store(b"four", guard), Some((&b"three"[..], true)));
    }
}
