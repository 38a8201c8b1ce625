//! What a shard's lock guards: the index, the fallback map and the resident copies. Knows nothing of files or of other shards.

use std::sync::atomic::AtomicU64;

use hashbrown::HashTable;

use super::keys::Hashed;
use super::lru::Handle;
use super::table::{Location, NOT_RESIDENT, RESIDENT_SLOTS, Table};
use crate::store::packed::record::Record;

#[derive(Debug, Default)]
pub(super) struct State {
    pub table: Table,
    /// Keys whose hash another key of the table has or had, by the key itself.
    fallback: HashTable<Fallback>,
    pub slots: Slots,
}

#[derive(Debug)]
struct Fallback {
    whole_hash: u64,
    key: Box<[u8]>,
    location: Location,
}

/// In which of the two an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Table,
    Fallback,
}

impl State {
    /// Where the record of the key is, if the key is held: what stands in the table may be another key of the same hash, so
    /// the record has to be asked. What stands in the fallback map is the key itself.
    #[inline]
    pub fn find(&self, hashed: Hashed, key: &[u8]) -> Option<(Home, Location)> {
        if !self.fallback.is_empty()
            && let Some(found) = self.fallback.find(hashed.whole, |held| *held.key == *key)
        {
            return Some((Home::Fallback, found.location));
        }
        self.table.get(hashed.key).map(|location| (Home::Table, location))
    }

    /// Adds the key, or changes the location of what stands there.
    pub fn set(&mut self, home: Home, hashed: Hashed, key: &[u8], location: Location) {
        match home {
            Home::Table => self.table.set(hashed.key, location),
            Home::Fallback => match self.fallback.find_mut(hashed.whole, |held| *held.key == *key) {
                Some(held) => held.location = location,
                None => {
                    let new = Fallback { whole_hash: hashed.whole, key: key.into(), location };
                    self.fallback.insert_unique(hashed.whole, new, |held| held.whole_hash);
                }
            },
        }
    }

    pub fn remove(&mut self, home: Home, hashed: Hashed, key: &[u8]) {
        match home {
            Home::Table => {
                self.table.remove(hashed.key);
            }
            Home::Fallback => {
                if let Ok(held) = self.fallback.find_entry(hashed.whole, |held| *held.key == *key) {
                    held.remove();
                }
            }
        }
    }

    pub fn entries(&self) -> u64 {
        (self.table.len() + self.fallback.len()) as u64
    }

    pub fn fallback_items(&self) -> u64 {
        self.fallback.len() as u64
    }

    /// Every entry: its hash in the table or its key in the fallback map, and its location.
    pub fn iter(&self) -> impl Iterator<Item = (Result<u64, &[u8]>, Location)> {
        let fallback = self.fallback.iter().map(|held| (Err(&*held.key), held.location));
        self.table.iter().map(|(key, location)| (Ok(key), location)).chain(fallback)
    }

    /// Bytes of the tables, and of the keys in the fallback map.
    pub fn index_bytes(&self) -> (u64, u64) {
        let keys = self.fallback.iter().map(|held| held.key.len() as u64).sum();
        ((self.table.allocation_size() + self.fallback.allocation_size()) as u64, keys)
    }
}

/// A copy in memory.
pub(super) struct Slot {
    /// Key and value in one block.
    pub record: Record,
    /// When it was last moved in the list of use or, in an exact scope, last used: milliseconds of the clock.
    pub touched_ms: AtomicU64,
    pub handle: Handle,
}

/// The copies of a shard, by the two-byte index.
#[derive(Default)]
pub(super) struct Slots {
    slots: Vec<Option<Slot>>,
    vacant: Vec<u16>,
}

impl Slots {
    #[inline]
    pub fn get(&self, at: u16) -> Option<&Slot> {
        self.slots.get(usize::from(at))?.as_ref()
    }

    pub fn get_mut(&mut self, at: u16) -> Option<&mut Slot> {
        self.slots.get_mut(usize::from(at))?.as_mut()
    }

    /// The index of a slot that the next [`Slots::fill`] may use; `None` when every index is in use.
    pub fn vacant(&self) -> Option<u16> {
        let next = || (self.slots.len() < RESIDENT_SLOTS).then_some(self.slots.len() as u16);
        self.vacant.last().copied().or_else(next)
    }

    /// Fills the slot that [`Slots::vacant`] named.
    pub fn fill(&mut self, at: u16, slot: Slot) {
        if self.vacant.last() == Some(&at) {
            self.vacant.pop();
            self.slots[usize::from(at)] = Some(slot);
        } else {
            debug_assert_eq!(usize::from(at), self.slots.len());
            self.slots.push(Some(slot));
        }
    }

    pub fn empty(&mut self, at: u16) -> Option<Slot> {
        let slot = self.slots.get_mut(usize::from(at))?.take()?;
        self.vacant.push(at);
        Some(slot)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u16, &Slot)> {
        self.slots.iter().enumerate().filter_map(|(at, slot)| Some((at as u16, slot.as_ref()?)))
    }

    /// Bytes of the two vectors.
    pub fn allocation_size(&self) -> usize {
        self.slots.capacity() * size_of::<Option<Slot>>() + self.vacant.capacity() * size_of::<u16>()
    }
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} resident", self.iter().count())
    }
}

/// The location of a record that has no copy.
pub(super) fn on_disk(offset: u32) -> Location {
    Location { resident: NOT_RESIDENT, offset }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::hybrid::lru::{Limits, Lru};

    fn slot(lru: &mut Lru, at: u16) -> Slot {
        Slot { record: Record::new(b"k", b"v").unwrap(), touched_ms: AtomicU64::new(0), handle: lru.push(0, at, 4) }
    }

    #[test]
    fn a_shard_has_65534_slots_and_uses_them_again() {
        let (mut slots, mut lru) = (Slots::default(), Lru::new(Limits { items: usize::MAX, bytes: u64::MAX }));
        while let Some(at) = slots.vacant() {
            let slot = slot(&mut lru, at);
            slots.fill(at, slot);
        }
        assert_eq!(slots.iter().count(), 65_534);
        assert!(slots.get(NOT_RESIDENT).is_none());
        assert!(slots.empty(77).is_some() && slots.empty(77).is_none());
        assert_eq!(slots.vacant(), Some(77));
        slots.fill(77, slot(&mut lru, 77));
        assert_eq!(slots.vacant(), None);
    }

    #[test]
    fn two_keys_of_one_hash_stand_side_by_side() {
        let (hashed, other) = (Hashed { shard: 0, key: 5, whole: 99 }, Hashed { shard: 0, key: 5, whole: 98 });
        let mut state = State::default();
        state.set(Home::Table, hashed, b"first", on_disk(1));
        state.set(Home::Fallback, other, b"second", on_disk(2));
        assert_eq!(state.find(hashed, b"first"), Some((Home::Table, on_disk(1))));
        assert_eq!(state.find(other, b"second"), Some((Home::Fallback, on_disk(2))));
        state.remove(Home::Table, hashed, b"first");
        assert_eq!((state.find(hashed, b"first"), state.entries()), (None, 1));
        assert_eq!(state.find(other, b"second"), Some((Home::Fallback, on_disk(2))));
    }
}
