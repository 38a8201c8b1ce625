//! The contracts that every store keeps, and one file or folder per design. Knows nothing of the harness.
//!
//! Keys and values are bytes. A get lends the value to a closure: a design that has to copy pays for it inside the call.
//! An I/O error is an error, never a miss.

pub mod bad;
pub mod flat_map;
mod hash;
pub mod hybrid;
pub mod null;
pub mod packed;
pub mod swapped;
pub mod sync_map;

use std::path::PathBuf;

use crate::items::{Items, SourceError};

/// What a store may need to know when it is built. Every design takes what concerns it and ignores the rest.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Seeds the hash of the store's tables; equal seeds give equal tables.
    pub seed: u64,
    /// Where a store that keeps files puts them; `None` means the system's temporary directory.
    pub directory: Option<PathBuf>,
    /// What concerns the hybrid store alone.
    pub hybrid: hybrid::Options,
}

/// Why a store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The stream of items broke off; nothing of it is served.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A key or value is longer than the design can hold.
    #[error("{what} of {bytes} bytes is too long for this store (at most {limit})")]
    TooLong { what: &'static str, bytes: usize, limit: u64 },
    /// Reading or writing a file failed.
    #[error("{doing}: {cause}")]
    Io {
        doing: String,
        #[source]
        cause: std::io::Error,
    },
    /// A shard's file has no room for another record. A load fails as a whole; after many updates a refresh makes room.
    #[error(
        "shard {shard} is full: its file would grow to {bytes} bytes, and offsets reach {limit}; \
         a refresh drops replaced records, fewer or shorter items fit in any case"
    )]
    ShardFull { shard: u8, bytes: u64, limit: u64 },
    /// The store found its own contents damaged.
    #[error("damaged contents: {0}")]
    Damaged(String),
}

/// The store's own account of its heap and disk, in bytes, to be held against the allocator's figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Tables: slots and control bytes, used or not.
    pub index: u64,
    /// Bytes of the keys themselves.
    pub keys: u64,
    /// Bytes of the values themselves.
    pub values: u64,
    /// Boxes, headers, length prefixes and padding around keys and values.
    pub overhead: u64,
    /// Copies kept in a bounded resident tier.
    pub resident: u64,
    /// Bytes of files.
    pub disk: u64,
}

impl Footprint {
    /// Everything that is on the heap.
    pub fn heap(&self) -> u64 {
        self.index + self.keys + self.values + self.overhead + self.resident
    }
}

/// A per-thread view of a store. Cheap to make: a combinator may make one per get.
pub trait Reader {
    /// Lends the value of `key` to `visit`; `None` when the store does not hold the key.
    ///
    /// # Errors
    /// When the store could not find out. A failed read is never reported as a miss.
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError>;
}

/// A store: built from a stream, then read by many threads.
pub trait Store: Sized + Send + Sync + 'static {
    type Reader<'a>: Reader
    where
        Self: 'a;

    /// Whether [`Store::updates`] returns something; known before a store exists so that plans can be checked.
    const TAKES_UPDATES: bool = false;

    /// Whether the store keeps its contents on disk and copies of some in memory, and so has [`Store::statistics`] of hits and misses.
    const HAS_TIER: bool = false;

    /// Builds the store. Of two items with one key the last wins.
    ///
    /// # Errors
    /// The source's own error, or [`StoreError`] of the design. Nothing half-built is left behind.
    fn load(items: &mut dyn Items, config: &Config) -> Result<Self, StoreError>;

    /// Builds the contents that will replace this store's. A design that carries something over (its hot entries) overrides it.
    ///
    /// # Errors
    /// As [`Store::load`]; this store goes on serving.
    fn load_successor(&self, items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        Self::load(items, config)
    }

    fn reader(&self) -> Self::Reader<'_>;

    /// Distinct keys held.
    fn entries(&self) -> u64;

    /// The store's own account of what it holds.
    fn footprint(&self) -> Footprint;

    /// Verifies the store's invariants; the message names the first that is broken.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with what was found.
    fn check(&self) -> Result<(), StoreError>;

    /// What the store counted while it served, for the designs that count.
    fn statistics(&self) -> Option<hybrid::Statistics> {
        None
    }

    /// Live updates, for the designs that take them.
    fn updates(&self) -> Option<&dyn Update> {
        None
    }

    /// What the store counted while it served, for the one design that counts.
    fn counted(&self) -> Option<hybrid::Statistics> {
        None
    }
}

/// Live updates beside the readers. A reader that started before may see the old or the new value, never a mix.
pub trait Update: Send + Sync {
    /// Adds the key or replaces its value.
    ///
    /// # Errors
    /// [`StoreError`] of the design; the old value then still stands.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes the key; `false` when it was not there.
    ///
    /// # Errors
    /// [`StoreError`] of the design; the key then still stands.
    fn remove(&self, key: &[u8]) -> Result<bool, StoreError>;
}
