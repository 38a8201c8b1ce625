//! All keys of a source in one place, for request streams and verification. Knows nothing of where they came from.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::items::{Items, SourceError};

/// Distinct keys in the order of their first appearance, in one arena, each with a checksum of its last value.
#[derive(Default)]
pub struct KeySet {
    bytes: Vec<u8>,
    /// End of each key in `bytes`; it starts where the one before it ends.
    ends: Vec<usize>,
    checksums: Vec<u64>,
}

impl KeySet {
    /// Reads up to `limit` items. Of a key that comes twice the last value counts.
    ///
    /// # Errors
    /// The source's own.
    pub fn collect(items: &mut dyn Items, limit: Option<u64>) -> Result<Self, SourceError> {
        let mut set = Self::default();
        let mut numbers: HashTable<usize> = HashTable::new();
        let mut left = limit.unwrap_or(u64::MAX);
        while left > 0 {
            let Some(item) = items.next_item()? else { break };
            left -= 1;
            let hash = xxh3_64(item.key);
            let value = checksum(item.value);
            if let Some(&number) = numbers.find(hash, |&number| set.key(number as u64) == item.key) {
                set.checksums[number] = value;
                continue;
            }
            let number = set.ends.len();
            set.bytes.extend_from_slice(item.key);
            set.ends.push(set.bytes.len());
            set.checksums.push(value);
            numbers.insert_unique(hash, number, |&number| xxh3_64(set.key(number as u64)));
        }
        set.bytes.shrink_to_fit();
        Ok(set)
    }

    /// Distinct keys.
    pub fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key of this number.
    ///
    /// # Panics
    /// Where `number` is not below [`KeySet::len`].
    pub fn key(&self, number: u64) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    /// [`checksum`] of the last value of the key of this number.
    ///
    /// # Panics
    /// Where `number` is not below [`KeySet::len`].
    pub fn checksum(&self, number: u64) -> u64 {
        self.checksums[number as usize]
    }
}

/// A 64-bit checksum of a value (XXH3).
pub fn checksum(value: &[u8]) -> u64 {
    xxh3_64(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::Slice;

    #[test]
    fn of_a_key_that_comes_twice_the_last_value_counts() {
        let pairs = [("a", "1"), ("", "empty"), ("b", "2"), ("a", "3")];
        let keys = KeySet::collect(&mut Slice::new(&pairs), None).unwrap();
        let found: Vec<_> = (0..keys.len()).map(|number| (keys.key(number), keys.checksum(number))).collect();
        assert_eq!(found, [(&b"a"[..], checksum(b"3")), (b"", checksum(b"empty")), (b"b", checksum(b"2"))]);
    }

    #[test]
    fn no_more_items_are_read_than_asked_for() {
        let pairs = [("a", "1"), ("b", "2"), ("a", "3")];
        let mut items = Slice::new(&pairs);
        let keys = KeySet::collect(&mut items, Some(2)).unwrap();
        assert_eq!((keys.len(), keys.checksum(0)), (2, checksum(b"1")));
        assert_eq!(items.expected(), Some(1));
    }
}
