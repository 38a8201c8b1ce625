//! Threads that meet: readers, writers and refreshes at once, reads that are shared, reads that hang.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use larder::items::Slice;
use larder::store::hybrid::clock::Manual;
use larder::store::hybrid::{Hybrid, Options, Scope};
use larder::store::swapped::Swapped;
use larder::store::{Config, Reader, Store};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::memory_disk::{MemoryDisk, Outcome};
use crate::{Model, Pairs, assert_holds, config, get, load, options, updates};

const READERS: u64 = 4;
const WRITERS: u64 = 3;
const KEYS_OF_A_WRITER: u64 = 30;
const GETS: u64 = if cfg!(miri) { 60 } else { 15_000 };
const UPDATES: u64 = if cfg!(miri) { 40 } else { 6_000 };
const REFRESHES: u64 = if cfg!(miri) { 2 } else { 25 };

/// A key that nobody updates; its value tells the generation of the contents.
const GENERATION: &[u8] = b"generation";

fn key(writer: u64, number: u64) -> Vec<u8> {
    format!("writer{writer}.key{number}").into_bytes()
}

/// What a value says of itself: which contents it belongs to, and which put of its key in them. Loaded values are number 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    generation: u64,
    put: u64,
}

/// The key, and behind it the version as often as the version says: a value that is torn, or of another key, shows.
fn value(key: &[u8], version: Version) -> Vec<u8> {
    let one = [version.generation.to_le_bytes(), version.put.to_le_bytes()].concat();
    [key, &one.repeat(1 + (version.put % 50) as usize)].concat()
}

fn version(key: &[u8], found: &[u8]) -> Version {
    let rest = found.strip_prefix(key).unwrap_or_else(|| panic!("{found:?} was never put for {key:?}"));
    let number = |at: usize| u64::from_le_bytes(*rest[at..].first_chunk().expect("a version"));
    let version = Version { generation: number(0), put: number(8) };
    assert_eq!(found, value(key, version), "a torn value");
    version
}

/// Every key of even number, and so half of them.
fn contents(generation: u64) -> Pairs {
    let loaded = Version { generation, put: 0 };
    let keys = (0..WRITERS).flat_map(|writer| (0..KEYS_OF_A_WRITER).step_by(2).map(move |number| key(writer, number)));
    keys.chain([GENERATION.to_vec()]).map(|key| (key.clone(), value(&key, loaded))).collect()
}

/// What all threads share.
struct Stage {
    store: Swapped<Hybrid>,
    config: Config,
    clock: Arc<Manual>,
    gets: AtomicU64,
}

impl Stage {
    fn get<S: Store>(&self, store: &S, key: &[u8]) -> Option<Version> {
        self.gets.fetch_add(1, SeqCst);
        store.reader().get(key, |found| version(key, found)).unwrap()
    }

    /// What one reader sees of one key never goes back.
    fn read(&self, seed: u64) {
        let mut numbers = StdRng::seed_from_u64(seed);
        let mut seen = BTreeMap::new();
        for _ in 0..GETS {
            let key = key(numbers.random_range(0..WRITERS), numbers.random_range(0..KEYS_OF_A_WRITER));
            let Some(now) = self.get(&self.store, &key) else { continue };
            let last = seen.entry(key).or_insert(now);
            assert!(now >= *last, "{now:?} after {last:?}");
            *last = now;
        }
    }

    /// Nobody else updates these keys, so that the writer knows what it must find in the contents that it updates.
    fn write(&self, writer: u64) {
        let mut numbers = StdRng::seed_from_u64(1000 + writer);
        let (mut current, mut expected) = (self.store.current(), BTreeMap::new());
        let mut generation = self.generation_of(&current, &mut expected, writer);
        for put in 1..=UPDATES {
            let now = self.store.current();
            if !Arc::ptr_eq(&now, &current) {
                current = now;
                generation = self.generation_of(&current, &mut expected, writer);
            }
            let key = key(writer, numbers.random_range(0..KEYS_OF_A_WRITER));
            if numbers.random_bool(0.6) {
                let version = Version { generation, put };
                updates(&*current).put(&key, &value(&key, version)).unwrap();
                expected.insert(key.clone(), version);
            } else {
                assert_eq!(updates(&*current).remove(&key).unwrap(), expected.remove(&key).is_some());
            }
            assert_eq!(self.get(&*current, &key), expected.get(&key).copied());
        }
    }

