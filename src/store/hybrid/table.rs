//! The compact table of one shard: hash of a key to where its record is, ten bytes a slot. Knows nothing of the key itself.
//!
//! Open addressing with the slots in order of their hash (Robin Hood hashing with the hash as the tie-break): an entry stands
//! at its home or behind it, never before, and homes rise with hashes, so the array is sorted with gaps in it. A search
//! ends at the first slot that is empty or greater, and growth is one merge from front to back. Nothing wraps around:
//! a few spare slots behind the last home take what spills over.
//!
//! A table grows by an eighth when it is seven eighths full: never twice as large, and with 256 tables never all at once.
//! [`Table::fit`] leaves it at seven eighths: 11.43 bytes per entry. (A hash map's power of two would cost 17 to 25.)

use super::keys::{KEY_BITS, KEY_BYTES};

/// Where the record of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Place of the copy in the shard's resident slots, or [`NOT_RESIDENT`].
    pub resident: u16,
    /// Offset in the shard's file in units of [`UNIT`] bytes, below [`OFFSETS`].
    pub offset: u32,
}

/// The resident index of an entry that is on disk only. 0xFFFE is kept free, so that 65,534 slots can be named.
pub const NOT_RESIDENT: u16 = u16::MAX;

/// Slots that a resident index can name.
pub const RESIDENT_SLOTS: usize = u16::MAX as usize - 1;

/// Records start at multiples of this; the three zero bits are not stored. The article calls it compressed offsets.
pub const UNIT: u64 = 8;

/// Offsets that three bytes can hold, less one: 0xFFFFFF marks an empty slot.
pub const OFFSETS: u32 = 0x00FF_FFFF;

/// Bytes of a shard's file that offsets can reach: 128 MiB less one unit.
pub const SHARD_LIMIT: u64 = OFFSETS as u64 * UNIT;

const RESIDENT_AT: usize = KEY_BYTES;
const OFFSET_AT: usize = KEY_BYTES + 2;
const SLOT: usize = KEY_BYTES + 5;
const EMPTY: [u8; SLOT] = [0xFF; SLOT];

/// Slots behind the last home that a new array has to spare.
const SPARE: usize = 16;

/// Homes of a table's first array.
const FEWEST: usize = 8;

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Table {
    slots: Box<[[u8; SLOT]]>,
    /// Slots that are a home; those behind them are spare.
    homes: usize,
    entries: usize,
}

impl Table {
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Bytes of the array.
    pub fn allocation_size(&self) -> usize {
        self.slots.len() * SLOT
    }

    #[inline]
    pub fn get(&self, key: u64) -> Option<Location> {
        self.find(key).ok().map(|at| location(&self.slots[at]))
    }

    /// Adds the key or changes its location.
    pub fn set(&mut self, key: u64, location: Location) {
        debug_assert!(location.offset < OFFSETS, "the offset is the mark of an empty slot");
        match self.find(key) {
            Ok(at) => self.slots[at] = slot(key, location),
            Err(_) => self.insert(key, location),
        }
    }

    /// Removes the key; whether it was there. What stands behind it moves back, so that no mark is left.
    pub fn remove(&mut self, key: u64) -> bool {
        let Ok(at) = self.find(key) else { return false };
        let movable = |(place, slot): &(usize, &[u8; SLOT])| !is_empty(slot) && self.home(key_of(slot)) < *place;
        let moved = self.slots.iter().enumerate().skip(at + 1).take_while(movable).count();
        self.slots.copy_within(at + 1..at + 1 + moved, at);
        self.slots[at + moved] = EMPTY;
        self.entries -= 1;
        true
    }

