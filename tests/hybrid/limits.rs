//! Shards that are full, by a limit of the test's and at the very end of what offsets reach.

use std::sync::Arc;

use larder::items::{Item, Items, Slice, SourceError};
use larder::store::hybrid::disk::{Access, open};
use larder::store::hybrid::{Hybrid, Options, SHARD_LIMIT};
use larder::store::swapped::Swapped;
use larder::store::{Config, Reader, Store, StoreError};

use crate::memory_disk::MemoryDisk;
use crate::{Pairs, assert_holds, config, error, get, load, numbered, options, updates};

fn limited(limit: u64) -> Config {
    let disk = Arc::new(MemoryDisk::default());
    config(Options { disk: Some(disk), hash_bits: 0, shard_limit: limit, load_buffer: 100, ..options() })
}

#[track_caller]
fn assert_full<T>(result: Result<T, StoreError>, expected_limit: u64, expected_bytes: u64) {
    match error(result) {
        StoreError::ShardFull { shard: 0, bytes, limit } => {
            assert_eq!((bytes, limit), (expected_bytes, expected_limit))
        }
        other => panic!("another error: {other}"),
    }
}

#[test]
fn a_load_fits_into_a_shard_of_its_very_size_and_not_into_one_of_a_byte_less() {
    let pairs = numbered(200, 1);
    let needed = load(&pairs, &limited(SHARD_LIMIT)).unwrap().statistics().disk_bytes;
    assert_full(load(&pairs, &limited(needed - 1)), needed - 1, needed);
    assert_holds(&load(&pairs, &limited(needed)).unwrap(), &pairs.into_iter().collect());
}

#[test]
fn a_put_into_a_full_shard_is_an_error_and_a_refresh_makes_room() {
    let pairs: Pairs = vec![(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"2".to_vec())];
    let config = limited(24);
    let store = Swapped::<Hybrid>::load(&mut Slice::new(&pairs), &config).unwrap();
    updates(&store).put(b"a", b"3").unwrap();
    assert_full(updates(&store).put(b"a", b"4"), 24, 32);
    assert_full(updates(&store).put(b"new", b""), 24, 40);
    assert_eq!(store.current().statistics().errors, 2);
    let mut expected = pairs.iter().cloned().collect::<crate::Model>();
    expected.insert(b"a".to_vec(), b"3".to_vec());
    assert_holds(&store, &expected);
    let next: Pairs = expected.clone().into_iter().collect();
    store.refresh(&mut Slice::new(&next), &config).unwrap();
    updates(&store).put(b"a", b"4").unwrap();
    expected.insert(b"a".to_vec(), b"4".to_vec());
    assert_holds(&store, &expected);
}

/// A load that fails with a full shard keeps what is served.
#[test]
fn a_refresh_that_fills_a_shard_leaves_the_old_contents_serving() {
    let (pairs, config) = (numbered(20, 1), limited(6000));
    let store = Swapped::<Hybrid>::load(&mut Slice::new(&pairs), &config).unwrap();
    let larger = numbered(200, 2);
    assert!(matches!(
        store.refresh(&mut Slice::new(&larger), &config),
        Err(StoreError::ShardFull { shard: 0, limit: 6000, .. })
    ));
    assert_holds(&store, &pairs.into_iter().collect());
}

const MIB: usize = 1 << 20;

/// Bytes of a record beside key and value, when the value is long: checksum and lengths of one and three bytes.
const AROUND: usize = 8;

/// Records of 1 MiB each under keys of three bytes, the last one shorter: 24 bytes less than offsets reach in all.
struct Long {
    next: u8,
    key: Vec<u8>,
    value: Vec<u8>,
}

const LONG_RECORDS: u8 = 128;

fn long_key(number: u8) -> Vec<u8> {
    format!("{number:03}").into_bytes()
}

fn long_length(number: u8) -> usize {
    let record = if number == LONG_RECORDS - 1 { MIB - 32 } else { MIB };
    record - AROUND - 3
}

impl Items for Long {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        if self.next == LONG_RECORDS {
            return Ok(None);
        }
        self.key = long_key(self.next);
        self.value.clear();
        self.value.resize(long_length(self.next), self.next);
        self.next += 1;
        Ok(Some(Item { key: &self.key, value: &self.value }))
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn offsets_work_up_to_the_very_end_of_128_mib_and_no_further() {
    let directory = tempfile::tempdir().unwrap();
    for access in [Access::Pread, Access::Mmap, Access::Direct] {
        let disk = open(access, Some(directory.path()));
        if disk.create(0).is_err() {
            eprintln!("skipped: {access:?} does not work in {}", directory.path().display());
            continue;
        }
        let limit = Options { shard_limit: u64::MAX, hash_bits: 0, resident_items: 0, ..options() };
        let long = &mut Long { next: 0, key: Vec::new(), value: Vec::new() };
        let store = Hybrid::load(long, &config(Options { disk: Some(disk), ..limit })).unwrap();
        assert_eq!(store.statistics().disk_bytes, SHARD_LIMIT - 24);
        assert_full(updates(&store).put(b"too long", &[0; 11]), SHARD_LIMIT, SHARD_LIMIT + 8);
        updates(&store).put(b"near", b"sixth.").unwrap();
        // The smallest record of all, in the last place that has an offset.
        updates(&store).put(b"e", b"!").unwrap();
        assert_eq!(store.statistics().disk_bytes, SHARD_LIMIT);
        assert_full(updates(&store).put(b"e", b"?"), SHARD_LIMIT, SHARD_LIMIT + 8);
        assert_eq!(get(&store, b"near").unwrap().as_deref(), Some(&b"sixth."[..]));
        assert_eq!(get(&store, b"e").unwrap().as_deref(), Some(&b"!"[..]));
        for number in [0, 1, LONG_RECORDS - 2, LONG_RECORDS - 1] {
            let whole = |value: &[u8]| value.len() == long_length(number) && value.iter().all(|byte| *byte == number);
            assert_eq!(store.reader().get(&long_key(number), whole).unwrap(), Some(true), "{access:?}, {number}");
        }
        store.check().unwrap();
    }
}
