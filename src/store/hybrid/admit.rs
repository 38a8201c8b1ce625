//! Copies come into memory and leave it. Knows nothing of disks.

use std::sync::atomic::AtomicU64;

use super::Hybrid;
use super::keys::Hashed;
use super::lru::Member;
use super::state::{Slot, State, on_disk};
use super::statistics::count;
use super::table::{Location, NOT_RESIDENT};
use crate::store::StoreError;
use crate::store::packed::record::Record as Block;

/// An entry on its way into the resident tier.
pub(super) struct Candidate<'a> {
    pub hashed: Hashed,
    pub key: &'a [u8],
    pub value: &'a [u8],
    /// Where the record was read: if the key points elsewhere by now, the copy would be of the past.
    pub offset: u32,
    pub touched_ms: u64,
}

impl Hybrid {
    /// Takes a copy of the entry, unless it changed meanwhile or there is no room for it. Called without any lock.
    pub(super) fn admit(&self, new: Candidate<'_>) -> Result<(), StoreError> {
        let shard = new.hashed.shard;
        if !self.tier.has_room_for(shard, Block::size_of(new.key, new.value)) {
            return Ok(());
        }
        let block = Block::new(new.key, new.value)?;
        if self.settle(&mut self.shards[usize::from(shard)].state.write(), block, &new) {
            self.evict_excess(shard);
        }
        Ok(())
    }

    /// Puts the copy into its shard, behind the shard's lock; whether it is there now.
    fn settle(&self, state: &mut State, block: Block, new: &Candidate<'_>) -> bool {
        let Some((home, location)) = state.find(new.hashed, new.key) else { return false };
        // An offset is that of one record for good: if it still stands, the key is the one that was read there.
        if location != on_disk(new.offset) {
            return false;
        }
        // More entries than two bytes can name stay on disk.
        let Some(slot) = state.slots.vacant() else { return false };
        let shard = new.hashed.shard;
        let handle = self.tier.list(shard).lock().push(shard, slot, block.size() as u64);
        state.slots.fill(slot, Slot { record: block, touched_ms: AtomicU64::new(new.touched_ms), handle });
        state.set(home, new.hashed, new.key, Location { resident: slot, offset: new.offset });
        true
    }

    /// Lets copies go while there are more than the list of this shard may hold. Called without any lock: a copy that goes may be
    /// another shard's, and two shards' locks held at once would wait for each other.
    pub(super) fn evict_excess(&self, shard: u8) {
        loop {
            // The list's lock is given back before the shard's is taken.
            let Some(member) = self.tier.list(shard).lock().pop_excess() else { return };
            // The block is freed here, behind no lock.
            drop(self.evict(member));
        }
    }

    /// Empties the slot of a member that left the list, unless an update emptied it meanwhile.
    fn evict(&self, member: Member) -> Option<Slot> {
        let mut state = self.shards[usize::from(member.shard)].state.write();
        let slot = state.slots.get(member.slot).filter(|slot| slot.handle == member.handle)?;
        let hashed = self.hash.of(slot.record.key());
        let (home, location) = state.find(hashed, slot.record.key())?;
        let slot = state.slots.empty(member.slot)?;
        debug_assert_eq!(location.resident, member.slot);
        state.set(home, hashed, slot.record.key(), Location { resident: NOT_RESIDENT, ..location });
        count(&self.counts.shards[usize::from(member.shard)].evictions);
        Some(slot)
    }
}
