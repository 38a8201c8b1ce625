//! One full pass over a source before anything is measured: finds broken input, and says how large the data are.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use super::Source;
use crate::items::{Item, SourceError};
use crate::workload::DataSpec;

/// What one pass over the data found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// Items read, repeated keys included.
    pub items: u64,
    /// Different keys, told apart by a 64-bit hash: among 10 million keys, one is miscounted once in 370,000 surveys.
    pub distinct: u64,
    /// Bytes of all keys, repeated ones included.
    pub key_bytes: u64,
    /// Bytes of all values, those of repeated keys included.
    pub value_bytes: u64,
    /// Bytes of the longest key.
    pub longest_key: u64,
    /// Bytes of the longest value.
    pub longest_value: u64,
    /// Size of the file or files on the disk, compressed as they are; for synthetic data the bytes of keys and values.
    pub document_bytes: u64,
    /// SHA-256 over the stream in its order: of each item the length of the key (u64, little endian), the key, the length
    /// of the value, the value.
    pub checksum: String,
}

/// Reads the source from end to end in bounded memory, but for 64-bit hashes of its keys (9 to 18 bytes for each).
///
/// # Errors
/// The first fault of the source.
pub fn survey(spec: &DataSpec, limit: Option<u64>, seed: u64) -> Result<Survey, SourceError> {
    let source = Source::parse(spec)?;
    source.check()?;
    let mut items = source.open(limit, seed)?;
    let mut tally = Tally::default();
    while let Some(item) = items.next_item()? {
        tally.add(item);
    }
    Ok(tally.survey(source.document_bytes()?))
}

#[derive(Default)]
struct Tally {
    items: u64,
    key_bytes: u64,
    value_bytes: u64,
    longest_key: u64,
    longest_value: u64,
    hashes: HashSet<u64, FixedState>,
    checksum: Sha256,
}

impl Tally {
    fn add(&mut self, Item { key, value }: Item<'_>) {
        let (key_bytes, value_bytes) = (key.len() as u64, value.len() as u64);
        self.items += 1;
        self.key_bytes += key_bytes;
        self.value_bytes += value_bytes;
        self.longest_key = self.longest_key.max(key_bytes);
        self.longest_value = self.longest_value.max(value_bytes);
        self.hashes.insert(xxh3_64(key));
        self.checksum.update(key_bytes.to_le_bytes());
        self.checksum.update(key);
        self.checksum.update(value_bytes.to_le_bytes());
        self.checksum.update(value);
    }

    fn survey(self, document_bytes: Option<u64>) -> Survey {
        Survey {
            items: self.items,
            distinct: self.hashes.len() as u64,
            key_bytes: self.key_bytes,
            value_bytes: self.value_bytes,
            longest_key: self.longest_key,
            longest_value: self.longest_value,
            document_bytes: document_bytes.unwrap_or(self.key_bytes + self.value_bytes),
            checksum: self.checksum.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}
