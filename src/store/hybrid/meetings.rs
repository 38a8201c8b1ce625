//! What happens where lookup, eviction, update and refresh meet, in thousands of interleavings that shuttle picks. Tests only.
//!
//! The code under test is the store's own; its locks are shuttle's (see [`super::sync`]), and a read from disk lets others go
//! first. A deadlock or a lost wake-up is found as such. Atomics stay the real ones: the hand-over rests on locks.

use std::io;
use std::sync::{Arc, Mutex};

use shuttle::scheduler::RandomScheduler;
use shuttle::{Runner, thread};

use super::clock::Manual;
use super::disk::{Disk, ShardFile};
use super::sync::modelled;
use super::{Hybrid, Options, Scope};
use crate::items::Slice;
use crate::store::{Config, Reader, Store, Update};

/// Each takes about a third of a millisecond.
const INTERLEAVINGS: usize = if cfg!(miri) { 3 } else { 1500 };

const SCOPES: [Scope; 3] = [Scope::TimedGlobal, Scope::ExactGlobal, Scope::PerShard];

#[derive(Debug)]
struct Yielding;

#[derive(Debug, Default)]
struct File(Mutex<Vec<u8>>);

impl Disk for Yielding {
    fn create(&self, _shard: u8) -> io::Result<Box<dyn ShardFile>> {
        Ok(Box::<File>::default())
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

impl ShardFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        thread::yield_now();
        let bytes = self.0.lock().unwrap();
        let found = bytes.get(offset as usize..).unwrap_or_default();
        let copied = found.len().min(buffer.len());
        buffer[..copied].copy_from_slice(&found[..copied]);
        Ok(copied)
    }

    fn write_at(&self, new: &[u8], offset: u64) -> io::Result<usize> {
        let mut bytes = self.0.lock().unwrap();
        bytes.truncate(offset as usize);
        bytes.extend_from_slice(new);
        Ok(new.len())
    }
}

/// One shard and one hash for all keys, or (with all bits) a shard for each.
fn config(scope: Scope, hash_bits: u32, resident_items: usize) -> Config {
    let options = Options {
        scope,
        hash_bits,
        resident_items,
        disk: Some(Arc::new(Yielding)),
        clock: Some(Arc::new(Manual::default())),
        ..Options::default()
    };
    Config { seed: 1, hybrid: options, ..Config::default() }
}

/// Keys `a`, `b` and `c`, each with its own name and this number for a value.
fn contents(number: u8) -> [([u8; 1], [u8; 2]); 3] {
    [b'a', b'b', b'c'].map(|key| ([key], [key, number]))
}

fn load(config: &Config) -> Arc<Hybrid> {
    Arc::new(Hybrid::load(&mut Slice::new(&contents(0)), config).unwrap())
}

/// The number in the value of the key, which must be the key's own.
fn get(store: &Hybrid, key: u8) -> Option<u8> {
    let visit = |value: &[u8]| {
        assert_eq!((value.len(), value[0]), (2, key), "a value of another key");
        value[1]
    };
    store.reader().get(&[key], visit).unwrap()
}

fn put(store: &Hybrid, key: u8, number: u8) {
    store.put(&[key], &[key, number]).unwrap();
}

/// Runs the body in many interleavings, the same ones in every run.
fn explore(body: impl Fn() + Send + Sync + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 17;
    Runner::new(RandomScheduler::new_from_seed(7, INTERLEAVINGS), config).run(move || modelled::model(&body));
}

fn together(store: &Arc<Hybrid>, parts: [fn(&Hybrid); 3]) {
    let start = |part: fn(&Hybrid)| {
        let store = store.clone();
        thread::spawn(move || part(&store))
    };
    for thread in parts.map(start) {
        thread.join().unwrap();
    }
}

