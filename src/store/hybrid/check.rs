//! The store looks at itself: what it holds in bytes, and whether all of it fits together. Knows nothing of serving.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Hybrid;
use super::log::Buffer;
use super::shard::Shard;
use super::statistics::{Counters, Statistics};
use super::table::Location;
use crate::store::{Footprint, StoreError};

impl Hybrid {
    pub(super) fn account(&self) -> Footprint {
        let fixed = size_of_val(&*self.shards) + self.counts.allocation_size();
        let mut footprint = Footprint {
            overhead: fixed as u64,
            resident: self.tier.totals().1 + self.tier.allocation_size() as u64,
            ..Footprint::default()
        };
        for shard in &self.shards {
            let state = shard.state.read();
            let (index, keys) = state.index_bytes();
            footprint.index += index;
            footprint.keys += keys;
            footprint.resident += state.slots.allocation_size() as u64;
            footprint.overhead += shard.flights.allocation_size() as u64 + shard.log.allocation_size() as u64;
            footprint.disk += shard.log.end();
        }
        footprint
    }

    /// A reading of all counters. Takes each shard's read lock in turn.
    pub fn statistics(&self) -> Statistics {
        let (resident_items, resident_bytes) = self.tier.totals();
        let sum = |counter: fn(&Counters) -> &AtomicU64| self.counts.sum(counter);
        let disk_items: Vec<u64> = self.shards.iter().map(|shard| shard.state.read().entries()).collect();
        Statistics {
            hits: sum(|shard| &shard.hits),
            misses: sum(|shard| &shard.misses),
            negatives: sum(|shard| &shard.negatives),
            collisions: sum(|shard| &shard.collisions),
            errors: sum(|shard| &shard.errors),
            reads: sum(|shard| &shard.reads),
            bytes_read: sum(|shard| &shard.bytes_read),
            evictions: sum(|shard| &shard.evictions),
            resident_items,
            resident_bytes,
            fallback_items: self.shards.iter().map(|shard| shard.state.read().fallback_items()).sum(),
            disk_items,
            disk_bytes: self.shards.iter().map(|shard| shard.log.end()).sum(),
            shard_limit: self.shards.iter().map(|shard| shard.log.limit()).max().unwrap_or_default(),
            garbage_bytes: self.shards.iter().map(|shard| shard.garbage.load(Relaxed)).sum(),
            miss_latency: self.counts.misses.buckets(),
            miss_latency_sum_ns: self.counts.misses.sum_ns(),
        }
    }

    /// Reads every record. A copy on its way in or out may look like a fault, so nothing else should go on meanwhile.
    pub(super) fn verify(&self) -> Result<(), StoreError> {
        let mut resident = 0;
        for (number, shard) in self.shards.iter().enumerate() {
            let _no_updates = shard.updates.lock();
            resident += self.verify_shard(number as u8, shard)?;
        }
        let listed = self.tier.totals().0;
        if resident != listed {
            return Err(damaged(format!("{resident} entries have a copy, {listed} are in the order of use")));
        }
        Ok(())
    }

    /// Returns how many of the shard's entries have a copy.
    fn verify_shard(&self, number: u8, shard: &Shard) -> Result<u64, StoreError> {
        let (entries, slots) = {
            let state = shard.state.read();
            if let Some(fault) = state.table.fault() {
                return Err(damaged(format!("shard {number}: {fault}")));
            }
            (state.iter().map(|(_, location)| location).collect::<Vec<_>>(), state.slots.iter().count() as u64)
        };
        let (mut live, mut resident) = (0, 0);
        for location in entries {
            let (bytes, has_copy) = self.verify_entry(number, shard, location)?;
            live += bytes;
            resident += u64::from(has_copy);
        }
        let (end, garbage) = (shard.log.end(), shard.garbage.load(Relaxed));
        if live + garbage != end {
            let account = format!("{live} bytes of records and {garbage} of garbage make up {end} of its file");
            return Err(damaged(format!("shard {number}: not true that {account}")));
        }
        if resident != slots {
            return Err(damaged(format!("shard {number}: {slots} copies, {resident} of them in the index")));
        }
        Ok(resident)
    }

    /// Returns the bytes of the record, and whether it has a copy.
    fn verify_entry(&self, number: u8, shard: &Shard, location: Location) -> Result<(u64, bool), StoreError> {
        let mut buffer = Buffer::new();
        let record = shard.read(location.offset, &mut buffer, &Counters::default())?;
        let fault = |what: &str| damaged(format!("shard {number}, key {:?}: {what}", record.key));
        let hashed = self.hash.of(record.key);
        let state = shard.state.read();
        let found = state.find(hashed, record.key).map(|(_, location)| location);
        if hashed.shard != number || found.map(|location| location.offset) != Some(location.offset) {
            return Err(fault("the index does not lead to its record"));
        }
        let copy = state.slots.get(location.resident);
        if let Some(slot) = copy {
            if (slot.record.key(), slot.record.value()) != (record.key, record.value) {
                return Err(fault("the copy is not what the record says"));
            }
            if !self.tier.list(number).lock().holds(slot.handle) {
                return Err(fault("the copy is not in the order of use"));
            }
        }
        Ok((super::record::record_bytes(record.key, record.value), copy.is_some()))
    }
}

fn damaged(what: String) -> StoreError {
    StoreError::Damaged(format!("hybrid: {what}"))
}
