//! Seeded streams of requests over a set of keys.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::keys::KeySet;
use super::popularity::{Permutation, Zipf};
use crate::items::SourceError;

/// An endless stream of requests; equal seeds give equal streams.
pub struct Requests<'a> {
    keys: &'a KeySet,
    zipf: Zipf,
    places: Permutation,
    rng: Xoshiro256PlusPlus,
    fingerprint: u64,
}

impl<'a> Requests<'a> {
    /// `popularity_seed` decides which keys are hot, and is the same for every thread; `stream_seed` decides the order of requests.
    ///
    /// # Errors
    /// No keys, or an exponent outside 0..=2.
    pub fn new(keys: &'a KeySet, exponent: f64, popularity_seed: u64, stream_seed: u64) -> Result<Self, SourceError> {
        if keys.is_empty() {
            return Err(SourceError::new("there are no keys to ask for; load at least one item"));
        }
        Ok(Self {
            keys,
            zipf: Zipf::new(keys.len(), exponent)?,
            places: Permutation::new(keys.len(), popularity_seed),
            rng: Xoshiro256PlusPlus::seed_from_u64(stream_seed),
            fingerprint: 0,
        })
    }

    /// The hottest keys, at most `count` of them, the hottest last: asked for in this order they are what an LRU holds.
    pub fn hottest_last(&self, count: u64) -> impl Iterator<Item = &'a [u8]> {
        (0..self.keys.len().min(count)).rev().map(|rank| self.keys.key(self.places.apply(rank)))
    }

    /// Number of the next key to ask for.
    pub fn next_number(&mut self) -> u64 {
        let number = self.places.apply(self.zipf.sample(&mut self.rng));
        self.fingerprint = xxh3_64_with_seed(&number.to_le_bytes(), self.fingerprint);
        number
    }

    /// Replaces the batch by the next `n` requests.
    pub fn fill(&mut self, batch: &mut Batch, n: usize) {
        batch.bytes.clear();
        batch.ends.clear();
        for _ in 0..n {
            let key = self.keys.key(self.next_number());
            batch.bytes.extend_from_slice(key);
            batch.ends.push(batch.bytes.len());
        }
    }

    /// Tells two streams apart: a hash over all requests so far.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

/// Keys of requests one behind the other, made before the clock starts. Walking it costs next to nothing.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Batch {
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let (key, behind) = rest.split_at(end - start);
            (rest, start) = (behind, end);
            key
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::Slice;

    fn keys(count: usize) -> KeySet {
        let pairs: Vec<(String, &str)> = (0..count).map(|number| (format!("key {number}"), "value")).collect();
        KeySet::collect(&mut Slice::new(&pairs), None).unwrap()
    }

    #[test]
    fn equal_seeds_give_equal_streams_and_others_do_not() {
        let keys = keys(1000);
        let fingerprint = |popularity, stream| {
            let mut requests = Requests::new(&keys, 0.99, popularity, stream).unwrap();
            requests.fill(&mut Batch::default(), 500);
            requests.fingerprint()
        };
        assert_eq!(fingerprint(1, 2), fingerprint(1, 2));
        assert_ne!(fingerprint(1, 2), fingerprint(1, 3));
        assert_ne!(fingerprint(1, 2), fingerprint(2, 2));
    }

    #[test]
    fn a_batch_holds_the_keys_of_its_stream_in_order() {
        let keys = keys(100);
        let mut requests = Requests::new(&keys, 1.0, 1, 1).unwrap();
        let mut again = Requests::new(&keys, 1.0, 1, 1).unwrap();
        let mut batch = Batch::default();
        requests.fill(&mut batch, 64);
        let expected: Vec<&[u8]> = (0..64).map(|_| keys.key(again.next_number())).collect();
        assert!(batch.iter().eq(expected.iter().copied()));
        requests.fill(&mut batch, 1);
        assert_eq!(batch.iter().count(), 1);
    }

    #[test]
    fn the_hottest_keys_come_last_and_are_those_that_are_drawn_most() {
        let keys = keys(100);
        let mut requests = Requests::new(&keys, 2.0, 1, 1).unwrap();
        let hottest: Vec<&[u8]> = requests.hottest_last(10).collect();
        let mut drawn = vec![0; 100];
        (0..10_000).for_each(|_| drawn[requests.next_number() as usize] += 1);
        let most = (0..100).max_by_key(|number| drawn[*number]).unwrap();
        assert_eq!((hottest.len(), hottest[9]), (10, keys.key(most as u64)));
        assert_eq!(requests.hottest_last(1000).count(), 100);
    }

    #[test]
    fn no_keys_are_an_error() {
        assert!(Requests::new(&KeySet::default(), 1.0, 1, 1).is_err());
    }
}
