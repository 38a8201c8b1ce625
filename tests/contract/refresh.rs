//! `Swapped`: readers beside refreshes, and what becomes of the old copy.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;

use larder::items::{Items, Slice};
use larder::registry::Row;
use larder::store::flat_map::{FlatMap, FlatMapReader};
use larder::store::swapped::Swapped;
use larder::store::{Config, Footprint, Reader, Store, StoreError};
use parking_lot::Mutex;

use crate::{Pairs, config, for_each_store, get, load};

const KEYS: u64 = 50;
const GENERATIONS: u64 = if cfg!(miri) { 5 } else { 100 };

/// Every value carries the number of its generation; odd generations lack the key `even`.
fn generation(number: u64) -> Pairs {
    let keys = (0..KEYS).map(|key| format!("key{key}").into_bytes());
    let even = number.is_multiple_of(2).then(|| b"even".to_vec());
    keys.chain(even).map(|key| (key, number.to_le_bytes().to_vec())).collect()
}

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(value.try_into().expect("a whole value"))
}

#[test]
fn a_reader_never_sees_an_older_generation_after_a_newer_one() {
    fn check<S: Store>(_row: &Row) {
        let store: Swapped<S> = load(&generation(0));
        let done = AtomicBool::new(false);
        let seen = thread::scope(|scope| {
            let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| watch(&store, &done))).collect();
            for number in 1..=GENERATIONS {
                store.refresh(&mut Slice::new(&generation(number)), &config()).unwrap();
            }
            done.store(true, SeqCst);
            readers.into_iter().map(|reader| reader.join().expect("a reader saw a mix")).collect::<Vec<_>>()
        });
        assert!(seen.iter().all(|last| *last == GENERATIONS), "{seen:?}");
    }
    for_each_store!(check);
}

/// Reads all keys over and over until the refreshes are done and once more; returns the last generation seen.
fn watch<S: Store>(store: &Swapped<S>, done: &AtomicBool) -> u64 {
    let (mut reader, mut newest) = (store.reader(), 0);
    loop {
        let last_round = done.load(SeqCst);
        for key in 0..KEYS {
            let found = reader.get(format!("key{key}").as_bytes(), number).unwrap().expect("every generation has it");
            assert!(found >= newest, "generation {found} after {newest}");
            newest = found;
        }
        if let Some(found) = reader.get(b"even", number).unwrap() {
            assert!(found >= newest && found.is_multiple_of(2), "a mix: `even` of generation {found} after {newest}");
            newest = found;
        }
        if last_round {
            return newest;
        }
    }
}

/// A `flat-map` that counts its living copies and the loads that are under way. The counts are the process's, so that
/// tests which use it take turns.
struct Counted(FlatMap);

static ALIVE: AtomicUsize = AtomicUsize::new(0);
static LOADING: AtomicUsize = AtomicUsize::new(0);
static MOST_LOADING: AtomicUsize = AtomicUsize::new(0);
static TURN: Mutex<()> = Mutex::new(());

impl Store for Counted {
    type Reader<'a> = FlatMapReader<'a>;

    fn load(items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        MOST_LOADING.fetch_max(LOADING.fetch_add(1, SeqCst) + 1, SeqCst);
        let store = FlatMap::load(items, config);
        thread::yield_now();
        LOADING.fetch_sub(1, SeqCst);
        let store = store?;
        ALIVE.fetch_add(1, SeqCst);
        Ok(Self(store))
    }

    fn reader(&self) -> FlatMapReader<'_> {
        self.0.reader()
    }

    fn entries(&self) -> u64 {
        self.0.entries()
    }

    fn footprint(&self) -> Footprint {
        self.0.footprint()
    }

    fn check(&self) -> Result<(), StoreError> {
        self.0.check()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, SeqCst);
    }
}

#[test]
fn an_idle_reader_does_not_keep_the_old_copy_alive() {
    let _turn = TURN.lock();
    let store: Swapped<Counted> = load(&generation(0));
    let mut reader = store.reader();
    assert_eq!(reader.get(b"key1", number).unwrap(), Some(0));
    store.refresh(&mut Slice::new(&generation(1)), &config()).unwrap();
    assert_eq!(ALIVE.load(SeqCst), 1);
    assert_eq!(reader.get(b"key1", number).unwrap(), Some(1));
    drop(store);
    assert_eq!(ALIVE.load(SeqCst), 0);
}

#[test]
fn the_old_copy_is_freed_when_its_last_get_ends() {
    let _turn = TURN.lock();
    let store: Swapped<Counted> = load(&generation(0));
    let (entered, enters) = mpsc::channel();
    let (leave, leaves) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let slow_get = scope.spawn(|| {
            let (entered, leaves) = (entered, leaves);
            let visit = |value: &[u8]| {
                entered.send(()).unwrap();
                leaves.recv().unwrap();
                number(value)
            };
            store.reader().get(b"key1", visit).unwrap()
        });
        enters.recv().unwrap();
        store.refresh(&mut Slice::new(&generation(1)), &config()).unwrap();
        assert_eq!(ALIVE.load(SeqCst), 2, "a get is still reading the old copy");
        assert_eq!(get(&store, b"key1").as_deref().map(number), Some(1));
        leave.send(()).unwrap();
        assert_eq!(slow_get.join().unwrap(), Some(0), "the get that was under way saw the contents it started on");
        assert_eq!(ALIVE.load(SeqCst), 1, "the last get on the old copy has ended");
    });
}

#[test]
fn refreshes_wait_for_each_other() {
    let _turn = TURN.lock();
    let store: Swapped<Counted> = load(&[]);
    MOST_LOADING.store(0, SeqCst);
    thread::scope(|scope| {
        for first in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..10 {
                    store.refresh(&mut Slice::new(&generation(first * 10 + number)), &config()).unwrap();
                }
            });
        }
    });
    assert_eq!((MOST_LOADING.load(SeqCst), ALIVE.load(SeqCst)), (1, 1));
    let numbers: BTreeSet<u64> =
        (0..KEYS).map(|key| number(&get(&store, format!("key{key}").as_bytes()).unwrap())).collect();
    assert_eq!(numbers.len(), 1, "values of several generations: {numbers:?}");
}
