//! Live updates: a record is appended, then the index points to it. Knows nothing of how the store was loaded.

use super::Hybrid;
use super::keys::Hashed;
use super::log::Buffer;
use super::record;
use super::state::{Home, Slot, State, on_disk};
use super::statistics::count;
use super::table::Location;
use crate::store::packed::record::Record as Block;
use crate::store::{StoreError, Update};

/// How a key stands before an update. Only updates change that, and they wait for each other.
enum Standing {
    /// Not held; where it would stand.
    Absent(Home),
    /// Held by a record of so many bytes.
    Held(Home, u64),
}

impl Update for Hybrid {
    /// A key that has a copy in memory has a new one at once; another stays on disk until it is asked for.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let hashed = self.hash.of(key);
        self.put_hashed(hashed, key, value).inspect_err(|_| count(&self.counters(hashed).errors))
    }

    fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        let hashed = self.hash.of(key);
        self.remove_hashed(hashed, key).inspect_err(|_| count(&self.counters(hashed).errors))
    }
}

impl Hybrid {
    fn put_hashed(&self, hashed: Hashed, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let shard = self.shard(hashed);
        let block = Block::new(key, value)?;
        let _one_at_a_time = shard.updates.lock();
        let standing = self.standing(hashed, key)?;
        let place = shard.log.place_behind(0, record::record_bytes(key, value))?;
        let mut bytes = Vec::new();
        record::write(place, key, value, &mut bytes);
        shard.log.append(&bytes)?;
        let (home, garbage) = match standing {
            Standing::Absent(home) => (home, 0),
            Standing::Held(home, bytes) => (home, bytes),
        };
        // What is replaced is freed behind the lock.
        let _replaced = self.repoint(&mut shard.state.write(), home, hashed, block, place.offset);
        shard.add_garbage(garbage);
        self.evict_excess(hashed.shard);
        Ok(())
    }

    /// Makes the index point to the new record, and changes the copy if there is one. Returns the block that is not
    /// needed any more.
    fn repoint(&self, state: &mut State, home: Home, hashed: Hashed, block: Block, offset: u32) -> Option<Block> {
        let resident = self.own_resident(state, home, hashed, block.key());
        let Some(resident) = resident else {
            state.set(home, hashed, block.key(), on_disk(offset));
            return Some(block);
        };
        let mut list = self.tier.list(hashed.shard).lock();
        if !self.tier.has_room_for(hashed.shard, block.size() as u64) {
            state.set(home, hashed, block.key(), on_disk(offset));
            let slot = state.slots.empty(resident)?;
            list.remove(slot.handle);
            return Some(slot.record);
        }
        state.set(home, hashed, block.key(), Location { resident, offset });
        let slot = state.slots.get_mut(resident)?;
        // A copy that has left the list is about to be evicted by another thread, which will find it by its handle.
        list.resize(slot.handle, block.size() as u64);
        Some(std::mem::replace(&mut slot.record, block))
    }

    fn remove_hashed(&self, hashed: Hashed, key: &[u8]) -> Result<bool, StoreError> {
        let shard = self.shard(hashed);
        let _one_at_a_time = shard.updates.lock();
        let Standing::Held(home, bytes) = self.standing(hashed, key)? else { return Ok(false) };
        // The copy is freed behind the lock.
        let _copy = self.take_out(&mut shard.state.write(), home, hashed, key);
        shard.add_garbage(bytes);
        Ok(true)
    }

    fn take_out(&self, state: &mut State, home: Home, hashed: Hashed, key: &[u8]) -> Option<Slot> {
        let resident = self.own_resident(state, home, hashed, key);
        state.remove(home, hashed, key);
        let slot = state.slots.empty(resident?)?;
        self.tier.list(hashed.shard).lock().remove(slot.handle);
        Some(slot)
    }

    /// The slot of the key's copy. Copies come and go beside an update, so this is asked behind the lock.
    fn own_resident(&self, state: &State, home: Home, hashed: Hashed, key: &[u8]) -> Option<u16> {
        let (_, location) = state.find(hashed, key).filter(|(found, _)| *found == home)?;
        state.slots.get(location.resident).map(|_| location.resident)
    }

    /// Finds out whether the key is held, from the copy or from disk. Called behind `updates`.
    fn standing(&self, hashed: Hashed, key: &[u8]) -> Result<Standing, StoreError> {
        let shard = self.shard(hashed);
        let (home, offset) = {
            let state = shard.state.read();
            let Some((home, location)) = state.find(hashed, key) else { return Ok(Standing::Absent(Home::Table)) };
            if let Some(slot) = state.slots.get(location.resident) {
                return Ok(self.compare(hashed, home, key, slot.record.key(), slot.record.value()));
            }
            (home, location.offset)
        };
        let mut buffer = Buffer::new();
        let found = shard.read(offset, &mut buffer, self.counters(hashed))?;
        Ok(self.compare(hashed, home, key, found.key, found.value))
    }

    fn compare(&self, hashed: Hashed, home: Home, key: &[u8], found: &[u8], value: &[u8]) -> Standing {
        if found == key {
            return Standing::Held(home, record::record_bytes(found, value));
        }
        count(&self.counters(hashed).collisions);
        Standing::Absent(Home::Fallback)
    }
}
