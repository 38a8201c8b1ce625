//! `hybrid`: every key in memory as a hash of six bytes, every value on disk, and copies of the hottest entries in memory.
//!
//! The design of "Inside Uber's hybrid cache" (the translations article): 256 shards, each a lock, a table of ten bytes a slot and a file;
//! a bounded tier of resident copies for all shards together, evicted by a list of use that an entry moves in at most once
//! a second. It should win wherever most of the data is hardly ever asked for: memory is an index of 11.5 bytes per entry, and a refresh adds one
//! more index instead of one more copy of everything. It loses on every get of something cold: a system call and a checksum
//! instead of a cache miss.
//!
//! One [`Hybrid`] is one generation of contents; [`crate::store::swapped::Swapped`] serves it and replaces it. A get holds its shard's read lock
//! while the visitor looks at a copy: a visitor that asks the same store, or updates it, may deadlock.
//!
//! What is on disk is never trusted: a record carries its key, its lengths and a checksum over its place, and whatever does not fit is an
//! error that names shard and offset. Files have no names, so that they vanish with the process, however it ends.
//!
//! A put appends; the space of what it replaced is garbage until the next refresh. A shard whose file reaches 128 MiB
//! refuses further puts.
//!
//! ```
//! use larder::items::Slice;
//! use larder::store::hybrid::{Hybrid, Options};
//! use larder::store::{Config, Reader, Store, StoreError};
//!
//! fn main() -> Result<(), StoreError> {
//!     let config = Config { hybrid: Options { resident_items: 1, ..Options::default() }, ..Config::default() };
//!     let store = Hybrid::load(&mut Slice::new(&[("color-de", "Farbe"), ("color-fr", "couleur")]), &config)?;
//!     let mut reader = store.reader();
//!     assert_eq!(reader.get(b"color-fr", |value| value.len())?, Some(7)); // read from disk, and resident from now on
//!     assert_eq!(reader.get(b"color-fr", |value| value == b"couleur")?, Some(true)); // from memory
//!     assert_eq!(reader.get(b"color-it", |_| ())?, None);
//!     let statistics = store.statistics();
//!     assert_eq!((statistics.hits, statistics.misses, statistics.negatives), (1, 1, 1));
//!     Ok(())
//! }
//! ```
//!
//! `examples/embed_hybrid.rs` shows a service: readers on many threads, refreshes beside them.

mod admit;
mod check;
pub mod clock;
mod direct;
pub mod disk;
mod flights;
mod get;
pub mod keys;
mod load;
mod log;
mod lru;
mod mapped;
#[cfg(test)]
mod meetings;
mod named;
mod options;
pub mod preset;
mod record;
mod shard;
mod state;
mod statistics;
mod successor;
mod sync;
mod table;
mod tier;
mod update;

use std::sync::Arc;

pub use self::options::{Options, Scope};
pub use self::statistics::{Bucket, Statistics};
pub use self::table::SHARD_LIMIT;

use self::keys::{Hash, Hashed};
use self::load::Loading;
use self::shard::Shard;
use self::statistics::{Counters, Counts};
use self::tier::Tier;
use crate::items::Items;
use crate::measure;
use crate::store::{Config, Footprint, Reader, Store, StoreError, Update};

/// See the module's documentation.
pub struct Hybrid {
    hash: Hash,
    shards: Box<[Shard]>,
    tier: Tier,
    counts: Arc<Counts>,
    /// Times misses.
    timer: measure::clock::Clock,
}

impl std::fmt::Debug for Hybrid {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Hybrid of {} entries, {:?}", self.entries(), self.tier)
    }
}

impl Store for Hybrid {
    type Reader<'a> = HybridReader<'a>;

    const TAKES_UPDATES: bool = true;
    const HAS_TIER: bool = true;

    fn load(items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        Self::build(items, config, None)
    }

    /// Counts on where this store stands, and starts with copies of what this one used within the new configuration's window.
    fn load_successor(&self, items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        let successor = Self::build(items, config, Some(self))?;
        successor.preload(self, config.hybrid.preload_window.as_millis() as u64)?;
        Ok(successor)
    }

    fn reader(&self) -> HybridReader<'_> {
        HybridReader { store: self }
    }

    fn entries(&self) -> u64 {
        self.shards.iter().map(|shard| shard.state.read().entries()).sum()
    }

    fn footprint(&self) -> Footprint {
        self.account()
    }

    fn check(&self) -> Result<(), StoreError> {
        self.verify()
    }

    fn updates(&self) -> Option<&dyn Update> {
        Some(self)
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(Hybrid::statistics(self))
    }
}

impl Hybrid {
    fn build(items: &mut dyn Items, config: &Config, predecessor: Option<&Self>) -> Result<Self, StoreError> {
        let options = &config.hybrid;
        let disk = match &options.disk {
            Some(disk) => disk.clone(),
            None => disk::open(options.access, config.directory.as_deref()),
        };
        // The second half only has to differ from the first; whoever needs a secret gives both.
        let hash_key = options.hash_key.unwrap_or([config.seed, !config.seed]);
        let hash = Hash::new(hash_key, options.hash_bits);
        let tier = Tier::new(options)?;
        let mut loading = Loading::new(&hash, &disk, options.shard_limit.min(SHARD_LIMIT), options.load_buffer);
        if let Some(predecessor) = predecessor {
            loading.expect_as_many_as(&predecessor.shards);
        }
        loading.take(items)?;
        let shards = loading.finish()?;
        let counts = predecessor.map_or_else(|| Arc::new(Counts::new()), |predecessor| predecessor.counts.clone());
        Ok(Self { hash, shards, tier, counts, timer: measure::clock::Clock::new() })
    }

    #[inline]
    fn shard(&self, hashed: Hashed) -> &Shard {
        &self.shards[usize::from(hashed.shard)]
    }

    #[inline]
    fn counters(&self, hashed: Hashed) -> &Counters {
        &self.counts.shards[usize::from(hashed.shard)]
    }
}

/// Needs nothing of its own.
#[derive(Debug)]
pub struct HybridReader<'a> {
    store: &'a Hybrid,
}

impl Reader for HybridReader<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        self.store.get(key, visit)
    }
}
