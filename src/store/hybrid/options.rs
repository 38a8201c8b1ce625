//! What a user may choose. Knows nothing of how it is done.

use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use super::disk::{Access, Disk};
use super::keys::HASH_BYTES;
use super::table::SHARD_LIMIT;

/// Which entry leaves the resident tier when it is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// The article's: one list for all shards, and an entry moves to its front at most once per interval. A get takes the
    /// list's lock that seldom.
    #[default]
    TimedGlobal,
    /// One list for all shards, in the exact order of use. Every get takes its lock.
    ExactGlobal,
    /// A list and an equal part of the budget for each shard, in the exact order of use: a shard of many hot entries evicts them
    /// while others keep cold ones.
    PerShard,
}

/// The settings of a hybrid store; the defaults are the article's.
#[derive(Debug, Clone)]
pub struct Options {
    /// Entries that have a copy in memory, at most. 0 keeps everything on disk.
    pub resident_items: usize,
    /// Bytes of the blocks of these copies, at most.
    pub resident_bytes: Option<u64>,
    pub scope: Scope,
    /// How often an entry is moved in the list of [`Scope::TimedGlobal`], at most.
    pub touch_interval: Duration,
    /// A successor starts with copies of what was used within this time. Zero: it starts with none.
    pub preload_window: Duration,
    pub access: Access,
    /// Takes the place of files in the configured directory; `access` then means nothing.
    pub disk: Option<Arc<dyn Disk>>,
    /// `None` means [`super::clock::Ticking`].
    pub clock: Option<Arc<dyn Clock>>,
    /// The secret of the hash. `None` derives it from the configuration's seed, which is right for experiments; a service whose
    /// keys come from strangers draws it at random.
    pub hash_key: Option<[u64; 2]>,
    /// Leading bits of the hash that are used. Fewer than all are for tests: collisions are then everywhere.
    pub hash_bits: u32,
    /// Bytes that a shard's file may have, at most 128 MiB less 8.
    pub shard_limit: u64,
    /// Bytes that a load collects for each of the 256 files before it writes them.
    pub load_buffer: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            resident_items: 50_000,
            resident_bytes: None,
            scope: Scope::default(),
            touch_interval: Duration::from_secs(1),
            preload_window: Duration::from_secs(15 * 60),
            access: Access::default(),
            disk: None,
            clock: None,
            hash_key: None,
            hash_bits: 8 * HASH_BYTES as u32,
            shard_limit: SHARD_LIMIT,
            // 2 MiB in all: a tenth of the index of 2 million entries, and a write for every 20 typical records.
            load_buffer: 8 << 10,
        }
    }
}
