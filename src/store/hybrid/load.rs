//! Building the contents from a stream, with memory for the index and one buffer per shard. Knows nothing of serving.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::disk::Disk;
use super::keys::{Hash, Hashed, SHARDS};
use super::log::{Buffer, Log};
use super::record::{self, Place};
use super::shard::Shard;
use super::state::{Home, State, on_disk};
use crate::items::{Item, Items};
use crate::store::StoreError;

/// The shards of a load that is under way. Dropped, it leaves nothing: its files have no names.
pub(super) struct Loading<'a> {
    hash: &'a Hash,
    shards: Vec<Filling>,
}

/// A shard that only the loader knows, so without locks.
struct Filling {
    state: State,
    log: Log,
    /// Records that are to follow the end of the log.
    pending: Vec<u8>,
    /// Bytes after which `pending` is written.
    buffered: usize,
    garbage: u64,
}

impl<'a> Loading<'a> {
    pub fn new(hash: &'a Hash, disk: &Arc<dyn Disk>, limit: u64, buffered: usize) -> Self {
        let filling = |shard| Filling {
            state: State::default(),
            log: Log::new(shard as u8, disk.clone(), limit),
            pending: Vec::new(),
            buffered,
            garbage: 0,
        };
        Self { hash, shards: (0..SHARDS).map(filling).collect() }
    }

    /// Gives each index the room that its counterpart in `predecessor` fills: contents rarely grow much from one refresh to the next, and an
    /// index that need not grow leaves no holes behind.
    pub fn expect_as_many_as(&mut self, predecessor: &[Shard]) {
        for (filling, shard) in self.shards.iter_mut().zip(predecessor) {
            let entries = shard.state.read().table.len();
            filling.state.table.reserve(entries);
        }
    }

    pub fn take(&mut self, items: &mut dyn Items) -> Result<(), StoreError> {
        while let Some(item) = items.next_item()? {
            let hashed = self.hash.of(item.key);
            self.shards[usize::from(hashed.shard)].add(hashed, item)?;
        }
        Ok(())
    }

    /// Writes what is pending, and gives each index the size that it needs.
    pub fn finish(self) -> Result<Box<[Shard]>, StoreError> {
        self.shards.into_iter().map(Filling::finish).collect()
    }
}

impl Filling {
    fn add(&mut self, hashed: Hashed, item: Item<'_>) -> Result<(), StoreError> {
        let home = match self.state.find(hashed, item.key) {
            None => Home::Table,
            Some((home, location)) => {
                let (replaced, bytes) = self.holds(location.offset, item.key)?;
                if replaced {
                    self.garbage += bytes;
                    home
                } else {
                    Home::Fallback
                }
            }
        };
        let offset = self.write(item)?;
        self.state.set(home, hashed, item.key, on_disk(offset));
        Ok(())
    }

    /// Whether the record is that of the key, and how many bytes it has.
    fn holds(&self, offset: u32, key: &[u8]) -> Result<(bool, u64), StoreError> {
        let place = self.place(offset);
        let mut buffer = Buffer::new();
        let found = match place.byte().checked_sub(self.log.end()) {
            None => self.log.read(place, &mut buffer, &AtomicU64::new(0))?,
            Some(pending) => record::read_front(place, &self.pending[pending as usize..])
                .ok_or_else(|| StoreError::Damaged("hybrid: a record changed before it was written".to_owned()))?,
        };
        Ok((found.key == key, record::record_bytes(found.key, found.value)))
    }

    fn write(&mut self, item: Item<'_>) -> Result<u32, StoreError> {
        let bytes = record::record_bytes(item.key, item.value);
        if self.pending.len() as u64 + bytes > self.buffered as u64 {
            self.flush()?;
        }
        let place = self.log.place_behind(self.pending.len(), bytes)?;
        if self.pending.capacity() == 0 {
            self.pending.reserve_exact(self.buffered.min(FIRST_BUFFER));
        }
        record::write(place, item.key, item.value, &mut self.pending);
        Ok(place.offset)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.log.append(&self.pending)?;
        self.pending.clear();
        // One long record must not leave its size behind in each of 256 buffers.
        self.pending.shrink_to(self.buffered);
        Ok(())
    }

    fn finish(mut self) -> Result<Shard, StoreError> {
        self.flush()?;
        self.log.holds_records(self.state.entries() as usize);
        self.state.table.fit();
        Ok(Shard::new(self.state, self.log, AtomicU64::new(self.garbage)))
    }

    fn place(&self, offset: u32) -> Place {
        Place { offset, ..self.log.first_place() }
    }
}

/// A buffer starts small: most loads of tests, and shards of small stores, never fill one.
const FIRST_BUFFER: usize = 1 << 10;