    /// The entries in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Location)> {
        self.slots.iter().filter(|slot| !is_empty(slot)).map(|slot| (key_of(slot), location(slot)))
    }

    /// Rebuilds the array at seven eighths full, for the end of a load; one that has at most a fiftieth too much stays as it is.
    pub fn fit(&mut self) {
        let homes = (self.entries * 8).div_ceil(7);
        if self.homes > homes + homes / 50 || self.homes < homes || self.entries == 0 {
            self.rebuild(homes);
        }
    }

    /// Makes an empty table large enough for so many entries and a hundredth more.
    pub fn reserve(&mut self, entries: usize) {
        debug_assert_eq!(self.entries, 0, "only an empty table is given its size");
        self.rebuild(((entries + entries / 100) * 8).div_ceil(7));
    }

    /// What is wrong with the order of the slots, if anything is.
    pub fn fault(&self) -> Option<String> {
        let (mut last, mut count) = (None, 0);
        for (place, slot) in self.slots.iter().enumerate().filter(|(_, slot)| !is_empty(slot)) {
            let key = key_of(slot);
            if last.is_some_and(|last| last >= key) {
                return Some(format!("slot {place} breaks the order of hashes"));
            }
            if self.find(key) != Ok(place) {
                return Some(format!("slot {place} is not found at its place"));
            }
            (last, count) = (Some(key), count + 1);
        }
        (count != self.entries).then(|| format!("{count} slots are in use, {} are counted", self.entries))
    }

    /// Where the key is, or where it belongs.
    #[inline]
    fn find(&self, key: u64) -> Result<usize, usize> {
        let mut at = self.home(key);
        while let Some(slot) = self.slots.get(at) {
            if is_empty(slot) {
                break;
            }
            let present = key_of(slot);
            if present >= key {
                return if present == key { Ok(at) } else { Err(at) };
            }
            at += 1;
        }
        Err(at)
    }

    fn insert(&mut self, key: u64, location: Location) {
        if (self.entries + 1) * 8 > self.homes * 7 {
            self.grow();
        }
        loop {
            let (Ok(at) | Err(at)) = self.find(key);
            if let Some(gap) = (at..self.slots.len()).find(|&at| is_empty(&self.slots[at])) {
                self.slots.copy_within(at..gap, at + 1);
                self.slots[at] = slot(key, location);
                self.entries += 1;
                return;
            }
            // Nothing is free behind the last home: a new array has new spare slots.
            self.rebuild(self.homes);
        }
    }

    fn grow(&mut self) {
        self.rebuild((self.homes + self.homes / 8 + 1).max(FEWEST));
    }

    /// Moves every entry into an array of that many homes. Slots keep their order, so each goes to its home or next to the
    /// one before it, and where the last one goes is known before the array is made.
    fn rebuild(&mut self, homes: usize) {
        let old = std::mem::take(&mut self.slots);
        self.homes = homes;
        let used = || old.iter().filter(|slot| !is_empty(slot));
        let end = used().fold(0, |next, slot| self.home(key_of(slot)).max(next) + 1);
        let length = if homes == 0 { 0 } else { homes.max(end) + SPARE };
        let mut slots = vec![EMPTY; length].into_boxed_slice();
        let mut next = 0;
        for slot in used() {
            let place = self.home(key_of(slot)).max(next);
            slots[place] = *slot;
            next = place + 1;
        }
        self.slots = slots;
    }

    /// Scales the hash to the number of homes, which keeps its order.
    #[inline]
    fn home(&self, key: u64) -> usize {
        ((u128::from(key) * self.homes as u128) >> KEY_BITS) as usize
    }
}

#[inline]
fn is_empty(slot: &[u8; SLOT]) -> bool {
    slot[OFFSET_AT..] == EMPTY[OFFSET_AT..]
}

/// The hash in a slot: big end first, so that it is the leading bytes of an eight-byte number.
#[inline]
fn key_of(slot: &[u8; SLOT]) -> u64 {
    u64::from_be_bytes(*slot.first_chunk().expect("a slot has ten bytes or more")) >> (64 - KEY_BITS)
}

#[inline]
fn location(slot: &[u8; SLOT]) -> Location {
    let resident = u16::from_be_bytes([slot[RESIDENT_AT], slot[RESIDENT_AT + 1]]);
    let offset = u32::from_be_bytes([0, slot[OFFSET_AT], slot[OFFSET_AT + 1], slot[OFFSET_AT + 2]]);
    Location { resident, offset }
}

fn slot(key: u64, location: Location) -> [u8; SLOT] {
    let mut slot = [0; SLOT];
    slot[..KEY_BYTES].copy_from_slice(&(key << (64 - KEY_BITS)).to_be_bytes()[..KEY_BYTES]);
    slot[RESIDENT_AT..OFFSET_AT].copy_from_slice(&location.resident.to_be_bytes());
    slot[OFFSET_AT..].copy_from_slice(&location.offset.to_be_bytes()[1..]);
    slot
}

#[cfg(test)]
mod tests;
