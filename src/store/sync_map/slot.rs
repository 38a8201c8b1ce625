//! A table slot: a boxed key and the address of its entry, copied into the read and into the dirty map alike.
//!
//! Go's collector finds out when no map refers to a key or an entry any more. Here the maps' own rules say it: the key
//! and the entry of a slot live and die together, and are freed by whoever takes the last copy of the slot out of the
//! maps (see `map`).

use std::ptr::NonNull;

use crossbeam_epoch::Owned;
use hashbrown::HashTable;

use super::boxes::{Boxed, Interface, KEY_OVERHEAD, VALUE_OVERHEAD};
use super::entry::Entry;
use crate::store::hash::KeyHash;

/// 24 bytes, as in Go: the key's interface value (two words) and the entry's address. Copies share key and entry.
#[derive(Clone, Copy)]
pub struct Slot {
    key: Interface,
    entry: NonNull<Entry>,
}

/// Bytes around key and value, apart from those of the table.
pub const OVERHEAD: usize = DELETED_OVERHEAD + VALUE_OVERHEAD;

/// The same without a value: what a deleted key still costs.
pub const DELETED_OVERHEAD: usize = KEY_OVERHEAD + size_of::<Entry>();

// SAFETY: a slot is a pair of addresses, of a key that nobody changes and of an entry that is one atomic word.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    /// Boxes the key and makes its entry; [`Slot::free`] gives both back.
    pub fn new(key: &[u8], value: Owned<Boxed>) -> Self {
        let entry = Box::new(Entry::new(value));
        Self { key: Interface::new(key), entry: NonNull::from(Box::leak(entry)) }
    }

    #[inline]
    pub fn key(&self) -> &[u8] {
        self.key.bytes()
    }

    #[inline]
    pub fn entry(&self) -> &Entry {
        // SAFETY: the entry lives until `free`, whose caller promises that no copy of the slot is used afterwards.
        unsafe { self.entry.as_ref() }
    }

    /// Whether two slots are copies of one.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        self.entry == other.entry && std::ptr::eq(self.key(), other.key())
    }

    /// Frees the key, the entry, and the value that the entry still holds.
    ///
    /// # Safety
    /// Neither this slot nor a copy of it, nor anything borrowed from one, is used afterwards.
    pub unsafe fn free(self) {
        // SAFETY: both came from a Box in `new`, and by the caller's promise nobody else frees or uses them.
        unsafe {
            self.key.free();
            drop(Box::from_raw(self.entry.as_ptr()));
        }
    }
}

/// A hash table of slots. Dropping it frees the table and none of what its slots point to.
#[derive(Default)]
pub struct Table {
    slots: HashTable<Slot>,
}

impl Table {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { slots: HashTable::with_capacity(capacity) }
    }

    #[inline]
    pub fn find(&self, hashed: u64, key: &[u8]) -> Option<&Slot> {
        self.slots.find(hashed, |slot| slot.key.is(key))
    }

    /// Adds a slot whose key the table does not hold.
    pub fn insert(&mut self, hashed: u64, slot: Slot, hash: &KeyHash) {
        self.slots.insert_unique(hashed, slot, |slot| hash.of(slot.key()));
    }

    pub fn remove(&mut self, hashed: u64, key: &[u8]) -> Option<Slot> {
        self.slots.find_entry(hashed, |slot| slot.key.is(key)).ok().map(|entry| entry.remove().0)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of the table itself.
    pub fn size(&self) -> usize {
        self.slots.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_the_size_of_gos_and_an_entry_has_56_bytes_of_overhead() {
        assert_eq!((size_of::<Slot>(), OVERHEAD), (24, 16 + 8 + 16 + 16));
    }
}
