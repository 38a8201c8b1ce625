//! `packed`: one heap block per entry, holding key and value behind their lengths, in a table of one-word pointers.
//!
//! The table keeps neither key nor hash: it hashes again from the record when it grows. Against `flat-map` that saves a
//! block, and 24 of the slot's 32 bytes, which count for every empty slot too. It should win on memory at every size,
//! and on a hit's cache misses (slot, then one block); it loses when it grows, because every record is then read again.
//!
//! The lock, and growth without a reservation, are as in `flat-map`, so that the two differ in layout alone.

pub(in crate::store) mod record;

use std::mem;

use hashbrown::HashTable;
use parking_lot::RwLock;

use self::record::Record;
use crate::items::Items;
use crate::store::hash::KeyHash;
use crate::store::{Config, Footprint, Reader, Store, StoreError, Update};

/// See the module's documentation.
pub struct Packed {
    hash: KeyHash,
    records: RwLock<HashTable<Record>>,
}

impl Store for Packed {
    type Reader<'a> = PackedReader<'a>;

    const TAKES_UPDATES: bool = true;

    fn load(items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        let hash = KeyHash::new(config.seed);
        let mut records = HashTable::new();
        while let Some(item) = items.next_item()? {
            insert(&mut records, &hash, Record::new(item.key, item.value)?);
        }
        Ok(Self { hash, records: RwLock::new(records) })
    }

    fn reader(&self) -> PackedReader<'_> {
        PackedReader { store: self }
    }

    fn entries(&self) -> u64 {
        self.records.read().len() as u64
    }

    /// Walks every entry under the read lock.
    fn footprint(&self) -> Footprint {
        let records = self.records.read();
        let mut footprint = Footprint { index: records.allocation_size() as u64, ..Footprint::default() };
        for record in records.iter() {
            let (key, value) = (record.key().len(), record.value().len());
            footprint.keys += key as u64;
            footprint.values += value as u64;
            footprint.overhead += (record.size() - key - value) as u64;
        }
        footprint
    }

    fn check(&self) -> Result<(), StoreError> {
        let records = self.records.read();
        for record in records.iter() {
            let found = find(&records, &self.hash, record.key());
            if !found.is_some_and(|found| std::ptr::eq(found, record)) {
                return Err(StoreError::Damaged(format!("packed: key {:?} is not found at its place", record.key())));
            }
        }
        Ok(())
    }

    fn updates(&self) -> Option<&dyn Update> {
        Some(self)
    }
}

impl Update for Packed {
    /// Key and value share a block, so that a new value means a new block for both.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let record = Record::new(key, value)?;
        // The replaced record is freed after the lock is given back.
        let _replaced = insert(&mut self.records.write(), &self.hash, record);
        Ok(())
    }

    fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        let removed = {
            let mut records = self.records.write();
            let found = records.find_entry(self.hash.of(key), |record| record.key() == key);
            found.ok().map(|entry| entry.remove().0)
        };
        Ok(removed.is_some())
    }
}

/// Adds the record, or puts it into the place of the one with the same key, which is returned.
fn insert(records: &mut HashTable<Record>, hash: &KeyHash, record: Record) -> Option<Record> {
    let hashed = hash.of(record.key());
    if let Some(present) = records.find_mut(hashed, |present| present.key() == record.key()) {
        return Some(mem::replace(present, record));
    }
    records.insert_unique(hashed, record, |record| hash.of(record.key()));
    None
}

#[inline]
fn find<'a>(records: &'a HashTable<Record>, hash: &KeyHash, key: &[u8]) -> Option<&'a Record> {
    records.find(hash.of(key), |record| record.key() == key)
}

/// Takes the read lock for each get.
pub struct PackedReader<'a> {
    store: &'a Packed,
}

impl Reader for PackedReader<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        let records = self.store.records.read();
        Ok(find(&records, &self.store.hash, key).map(|record| visit(record.value())))
    }
}
