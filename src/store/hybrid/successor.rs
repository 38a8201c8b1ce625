//! What a refresh carries over: copies of the entries that were used of late. Knows nothing of how either store is swapped in.
//!
//! "Inside Uber's hybrid cache": without it every refresh threw the hit rate down and the disk's latency up.

use std::sync::atomic::Ordering::Relaxed;

use super::Hybrid;
use super::admit::Candidate;
use super::log::Buffer;
use super::lru::Member;
use crate::store::StoreError;

impl Hybrid {
    /// Copies into memory what the predecessor used within `window_ms`, in the order of use, with the values of this store.
    pub(super) fn preload(&self, predecessor: &Hybrid, window_ms: u64) -> Result<(), StoreError> {
        if window_ms == 0 {
            return Ok(());
        }
        let (old_now, new_now) = (predecessor.tier.clock.now_ms(), self.tier.clock.now_ms());
        for member in predecessor.tier.members() {
            let Some((key, touched_ms)) = predecessor.used(member) else { continue };
            let age = old_now.saturating_sub(touched_ms);
            if age <= window_ms {
                self.fetch(&key, new_now.saturating_sub(age))?;
            }
        }
        Ok(())
    }

    /// The key of a member and when it was used, if it is still there.
    fn used(&self, member: Member) -> Option<(Vec<u8>, u64)> {
        let state = self.shards[usize::from(member.shard)].state.read();
        let slot = state.slots.get(member.slot).filter(|slot| slot.handle == member.handle)?;
        Some((slot.record.key().to_vec(), slot.touched_ms.load(Relaxed)))
    }

    /// Takes a copy of the key's value, if the key is held.
    fn fetch(&self, key: &[u8], touched_ms: u64) -> Result<(), StoreError> {
        let hashed = self.hash.of(key);
        let Some((_, location)) = self.shard(hashed).state.read().find(hashed, key) else { return Ok(()) };
        let mut buffer = Buffer::new();
        let found = self.shard(hashed).read(location.offset, &mut buffer, self.counters(hashed))?;
        if found.key != key {
            return Ok(());
        }
        self.admit(Candidate { hashed, key, value: found.value, offset: location.offset, touched_ms })
    }
}
