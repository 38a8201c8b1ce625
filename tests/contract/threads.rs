//! Readers beside writers: what is read is always something that was written, whole.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use larder::registry::Row;
use larder::store::{Reader, Store, Update};

use crate::{Model, Pairs, assert_holds, for_each_store, load};

const WRITERS: u64 = 2;
const READERS: u64 = 2;
const KEYS: u64 = 64;
const STEPS: u64 = if cfg!(miri) { 150 } else { 20_000 };

fn key(writer: u64, number: u64) -> Vec<u8> {
    format!("writer{writer}.key{number}").into_bytes()
}

/// The key, and behind it the version, as often as the version says: a value that is torn, or of another key, shows.
fn value(key: &[u8], version: u64) -> Vec<u8> {
    let versions = version.to_le_bytes().repeat(1 + (version % 40) as usize);
    [key, &versions].concat()
}

fn assert_whole(key: &[u8], found: &[u8]) {
    let version = found.strip_prefix(key).and_then(|rest| rest.first_chunk()).map(|bytes| u64::from_le_bytes(*bytes));
    let version = version.unwrap_or_else(|| panic!("{found:?} was never put for {key:?}"));
    assert_eq!(found, value(key, version), "a torn value");
}

/// A small generator of pseudo-random numbers (the constants are those of Knuth's MMIX), so that threads need no crate.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn a_value_read_beside_writers_is_one_that_was_put_for_this_key() {
    fn check<S: Store>(row: &Row) {
        if !row.takes_updates {
            return;
        }
        // Half of the keys are there from the start, half are new when they are first put.
        let first: Pairs = (0..WRITERS)
            .flat_map(|writer| (0..KEYS / 2).map(move |number| key(writer, number)))
            .map(|key| (key.clone(), value(&key, 0)))
            .collect();
        let store: S = load(&first);
        let mut model: Model = first.into_iter().collect();
        for written in run(&store) {
            for (key, value) in written {
                match value {
                    Some(value) => model.insert(key, value),
                    None => model.remove(&key),
                };
            }
        }
        assert_holds(&store, &model);
    }
    for_each_store!(check);
}

type Written = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Lets readers and writers loose; returns what each writer wrote, in order.
fn run<S: Store>(store: &S) -> Vec<Written> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for reader in 0..READERS {
            let done = &done;
            scope.spawn(move || read(store, reader, done));
        }
        let updates = store.updates().expect("the row takes updates");
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(updates, writer))).collect();
        let written = writers.into_iter().map(|writer| writer.join());
        let written = written.collect::<Vec<_>>();
        done.store(true, Ordering::Relaxed);
        written.into_iter().map(|written| written.expect("no writer panics")).collect()
    })
}

fn read<S: Store>(store: &S, seed: u64, done: &AtomicBool) {
    let (mut numbers, mut reader) = (Numbers(seed), store.reader());
    while !done.load(Ordering::Relaxed) {
        let key = key(numbers.below(WRITERS), numbers.below(KEYS));
        reader.get(&key, |found| assert_whole(&key, found)).unwrap();
    }
}

/// Each writer has keys of its own, so that it knows what it must find of them.
fn write(updates: &dyn Update, writer: u64) -> Written {
    let mut numbers = Numbers(writer + 1000);
    let mut present: Vec<bool> = (0..KEYS).map(|number| number < KEYS / 2).collect();
    let mut written = Vec::new();
    for version in 1..=STEPS {
        let number = numbers.below(KEYS);
        let key = key(writer, number);
        let put = numbers.below(3) != 0;
        if put {
            let value = value(&key, version);
            updates.put(&key, &value).unwrap();
            written.push((key, Some(value)));
        } else {
            assert_eq!(updates.remove(&key).unwrap(), present[number as usize], "remove of {key:?}");
            written.push((key, None));
        }
        present[number as usize] = put;
    }
    written
}