    fn generation_of(&self, store: &Hybrid, expected: &mut BTreeMap<Vec<u8>, Version>, writer: u64) -> u64 {
        let generation = self.get(store, GENERATION).expect("every generation has the key").generation;
        let loaded = Version { generation, put: 0 };
        *expected = (0..KEYS_OF_A_WRITER).step_by(2).map(|number| (key(writer, number), loaded)).collect();
        generation
    }

    fn refresh(&self) {
        for generation in 1..=REFRESHES {
            self.clock.advance(Duration::from_millis(600));
            self.store.refresh(&mut Slice::new(&contents(generation)), &self.config).unwrap();
        }
    }
}

fn stage(options: Options) -> Stage {
    let clock = Arc::new(Manual::default());
    let disk = Arc::new(MemoryDisk::default());
    let config = config(Options { clock: Some(clock.clone()), disk: Some(disk), ..options });
    let store = Swapped::load(&mut Slice::new(&contents(0)), &config).unwrap();
    Stage { store, config, clock, gets: AtomicU64::new(0) }
}

#[test]
fn beside_writers_and_refreshes_a_reader_sees_whole_values_of_its_key_that_never_go_back() {
    for (scope, hash_bits, resident_items) in
        [(Scope::TimedGlobal, 16, 5), (Scope::ExactGlobal, 8, 3), (Scope::PerShard, 0, 2), (Scope::TimedGlobal, 0, 30)]
    {
        let stage = stage(Options { scope, hash_bits, resident_items, ..Options::default() });
        thread::scope(|scope| {
            let stage = &stage;
            (0..READERS).for_each(|reader| drop(scope.spawn(move || stage.read(reader))));
            (0..WRITERS).for_each(|writer| drop(scope.spawn(move || stage.write(writer))));
            scope.spawn(|| stage.refresh());
        });
        let store = stage.store.current();
        store.check().unwrap();
        let statistics = store.statistics();
        let answered = statistics.hits + statistics.misses + statistics.negatives;
        assert_eq!((answered, statistics.errors), (stage.gets.into_inner(), 0));
        assert_eq!(statistics.misses, statistics.miss_latency.iter().map(|bucket| bucket.count).sum::<u64>());
        assert_eq!(statistics.disk_items.iter().sum::<u64>(), store.entries());
        assert!(statistics.resident_items <= resident_items as u64);
        assert!(statistics.hits > 0 && statistics.misses > 0 && statistics.evictions > 0, "{statistics:?}");
    }
}

/// Lets the first read of a disk hang until the test says.
#[derive(Clone)]
struct Hanging {
    begun: Arc<Barrier>,
    released: Arc<Barrier>,
}

impl Hanging {
    fn first_read_of(disk: &MemoryDisk, outcome: Outcome) -> Self {
        let hanging = Self { begun: Arc::new(Barrier::new(2)), released: Arc::new(Barrier::new(2)) };
        let told = hanging.clone();
        disk.reads.decide(move |read| {
            if read > 0 {
                return Outcome::Whole;
            }
            told.begun.wait();
            told.released.wait();
            outcome
        });
        hanging
    }
}

/// Waits until a thread that is about to ask the store sleeps: it waits for the read of another.
fn wait_until_asleep(thread: &AtomicU64) {
    let asleep = || {
        let path = format!("/proc/self/task/{}/stat", thread.load(SeqCst));
        let stat = std::fs::read_to_string(path).unwrap_or_default();
        // Behind the name in parentheses stands the state.
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
    };
    while !asleep() {
        thread::yield_now();
    }
}

fn own_number() -> u64 {
    // SAFETY: gettid has no conditions.
    unsafe { libc::gettid() as u64 }
}

/// What a get told: the value, or the error's message.
type Answer = Result<Option<Vec<u8>>, String>;

/// One entry that has no copy and gets none, and two threads that ask for it at once.
fn asked_twice(first_read: Outcome) -> (MemoryDisk, Hybrid, [Answer; 2]) {
    let disk = MemoryDisk::default();
    let options = Options { disk: Some(Arc::new(disk.clone())), resident_items: 0, ..options() };
    let store = load(&[(b"key".to_vec(), b"value".to_vec())], &config(options)).unwrap();
    let hanging = Hanging::first_read_of(&disk, first_read);
    let second = AtomicU64::new(0);
    let ask = || get(&store, b"key").map_err(|error| error.to_string());
    let answers = thread::scope(|scope| {
        let leader = scope.spawn(ask);
        hanging.begun.wait();
        let waiter = scope.spawn(|| {
            second.store(own_number(), SeqCst);
            ask()
        });
        wait_until_asleep(&second);
        hanging.released.wait();
        [leader.join().unwrap(), waiter.join().unwrap()]
    });
    (disk, store, answers)
}

