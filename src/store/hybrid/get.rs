//! The way of a get: index, copy in memory, or one read from disk. Knows nothing of how the store was loaded.

use super::Hybrid;
use super::admit::Candidate;
use super::flights::{Lead, Role};
use super::keys::Hashed;
use super::log::Buffer;
use super::state::on_disk;
use super::statistics::{Counters, count};
use crate::store::StoreError;
use crate::store::packed::record::Record as Block;

/// What the index and the copies say of a key.
enum Looked<R> {
    Hit(R),
    /// The key is not held.
    Absent,
    /// The record at this offset is the key's, or that of another key with its hash.
    OnDisk(u32),
}

impl Hybrid {
    #[inline]
    pub(super) fn get<R>(&self, key: &[u8], visit: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        let hashed = self.hash.of(key);
        let mut visit = Some(visit);
        match self.look(hashed, key, &mut visit) {
            Looked::Hit(found) => Ok(Some(found)),
            Looked::Absent => Ok(None),
            Looked::OnDisk(offset) => self.miss(hashed, key, offset, visit),
        }
    }

    /// Holds the shard's read lock while the visitor looks at a copy. `visit` is taken only for a hit.
    #[inline]
    fn look<R, V: FnOnce(&[u8]) -> R>(&self, hashed: Hashed, key: &[u8], visit: &mut Option<V>) -> Looked<R> {
        let counters = self.counters(hashed);
        let state = self.shard(hashed).state.read();
        let Some((_, location)) = state.find(hashed, key) else {
            count(&counters.negatives);
            return Looked::Absent;
        };
        let Some(slot) = state.slots.get(location.resident) else { return Looked::OnDisk(location.offset) };
        if slot.record.key() != key {
            absent_but_collides(counters);
            return Looked::Absent;
        }
        count(&counters.hits);
        self.tier.touch(hashed.shard, slot);
        let visit = visit.take().expect("a visitor is taken by one hit alone");
        Looked::Hit(visit(slot.record.value()))
    }

    /// Reads the record, or waits for the thread that is reading it.
    #[inline(never)]
    fn miss<R, V: FnOnce(&[u8]) -> R>(
        &self,
        hashed: Hashed,
        key: &[u8],
        mut offset: u32,
        mut visit: Option<V>,
    ) -> Result<Option<R>, StoreError> {
        let started = self.timer.raw();
        loop {
            match self.shard(hashed).flights.join(offset) {
                Role::Lead(lead) => {
                    // Another thread may have finished this very read between the look and the join.
                    match self.look_again(hashed, key, offset, &mut visit) {
                        Some(Looked::Hit(found)) => return Ok(Some(found)),
                        Some(Looked::Absent) => return Ok(None),
                        Some(Looked::OnDisk(moved)) => offset = moved,
                        None => return self.lead(hashed, key, offset, lead, started, visit),
                    }
                }
                Role::Wait(flight) => {
                    if let Some(block) = flight.wait() {
                        return Ok(self.answer(hashed, key, started, (block.key(), block.value()), visit));
                    }
                    // The one who read failed; the error is its own, and this thread sees for itself.
                }
            }
        }
    }

    /// Looks once more; `None` when the record still has to be read at this offset.
    fn look_again<R, V: FnOnce(&[u8]) -> R>(
        &self,
        hashed: Hashed,
        key: &[u8],
        offset: u32,
        visit: &mut Option<V>,
    ) -> Option<Looked<R>> {
        let unchanged = {
            let state = self.shard(hashed).state.read();
            state.find(hashed, key).is_some_and(|(_, location)| location == on_disk(offset))
        };
        if unchanged { None } else { Some(self.look(hashed, key, visit)) }
    }

    fn lead<R, V: FnOnce(&[u8]) -> R>(
        &self,
        hashed: Hashed,
        key: &[u8],
        offset: u32,
        lead: Lead<'_, Block>,
        started: u64,
        visit: Option<V>,
    ) -> Result<Option<R>, StoreError> {
        let counters = self.counters(hashed);
        let mut buffer = Buffer::new();
        let found = self.shard(hashed).read(offset, &mut buffer, counters).inspect_err(|_| count(&counters.errors))?;
        if found.key == key {
            let touched_ms = self.tier.clock.now_ms();
            // The copy is there before the read is over, so that whoever comes later needs neither.
            self.admit(Candidate { hashed, key, value: found.value, offset, touched_ms })?;
        }
        lead.land(|| Block::new(found.key, found.value).ok());
        Ok(self.answer(hashed, key, started, (found.key, found.value), visit))
    }

    /// Lends the value if the record is the key's.
    fn answer<R, V: FnOnce(&[u8]) -> R>(
        &self,
        hashed: Hashed,
        key: &[u8],
        started: u64,
        (found, value): (&[u8], &[u8]),
        visit: Option<V>,
    ) -> Option<R> {
        let counters = self.counters(hashed);
        if found != key {
            absent_but_collides(counters);
            return None;
        }
        count(&counters.misses);
        self.counts.misses.record(self.timer.nanos(started, self.timer.raw()));
        visit.map(|visit| visit(value))
    }
}

fn absent_but_collides(counters: &Counters) {
    count(&counters.negatives);
    count(&counters.collisions);
}
