//! One shard: its lock, its file, and who is reading or changing it. Knows nothing of other shards.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::flights::Flights;
use super::log::{Buffer, Log};
use super::record::{Place, Record};
use super::state::State;
use super::statistics::{Counters, count};
use super::sync::{Mutex, RwLock};
use crate::store::StoreError;
use crate::store::packed::record::Record as Block;

/// A shard. Locks are taken in this order: `updates`, `state`, the list of use. No two states are locked at once, and the disk is
/// never asked under `state`.
pub(super) struct Shard {
    pub state: RwLock<State>,
    /// Held through a whole update: appending, and making the index point there.
    pub updates: Mutex<()>,
    pub log: Log,
    pub flights: Flights<Block>,
    /// Bytes of records that nothing points to.
    pub garbage: AtomicU64,
}

impl Shard {
    pub fn new(state: State, log: Log, garbage: AtomicU64) -> Self {
        Self { state: RwLock::new(state), updates: Mutex::new(()), log, flights: Flights::new(), garbage }
    }

    /// Reads the record at an offset that the index names, and counts the read.
    pub fn read<'b>(&self, offset: u32, buffer: &'b mut Buffer, counters: &Counters) -> Result<Record<'b>, StoreError> {
        let place = Place { offset, ..self.log.first_place() };
        count(&counters.reads);
        self.log.read(place, buffer, &counters.bytes_read)
    }

    pub fn add_garbage(&self, bytes: u64) {
        self.garbage.fetch_add(bytes, Relaxed);
    }
}
