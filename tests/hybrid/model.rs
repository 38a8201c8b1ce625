//! Random operations on the store and on a `BTreeMap`, with so few bits of hash that collisions are everywhere.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use larder::items::Slice;
use larder::store::hybrid::clock::Manual;
use larder::store::hybrid::disk::{Access, Disk, open};
use larder::store::hybrid::{Hybrid, Options, Scope};
use larder::store::swapped::Swapped;
use larder::store::{Config, Store};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::memory_disk::MemoryDisk;
use crate::{Model, Pairs, assert_holds, config, get, updates};

const SCOPES: [Scope; 3] = [Scope::TimedGlobal, Scope::ExactGlobal, Scope::PerShard];

/// Limits of a resident tier: entries, and bytes if there is a limit.
const TIERS: [(usize, Option<u64>); 4] = [(0, None), (1, None), (7, None), (40, Some(400))];

/// Bits of hash, and keys enough for collisions among them.
const HASHES: [(u32, u32); 3] = [(16, 3000), (8, 700), (0, 150)];

const STEPS: u32 = if cfg!(miri) { 60 } else { 3000 };

fn key(number: u32) -> Vec<u8> {
    format!("key{number}").into_bytes()
}

/// A store and what it should hold.
struct Run {
    store: Swapped<Hybrid>,
    model: Model,
    config: Config,
    clock: Arc<Manual>,
    numbers: StdRng,
    keys: u32,
    gets: u64,
}

impl Run {
    fn new(seed: u64, keys: u32, disk: Arc<dyn Disk>, options: Options) -> Self {
        let (clock, mut numbers) = (Arc::new(Manual::default()), StdRng::seed_from_u64(seed));
        let config = config(Options { clock: Some(clock.clone()), disk: Some(disk), load_buffer: 200, ..options });
        let pairs = pairs(&mut numbers, keys);
        let store = Swapped::load(&mut Slice::new(&pairs), &config).unwrap();
        Self { store, model: pairs.into_iter().collect(), config, clock, numbers, keys, gets: 0 }
    }

    /// Half of all steps go to a few hot keys, so that a tiny tier is of use.
    fn any_key(&mut self) -> Vec<u8> {
        let keys = if self.numbers.random_bool(0.5) { 12 } else { self.keys };
        key(self.numbers.random_range(0..keys))
    }

    fn step(&mut self) {
        let key = self.any_key();
        match self.numbers.random_range(0..1000) {
            0 => self.refresh(),
            1..20 => self.clock.advance(Duration::from_millis(self.numbers.random_range(0..1500))),
            20..200 => {
                let value = value(&mut self.numbers);
                updates(&self.store).put(&key, &value).unwrap();
                self.model.insert(key.clone(), value);
                self.compare(&key);
            }
            200..350 => {
                assert_eq!(updates(&self.store).remove(&key).unwrap(), self.model.remove(&key).is_some());
                self.compare(&key);
            }
            _ => self.compare(&key),
        }
    }

    fn compare(&mut self, key: &[u8]) {
        self.gets += 1;
        assert_eq!(get(&self.store, key).unwrap().as_ref(), self.model.get(key), "{}", String::from_utf8_lossy(key));
    }

    fn refresh(&mut self) {
        let pairs = pairs(&mut self.numbers, self.keys);
        self.store.refresh(&mut Slice::new(&pairs), &self.config).unwrap();
        self.model = pairs.into_iter().collect();
    }

    fn run(mut self, tier: (usize, Option<u64>)) {
        for phase in 0..3 {
            (0..STEPS / 3).for_each(|_| self.step());
            let statistics = self.store.current().statistics();
            assert_eq!(statistics.hits + statistics.misses + statistics.negatives, self.gets, "phase {phase}");
            assert!(statistics.resident_items <= tier.0 as u64);
            assert!(tier.1.is_none_or(|bytes| statistics.resident_bytes <= bytes));
            assert!(
                statistics.fallback_items > 0 && statistics.collisions > 0,
                "there were no collisions to get wrong"
            );
            assert_eq!(statistics.errors, 0);
            assert_holds(&self.store, &self.model);
            self.gets += self.model.len() as u64 + 20;
            self.refresh();
            assert_holds(&self.store, &self.model);
            self.gets += self.model.len() as u64 + 20;
        }
    }
}

/// Two thirds of the keys, some of them twice: the last one wins.
fn pairs(numbers: &mut StdRng, keys: u32) -> Pairs {
    (0..keys).map(|_| (key(numbers.random_range(0..keys)), value(numbers))).collect()
}

fn value(numbers: &mut StdRng) -> Vec<u8> {
    let longest = if numbers.random_bool(0.02) { 2000 } else { 60 };
    let length = numbers.random_range(0..longest);
    vec![numbers.random(); length]
}

#[test]
fn with_collisions_everywhere_every_answer_agrees_with_a_btree_map() {
    for (seed, scope) in SCOPES.into_iter().enumerate() {
        for (resident_items, resident_bytes) in TIERS {
            for (hash_bits, keys) in HASHES {
                eprintln!("{scope:?}, {resident_items} resident, {hash_bits} bits");
                let options = Options { scope, resident_items, resident_bytes, hash_bits, ..Options::default() };
                let disk = Arc::new(MemoryDisk::default());
                Run::new(seed as u64, keys, disk, options).run((resident_items, resident_bytes));
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn on_files_of_each_kind_every_answer_agrees_with_a_btree_map() {
    let directory = tempfile::tempdir().unwrap();
    for access in [Access::Pread, Access::Mmap, Access::Direct] {
        if !works(access, directory.path()) {
            eprintln!("skipped: {access:?} does not work in {}", directory.path().display());
            continue;
        }
        // Making files is what takes the time here: few shards.
        for (hash_bits, keys) in [(8, 60), (0, 150)] {
            let options = Options { resident_items: 7, hash_bits, ..Options::default() };
            Run::new(7, keys, open(access, Some(directory.path())), options).run((7, None));
        }
    }
}

fn works(access: Access, directory: &Path) -> bool {
    open(access, Some(directory)).create(0).is_ok()
}