#[test]
#[cfg_attr(miri, ignore = "asks the system for the state of a thread")]
fn two_threads_that_miss_the_same_key_read_it_once() {
    let (disk, store, answers) = asked_twice(Outcome::Whole);
    assert_eq!(answers, [Ok(Some(b"value".to_vec())), Ok(Some(b"value".to_vec()))]);
    assert_eq!(disk.reads.count(), 1);
    let statistics = store.statistics();
    assert_eq!((statistics.misses, statistics.reads, statistics.hits), (2, 1, 0));
}

#[test]
#[cfg_attr(miri, ignore = "asks the system for the state of a thread")]
fn who_waited_for_a_read_that_failed_reads_for_itself() {
    let (disk, store, [leader, waiter]) = asked_twice(Outcome::Fails(libc::EIO));
    assert!(leader.unwrap_err().contains("at offset 0"));
    assert_eq!(waiter, Ok(Some(b"value".to_vec())));
    assert_eq!(disk.reads.count(), 2);
    assert_eq!((store.statistics().misses, store.statistics().errors), (1, 1));
}

#[test]
fn while_one_read_hangs_everything_else_of_its_shard_goes_on_and_no_copy_is_of_the_past() {
    let disk = MemoryDisk::default();
    let options = Options { disk: Some(Arc::new(disk.clone())), hash_bits: 0, ..options() };
    let pairs: Pairs = (0..6).map(|at| (vec![at], vec![at; 9])).collect();
    let mut expected: Model = pairs.iter().cloned().collect();
    let store = load(&pairs, &config(options)).unwrap();
    get(&store, &[1]).unwrap();
    let hanging = Hanging::first_read_of(&disk, Outcome::Whole);
    let found = thread::scope(|scope| {
        let slow = scope.spawn(|| get(&store, &[0]));
        hanging.begun.wait();
        assert_eq!(get(&store, &[1]).unwrap(), Some(vec![1; 9]), "a copy");
        assert_eq!(get(&store, &[2]).unwrap(), Some(vec![2; 9]), "a read");
        updates(&store).put(&[3], b"new").unwrap();
        assert!(updates(&store).remove(&[4]).unwrap());
        updates(&store).put(&[0], b"newer than what is being read").unwrap();
        assert_eq!(get(&store, &[0]).unwrap(), Some(b"newer than what is being read".to_vec()));
        hanging.released.wait();
        slow.join().unwrap().unwrap()
    });
    assert_eq!(found, Some(vec![0; 9]), "the read began before the put");
    expected.insert(vec![3], b"new".to_vec());
    expected.insert(vec![0], b"newer than what is being read".to_vec());
    expected.remove(&vec![4]);
    assert_holds(&store, &expected);
}

#[test]
fn a_key_removed_while_it_is_read_stays_removed() {
    let disk = MemoryDisk::default();
    let options = Options { disk: Some(Arc::new(disk.clone())), ..options() };
    let store = load(&[(b"key".to_vec(), b"value".to_vec())], &config(options)).unwrap();
    let hanging = Hanging::first_read_of(&disk, Outcome::Whole);
    thread::scope(|scope| {
        let slow = scope.spawn(|| get(&store, b"key").unwrap());
        hanging.begun.wait();
        assert!(updates(&store).remove(b"key").unwrap());
        hanging.released.wait();
        assert_eq!(slow.join().unwrap().as_deref(), Some(&b"value"[..]), "the get began before the remove");
    });
    assert_holds(&store, &Model::new());
    assert_eq!(store.statistics().resident_items, 0);
}

#[test]
fn a_visitor_that_panics_harms_nobody_else() {
    let disk = MemoryDisk::default();
    let options = Options { disk: Some(Arc::new(disk.clone())), ..options() };
    let pairs: Pairs = vec![(b"key".to_vec(), b"value".to_vec())];
    let store = load(&pairs, &config(options)).unwrap();
    let visited = AtomicBool::new(false);
    // The first is a miss, the second a copy.
    for _ in 0..2 {
        let visit = |_: &[u8]| {
            visited.store(true, SeqCst);
            std::panic::resume_unwind(Box::new("the visitor's own"));
        };
        let panicked = catch_unwind(AssertUnwindSafe(|| store.reader().get(b"key", visit)));
        assert!(panicked.is_err() && visited.swap(false, SeqCst));
    }
    assert_eq!((store.statistics().misses, store.statistics().hits), (1, 1));
    updates(&store).put(b"key", b"new").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(get(&store, b"key").unwrap().as_deref(), Some(&b"new"[..])));
    });
    store.check().unwrap();
}
