//! `flat-map`: one hash map of key bytes to value bytes behind one reader-writer lock; two heap blocks per entry.
//!
//! The plainest thing that works, and what "Inside Uber's hybrid cache" replaced `sync.Map` by first: a map and an
//! `RWMutex`. It should win wherever readers are few or gets are long against the lock, and lose to lock-free reads
//! when many threads write the lock's reader count to the same cache line.
//!
//! The table grows as entries come, without a reservation, even where the source knows how many are coming: a loader in
//! Go that fills a map from a file does the same, and every design here follows that policy, so that tables of equal
//! entry counts have equal slot counts.
//!
//! A get holds the read lock while the visitor looks at the value. A visitor that updates the same store deadlocks.

use std::mem;

use hashbrown::HashTable;
use parking_lot::RwLock;

use crate::items::Items;
use crate::store::hash::KeyHash;
use crate::store::{Config, Footprint, Reader, Store, StoreError, Update};

/// See the module's documentation.
pub struct FlatMap {
    hash: KeyHash,
    pairs: RwLock<HashTable<Pair>>,
}

/// 32 bytes of a table slot: two fat pointers. Boxed slices, because a `String` grown by pushing keeps spare capacity.
struct Pair {
    key: Box<[u8]>,
    value: Box<[u8]>,
}

impl Store for FlatMap {
    type Reader<'a> = FlatMapReader<'a>;

    const TAKES_UPDATES: bool = true;

    fn load(items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        let hash = KeyHash::new(config.seed);
        let mut pairs = HashTable::new();
        while let Some(item) = items.next_item()? {
            insert(&mut pairs, &hash, item.key, item.value.into());
        }
        Ok(Self { hash, pairs: RwLock::new(pairs) })
    }

    fn reader(&self) -> FlatMapReader<'_> {
        FlatMapReader { store: self }
    }

    fn entries(&self) -> u64 {
        self.pairs.read().len() as u64
    }

    /// Walks every entry under the read lock.
    fn footprint(&self) -> Footprint {
        let pairs = self.pairs.read();
        let mut footprint = Footprint { index: pairs.allocation_size() as u64, ..Footprint::default() };
        for pair in pairs.iter() {
            footprint.keys += pair.key.len() as u64;
            footprint.values += pair.value.len() as u64;
        }
        footprint
    }

    fn check(&self) -> Result<(), StoreError> {
        let pairs = self.pairs.read();
        for pair in pairs.iter() {
            let found = find(&pairs, &self.hash, &pair.key);
            if !found.is_some_and(|found| std::ptr::eq(found, pair)) {
                return Err(StoreError::Damaged(format!("flat-map: key {:?} is not found at its place", pair.key)));
            }
        }
        Ok(())
    }

    fn updates(&self) -> Option<&dyn Update> {
        Some(self)
    }
}

impl FlatMap {
    /// Adds the key or replaces its value: [`Update::put`], which can't fail here.
    pub fn set(&self, key: &[u8], value: &[u8]) {
        let value = value.into();
        // The replaced value is freed after the lock is given back.
        let _replaced = insert(&mut self.pairs.write(), &self.hash, key, value);
    }
}

impl Update for FlatMap {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.set(key, value);
        Ok(())
    }

    fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        let removed = {
            let mut pairs = self.pairs.write();
            let found = pairs.find_entry(self.hash.of(key), |pair| *pair.key == *key);
            found.ok().map(|entry| entry.remove().0)
        };
        Ok(removed.is_some())
    }
}

/// Adds the key or replaces its value; returns the value that was replaced.
fn insert(pairs: &mut HashTable<Pair>, hash: &KeyHash, key: &[u8], value: Box<[u8]>) -> Option<Box<[u8]>> {
    let hashed = hash.of(key);
    if let Some(pair) = pairs.find_mut(hashed, |pair| *pair.key == *key) {
        return Some(mem::replace(&mut pair.value, value));
    }
    pairs.insert_unique(hashed, Pair { key: key.into(), value }, |pair| hash.of(&pair.key));
    None
}

#[inline]
fn find<'a>(pairs: &'a HashTable<Pair>, hash: &KeyHash, key: &[u8]) -> Option<&'a Pair> {
    pairs.find(hash.of(key), |pair| *pair.key == *key)
}

/// Takes the read lock for each get.
pub struct FlatMapReader<'a> {
    store: &'a FlatMap,
}

impl Reader for FlatMapReader<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        let pairs = self.store.pairs.read();
        Ok(find(&pairs, &self.store.hash, key).map(|pair| visit(&pair.value)))
    }
}
