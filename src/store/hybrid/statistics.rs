//! What a store counts while it serves. Knows nothing of how it serves.
//!
//! Counters stand per shard, each shard's in cache lines of its own, beside a lock that the same thread takes anyway. They go
//! on through refreshes: a successor counts where its predecessor stopped.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::keys::SHARDS;
use crate::measure::prometheus::Exposition;

/// Counters of one shard; they only rise.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Counters {
    pub hits: AtomicU64,
    pub misses: AtomicU64,
    pub negatives: AtomicU64,
    pub collisions: AtomicU64,
    pub errors: AtomicU64,
    pub reads: AtomicU64,
    pub bytes_read: AtomicU64,
    pub evictions: AtomicU64,
}

/// The counters of all shards, and how long misses took.
#[derive(Debug)]
pub(super) struct Counts {
    pub shards: Box<[Counters]>,
    pub misses: Histogram,
}

impl Counts {
    pub fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Counters::default()).collect(), misses: Histogram::new() }
    }

    /// Bytes on the heap, this object's own with its two reference counts included.
    pub fn allocation_size(&self) -> usize {
        2 * size_of::<usize>() + size_of::<Self>() + size_of_val(&*self.shards)
    }

    pub fn sum(&self, counter: fn(&Counters) -> &AtomicU64) -> u64 {
        self.shards.iter().map(|shard| counter(shard).load(Relaxed)).sum()
    }
}

/// Counts one more.
#[inline]
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// A reading of all counters. Figures of one moment only when nothing goes on: each is read by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Gets that a resident copy answered.
    pub hits: u64,
    /// Gets that found their key on disk.
    pub misses: u64,
    /// Gets of keys that the store does not hold.
    pub negatives: u64,
    /// Gets and updates that met another key of the same hash.
    pub collisions: u64,
    /// Gets and updates that failed: a disk's error, a damaged record.
    pub errors: u64,
    /// Records read from disk; fewer than misses where threads shared a read. Updates and preloads read too.
    pub reads: u64,
    /// Bytes read from disk, with what was read beyond the record.
    pub bytes_read: u64,
    /// Copies that left the resident tier to make room.
    pub evictions: u64,
    /// Entries with a copy in memory, now.
    pub resident_items: u64,
    /// Bytes of the blocks of these copies, now.
    pub resident_bytes: u64,
    /// Keys that stand in the fallback map because another key has their hash, now.
    pub fallback_items: u64,
    /// Entries of each of the 256 shards, now.
    pub disk_items: Vec<u64>,
    /// Bytes of all files, now.
    pub disk_bytes: u64,
    /// Bytes that one shard's file may have.
    pub shard_limit: u64,
    /// Bytes of records that no key points to any more, now. A refresh gets rid of them.
    pub garbage_bytes: u64,
    /// Misses by how long they took.
    pub miss_latency: Vec<Bucket>,
    /// How long all misses together took.
    pub miss_latency_sum_ns: u64,
}

impl Statistics {
    /// All of it as Prometheus metrics named `larder_hybrid_...`.
    pub fn expose(&self, into: &mut Exposition) {
        for (name, value, help) in self.counters() {
            into.counter(&format!("larder_hybrid_{name}_total"), help, value);
        }
        for (name, value, help) in self.gauges() {
            into.gauge(&format!("larder_hybrid_{name}"), help, value);
        }
        let shards = self.disk_items.iter().copied().enumerate();
        into.gauges("larder_hybrid_disk_items", "Entries of the shard, now.", "shard", shards);
        let buckets = self.miss_latency.iter().map(|bucket| (bucket.at_most_ns, bucket.count));
        let help = "How long gets took that found their key on disk.";
        into.durations("larder_hybrid_miss_latency_seconds", help, buckets, self.miss_latency_sum_ns);
    }

    fn counters(&self) -> [(&'static str, u64, &'static str); 8] {
        [
            ("hits", self.hits, "Gets that a resident copy answered."),
            ("misses", self.misses, "Gets that found their key on disk."),
            ("negatives", self.negatives, "Gets of keys that the store does not hold."),
            ("collisions", self.collisions, "Gets and updates that met another key of the same hash."),
            ("errors", self.errors, "Gets and updates that failed: a disk's error, a damaged record."),
            ("reads", self.reads, "Records read from disk, for gets, updates and preloads."),
            ("read_bytes", self.bytes_read, "Bytes read from disk, with what was read beyond the record."),
            ("evictions", self.evictions, "Copies that left the resident tier to make room."),
        ]
    }

    fn gauges(&self) -> [(&'static str, u64, &'static str); 5] {
        [
            ("resident_items", self.resident_items, "Entries with a copy in memory, now."),
            ("resident_bytes", self.resident_bytes, "Bytes of the blocks of these copies, now."),
            ("fallback_items", self.fallback_items, "Keys kept aside because another has their hash, now."),
            ("disk_bytes", self.disk_bytes, "Bytes of all files, now."),
            ("garbage_bytes", self.garbage_bytes, "Bytes of records that no key points to any more, now."),
        ]
    }
}

/// Misses that took at most so long, and longer than the bucket before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    pub at_most_ns: u64,
    pub count: u64,
}

/// Four buckets to each doubling, from 64 ns to a quarter of an hour: a bound is at most 25% above what it stands for.
#[derive(Debug)]
pub(super) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

const BUCKETS: usize = 4 * 32;

/// Nanoseconds that the finest bucket spans.
const FINEST_NS: u64 = 64;

impl Histogram {
    fn new() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; BUCKETS], sum_ns: AtomicU64::new(0) }
    }

    pub fn record(&self, ns: u64) {
        count(&self.buckets[bucket(ns)]);
        self.sum_ns.fetch_add(ns, Relaxed);
    }

    pub fn sum_ns(&self) -> u64 {
        self.sum_ns.load(Relaxed)
    }

    pub fn buckets(&self) -> Vec<Bucket> {
        let bucket =
            |(place, count): (usize, &AtomicU64)| Bucket { at_most_ns: at_most_ns(place), count: count.load(Relaxed) };
        self.buckets.iter().enumerate().map(bucket).collect()
    }
}

fn bucket(ns: u64) -> usize {
    let units = ns / FINEST_NS;
    let doublings = units.max(4).ilog2() as usize - 2;
    (4 * doublings + (units >> doublings) as usize).min(BUCKETS - 1)
}

/// The last value of the bucket.
fn at_most_ns(bucket: usize) -> u64 {
    if bucket == BUCKETS - 1 {
        return u64::MAX;
    }
    let next = bucket as u64 + 1;
    let (doublings, quarter) = ((next / 4).saturating_sub(1), if next < 4 { next } else { 4 + next % 4 });
    FINEST_NS * (quarter << doublings) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_lies_in_the_bucket_whose_bounds_enclose_it() {
        for ns in (0..2000).chain([1 << 20, (1 << 20) + 1, 123_456_789, 1 << 40, u64::MAX]) {
            let place = bucket(ns);
            assert!(ns <= at_most_ns(place), "{ns} in bucket {place} up to {}", at_most_ns(place));
            assert!(place == 0 || ns > at_most_ns(place - 1), "{ns} in bucket {place}");
        }
    }

    #[test]
    fn bounds_rise_and_are_no_more_than_a_quarter_apart() {
        let bounds: Vec<u64> = (0..BUCKETS - 1).map(at_most_ns).collect();
        assert!(bounds.is_sorted());
        assert!(bounds[4..].windows(2).all(|pair| (pair[1] - pair[0]) * 4 <= pair[0] + 1));
    }
}
