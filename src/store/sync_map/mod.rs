//! `sync-map`: Go's `sync.Map` as it was up to Go 1.23, rebuilt from its published behaviour; six heap blocks per entry.
//!
//! The store that "Inside Uber's hybrid cache" started from. Its bet: keys are written once and read often, so readers
//! should share nothing but an atomic load. What the bet costs is pointers: the key's string header and bytes, the entry,
//! the entry's `any`, the value's string header and bytes. It should win when many threads read keys that stay, and lose
//! on memory always, and on time whenever new keys come between reads, each of which then takes the lock.
//!
//! What differs from Go:
//! - Memory is reclaimed by epochs (crossbeam-epoch) where Go has its collector. A get pins an epoch, which Go's does not;
//!   Go's pays for its collector elsewhere. Blocks per entry are the same.
//! - A get looks the key up as bytes. Go converts it to an interface value first, at times with an allocation.
//! - Tables are hashbrown's, with Go's 24-byte slots. Go's own buckets cost about as much (52 against 55 bytes per entry
//!   at 500,000 entries).
//!
//! A load goes the way a Go program goes, key by key through [`Update::put`], with no room reserved. That leaves every key
//! in the dirty map, and the next reads, as many as there are keys, would take the lock. The load therefore ends with the
//! promotion that a Go program gets from calling `Range` once; what is measured afterwards is the steady state.

mod boxes;
mod check;
mod entry;
mod handles;
mod map;
mod slot;

use crossbeam_epoch::Guard;

use self::handles::{Handle, Handles};
use self::map::{Locked, Map, ReadOnly, for_each_slot};
use self::slot::{DELETED_OVERHEAD, OVERHEAD, Slot};
use crate::items::Items;
use crate::store::hash::KeyHash;
use crate::store::{Config, Footprint, Reader, Store, StoreError, Update};

/// See the module's documentation.
pub struct SyncMap {
    // Dropped first: what it still holds is freed before the collector that its garbage went to.
    map: Map,
    handles: Handles,
}

impl SyncMap {
    /// Lends `visit` the value that the key has, or stores this one and lends it; the flag says whether there was one.
    pub fn load_or_store<R>(&self, key: &[u8], value: &[u8], visit: impl FnOnce(&[u8], bool) -> R) -> R {
        self.handles.lend().pinned(|guard| {
            let (actual, loaded) = self.map.load_or_store(key, value, guard);
            visit(actual, loaded)
        })
    }

    /// Makes every key readable without the lock, as `Range` does in Go before it walks the map.
    pub fn promote(&self) {
        self.handles.lend().pinned(|guard| self.map.promote(guard));
    }

    fn inspect<R>(&self, look: impl FnOnce(&KeyHash, &ReadOnly, &Locked, &Guard) -> R) -> R {
        self.handles
            .lend()
            .pinned(|guard| self.map.inspect(guard, |hash, read, locked| look(hash, read, locked, guard)))
    }
}

impl Store for SyncMap {
    type Reader<'a> = SyncMapReader<'a>;

    const TAKES_UPDATES: bool = true;

    fn load(items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        let store = Self { map: Map::new(KeyHash::new(config.seed)), handles: Handles::default() };
        let handle = store.handles.lend();
        while let Some(item) = items.next_item()? {
            handle.pinned(|guard| store.map.store(item.key, item.value, guard));
        }
        handle.pinned(|guard| store.map.promote(guard));
        handle.reclaim();
        drop(handle);
        Ok(store)
    }

    fn reader(&self) -> SyncMapReader<'_> {
        SyncMapReader { map: &self.map, handle: self.handles.lend() }
    }

    /// Walks the maps under the lock, because `sync.Map` keeps no count.
    fn entries(&self) -> u64 {
        self.inspect(|_, read, locked, guard| {
            let mut entries = 0;
            for_each_slot(read, locked, guard, |slot| entries += u64::from(slot.entry().load(guard).is_some()));
            entries
        })
    }

    /// Walks the maps under the lock. The keys of deleted entries count as long as they are kept. Left out are replaced
    /// values on their way to being freed, and the epoch's own blocks: about 8 KiB, and 2 KiB more for each thread.
    fn footprint(&self) -> Footprint {
        self.inspect(|_, read, locked, guard| {
            let mut footprint = tables(read, locked);
            for_each_slot(read, locked, guard, |slot| add(&mut footprint, &slot, guard));
            footprint
        })
    }

    fn check(&self) -> Result<(), StoreError> {
        self.inspect(check::check)
    }

    fn updates(&self) -> Option<&dyn Update> {
        Some(self)
    }
}

impl Update for SyncMap {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.handles.lend().pinned(|guard| self.map.store(key, value, guard));
        Ok(())
    }

    fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        Ok(self.handles.lend().pinned(|guard| self.map.delete(key, guard)))
    }
}

fn tables(read: &ReadOnly, locked: &Locked) -> Footprint {
    let dirty = locked.dirty.as_ref().map_or(0, slot::Table::size);
    let heads = size_of::<ReadOnly>() + size_of::<slot::Table>() + 2 * size_of::<usize>();
    let expunged = locked.expunged.capacity() * size_of::<Slot>();
    Footprint { index: (read.table.size() + dirty) as u64, overhead: (heads + expunged) as u64, ..Footprint::default() }
}

fn add(footprint: &mut Footprint, slot: &Slot, guard: &Guard) {
    let value = slot.entry().load(guard);
    footprint.keys += slot.key().len() as u64;
    footprint.values += value.map_or(0, <[u8]>::len) as u64;
    footprint.overhead += if value.is_some() { OVERHEAD } else { DELETED_OVERHEAD } as u64;
}

/// Pins an epoch for each get; takes no lock as long as the read map has the key or holds all keys.
pub struct SyncMapReader<'a> {
    map: &'a Map,
    handle: Handle<'a>,
}

impl Reader for SyncMapReader<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        Ok(self.handle.pinned(|guard| self.map.load(key, guard).map(visit)))
    }
}