#[test]
fn whatever_the_order_of_lookups_updates_and_evictions_nothing_is_lost_or_mixed_up() {
    for (scope, hash_bits) in SCOPES.into_iter().flat_map(|scope| [(scope, 48), (scope, 0)]) {
        explore(move || {
            let store = load(&config(scope, hash_bits, 1));
            get(&store, b'a');
            let reader: fn(&Hybrid) = |store| {
                assert!(matches!(get(store, b'a'), Some(0 | 1)));
                assert!(matches!(get(store, b'b'), None | Some(0 | 1)));
                assert_eq!(get(store, b'c'), Some(0));
            };
            let putter: fn(&Hybrid) = |store| {
                put(store, b'a', 1);
                assert_eq!(get(store, b'a'), Some(1));
            };
            let remover: fn(&Hybrid) = |store| {
                assert!(store.remove(b"b").unwrap());
                assert_eq!(get(store, b'b'), None);
                put(store, b'b', 1);
                assert_eq!(get(store, b'b'), Some(1));
            };
            together(&store, [reader, putter, remover]);
            store.check().unwrap();
            assert_eq!([b'a', b'b', b'c'].map(|key| get(&store, key)), [Some(1), Some(1), Some(0)]);
            assert!(store.statistics().resident_items <= 1);
        });
    }
}

/// A copy that left the order of use is still in its slot when an update empties the slot and a lookup fills it again.
#[test]
fn an_eviction_that_comes_late_takes_no_other_entry_s_copy() {
    explore(|| {
        let store = load(&config(Scope::TimedGlobal, 0, 1));
        get(&store, b'a');
        let evictor: fn(&Hybrid) = |store| assert_eq!(get(store, b'b'), Some(0));
        let updater: fn(&Hybrid) = |store| {
            store.remove(b"a").unwrap();
            put(store, b'a', 1);
        };
        let reader: fn(&Hybrid) = |store| assert_eq!(get(store, b'c'), Some(0));
        together(&store, [evictor, updater, reader]);
        store.check().unwrap();
        assert_eq!([b'a', b'b', b'c'].map(|key| get(&store, key)), [Some(1), Some(0), Some(0)]);
    });
}

#[test]
fn who_asks_for_a_record_that_is_being_read_always_wakes_up_with_the_right_answer() {
    for resident_items in [0, 1] {
        explore(move || {
            let store = load(&config(Scope::TimedGlobal, 0, resident_items));
            let reader: fn(&Hybrid) = |store| assert_eq!(get(store, b'a'), Some(0));
            let absent: fn(&Hybrid) = |store| assert_eq!(get(store, b'z'), None, "a's record is read for its hash");
            together(&store, [reader, absent, reader]);
            let statistics = store.statistics();
            assert_eq!((statistics.hits + statistics.misses, statistics.negatives), (2, 1));
            assert!(statistics.reads <= 3);
            store.check().unwrap();
        });
    }
}

#[test]
fn a_read_that_an_update_overtakes_leaves_no_copy_of_the_past() {
    for hash_bits in [48, 0] {
        explore(move || {
            let store = load(&config(Scope::ExactGlobal, hash_bits, 2));
            let reader: fn(&Hybrid) = |store| {
                let first = get(store, b'a');
                let second = get(store, b'a');
                assert!(second >= first || second.is_none(), "{second:?} after {first:?}");
            };
            let updater: fn(&Hybrid) = |store| {
                put(store, b'a', 1);
                assert!(store.remove(b"a").unwrap());
                put(store, b'a', 2);
            };
            together(&store, [reader, updater, reader]);
            assert_eq!(get(&store, b'a'), Some(2));
            store.check().unwrap();
        });
    }
}

#[test]
fn a_refresh_beside_lookups_and_updates_carries_over_keys_and_never_values() {
    for scope in SCOPES {
        explore(move || {
            let config = config(scope, 0, 2);
            let old = load(&config);
            get(&old, b'a');
            get(&old, b'b');
            let predecessor = old.clone();
            let refresh =
                thread::spawn(move || predecessor.load_successor(&mut Slice::new(&contents(5)), &config).unwrap());
            let reader = old.clone();
            let reader = thread::spawn(move || assert_eq!(get(&reader, b'c'), Some(0)));
            assert!(old.remove(b"a").unwrap());
            put(&old, b'b', 1);
            reader.join().unwrap();
            let successor = refresh.join().unwrap();
            old.check().unwrap();
            successor.check().unwrap();
            assert_eq!([b'a', b'b', b'c'].map(|key| get(&old, key)), [None, Some(1), Some(0)]);
            assert_eq!([b'a', b'b', b'c'].map(|key| get(&successor, key)), [Some(5); 3]);
        });
    }
}
