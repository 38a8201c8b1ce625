//! The hash of keys, one for every design, so that designs differ in their layout and not in their hash.
//! Knows nothing of tables.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

/// A seeded hash of key bytes. Equal seeds give equal hashes, and with them equal tables, from run to run.
///
/// foldhash was the fastest that the tables tolerate: SipHash made a hit 1.7 times as slow. It is not proof against
/// keys chosen by an enemy who knows the seed.
#[derive(Debug, Clone)]
pub struct KeyHash(FixedState);

impl KeyHash {
    pub fn new(seed: u64) -> Self {
        Self(FixedState::with_seed(seed))
    }

    /// Hashes the bytes alone, without the length prefix of `<[u8] as Hash>`: a key is never a part of something longer.
    #[inline]
    pub fn of(&self, key: &[u8]) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(key);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_hashes_and_other_seeds_others() {
        assert_eq!(KeyHash::new(7).of(b"key"), KeyHash::new(7).of(b"key"));
        assert_ne!(KeyHash::new(7).of(b"key"), KeyHash::new(8).of(b"key"));
    }

    #[test]
    fn runs_of_zero_bytes_of_different_lengths_hash_differently() {
        let hash = KeyHash::new(1);
        let hashes: std::collections::BTreeSet<u64> = (0..64).map(|length| hash.of(&vec![0; length])).collect();
        assert_eq!(hashes.len(), 64);
    }
}
