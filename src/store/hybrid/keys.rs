//! Keys as the index knows them: a seeded hash cut to [`HASH_BYTES`]. Knows nothing of tables, files or records.
//!
//! "Inside Uber's hybrid cache": six bytes of hash, the first of which picks one of 256 shards while the other five are
//! the key inside the shard's table. Two keys of one hash are possible, so whoever uses the hash verifies the key itself.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Bytes of hash that stand for a key: one for the shard and the rest in the table, 5 to 8. Six leave 0.007 expected
/// colliding pairs at 2 million keys and 0.18 at 10 million; each byte more costs a byte per entry and makes 256 times fewer.
pub const HASH_BYTES: usize = 6;

/// Bytes of the hash that a table keeps.
pub const KEY_BYTES: usize = HASH_BYTES - 1;

/// Bits of the hash that a table keeps.
pub const KEY_BITS: u32 = 8 * KEY_BYTES as u32;

/// Shards: one for each value of the hash's first byte.
pub const SHARDS: usize = 256;

const _: () = assert!(HASH_BYTES >= 5 && HASH_BYTES <= 8, "a hash has 5 to 8 bytes");

/// What the index knows of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashed {
    pub shard: u8,
    /// [`KEY_BITS`] bits.
    pub key: u64,
    /// The whole hash, for a table that is not of the compact kind.
    pub whole: u64,
}

/// SipHash-1-3 under a key of 128 bits: whoever does not know the key can't choose keys that collide, which the faster
/// hashes of the other designs don't promise.
#[derive(Debug, Clone)]
pub struct Hash {
    first: u64,
    second: u64,
    /// Keeps the leading bits of the hash that a test lets stand.
    mask: u64,
}

impl Hash {
    /// `bits` leading bits of the hash are used, at most those of [`HASH_BYTES`]; fewer are for tests of collisions.
    pub fn new(key: [u64; 2], bits: u32) -> Self {
        let bits = bits.min(8 * HASH_BYTES as u32);
        let mask = u64::MAX.checked_shl(64 - bits).unwrap_or(0);
        Self { first: key[0], second: key[1], mask }
    }

    #[inline]
    pub fn of(&self, key: &[u8]) -> Hashed {
        let mut hasher = SipHasher13::new_with_keys(self.first, self.second);
        hasher.write(key);
        let whole = hasher.finish();
        let cut = whole & self.mask;
        Hashed { shard: (cut >> 56) as u8, key: (cut << 8) >> (64 - KEY_BITS), whole }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn hashes(bits: u32) -> Vec<Hashed> {
        let hash = Hash::new([1, 2], bits);
        (0..5000_u32).map(|number| hash.of(&number.to_le_bytes())).collect()
    }

    #[test]
    fn a_hash_spreads_over_all_shards_and_fits_the_table() {
        let shards: BTreeSet<u8> = hashes(48).iter().map(|hashed| hashed.shard).collect();
        assert_eq!(shards.len(), SHARDS);
        assert!(hashes(48).iter().all(|hashed| hashed.key >> KEY_BITS == 0));
        let high = hashes(48).iter().filter(|hashed| hashed.key >> (KEY_BITS - 1) == 1).count();
        assert!((2200..2800).contains(&high), "{high} of 5000 keys in the upper half");
    }

    #[test]
    fn a_hash_cut_to_16_bits_has_that_many_values_and_one_of_none_has_one() {
        let distinct =
            |bits| hashes(bits).iter().map(|hashed| (hashed.shard, hashed.key)).collect::<BTreeSet<_>>().len();
        assert!((4000..5000).contains(&distinct(16)));
        assert!((230..=256).contains(&distinct(8)));
        assert_eq!((distinct(0), distinct(48), distinct(64)), (1, 5000, 5000));
    }

    #[test]
    fn another_key_of_the_hash_gives_other_hashes() {
        assert_ne!(Hash::new([1, 2], 48).of(b"key"), Hash::new([1, 3], 48).of(b"key"));
        assert_ne!(Hash::new([1, 2], 48).of(b"key"), Hash::new([4, 2], 48).of(b"key"));
    }
}
