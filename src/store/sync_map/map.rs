//! The two maps: an atomically loaded read-only map, and a dirty map behind a mutex that holds the newer keys as well.
//!
//! They share slots. With `amended` unset there is no dirty map, and the read map holds every key. With it set, the dirty
//! map holds every key that is not expunged, and the read map those that were there when the dirty map was begun. Reads
//! that miss the read map look into the dirty one under the mutex, and are counted: when they have cost as much as
//! copying the dirty map would have, it becomes the read map as a whole.
//!
//! Who frees a slot:
//! - a slot in the dirty map alone: whoever deletes its key there;
//! - an expunged slot, which is in the read map alone: whoever promotes the dirty map over that read map, unless the slot
//!   was brought back into the dirty map before;
//! - every other slot: the map's own drop.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use crossbeam_epoch::{Atomic, Guard, Owned};
use parking_lot::Mutex;

use super::boxes::Boxed;
use super::slot::{Slot, Table};
use crate::store::hash::KeyHash;

pub struct Map {
    hash: KeyHash,
    read: Atomic<ReadOnly>,
    locked: Mutex<Locked>,
}

/// What readers see; never changed, only replaced.
pub struct ReadOnly {
    pub table: Arc<Table>,
    /// The dirty map holds keys that this one lacks.
    pub amended: bool,
}

/// What the mutex guards.
#[derive(Default)]
pub struct Locked {
    pub dirty: Option<Table>,
    /// Reads that looked into the dirty map since it was begun.
    pub misses: usize,
    /// Slots that were expunged when the dirty map was begun; some may have been brought back since.
    pub expunged: Vec<Slot>,
}

impl Locked {
    pub fn find_dirty(&self, hashed: u64, key: &[u8]) -> Option<&Slot> {
        self.dirty.as_ref()?.find(hashed, key)
    }
}

impl Map {
    pub fn new(hash: KeyHash) -> Self {
        let read = ReadOnly { table: Arc::default(), amended: false };
        Self { hash, read: Atomic::new(read), locked: Mutex::default() }
    }

    /// The value of a key. Takes no lock unless the read map lacks the key and is amended.
    #[inline]
    pub fn load<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g [u8]> {
        let hashed = self.hash.of(key);
        let read = self.read(guard);
        match read.table.find(hashed, key) {
            Some(slot) => slot.entry().load(guard),
            None if read.amended => self.load_slowly(hashed, key, guard),
            None => None,
        }
    }

    #[cold]
    fn load_slowly<'g>(&self, hashed: u64, key: &[u8], guard: &'g Guard) -> Option<&'g [u8]> {
        let mut locked = self.locked.lock();
        // The dirty map may have been promoted while the lock was waited for; then this was no miss.
        let read = self.read(guard);
        let mut slot = read.table.find(hashed, key).copied();
        if slot.is_none() && read.amended {
            slot = locked.find_dirty(hashed, key).copied();
            self.count_miss(&mut locked, guard);
        }
        drop(locked);
        slot.and_then(|slot| slot.entry().load(guard))
    }

    /// Adds the key or replaces its value; a key of the read map that is not expunged takes no lock.
    pub fn store(&self, key: &[u8], value: &[u8], guard: &Guard) {
        let hashed = self.hash.of(key);
        let mut value = Owned::new(Boxed::new(value));
        if let Some(slot) = self.read(guard).table.find(hashed, key) {
            match slot.entry().try_store(value, guard) {
                Ok(()) => return,
                Err(expunged) => value = expunged.0,
            }
        }
        let mut locked = self.locked.lock();
        match self.find_revived(&mut locked, hashed, key, guard) {
            Some(slot) => slot.entry().store_locked(value, guard),
            None => self.add(&mut locked, hashed, Slot::new(key, value), guard),
        }
    }

    /// The value that the key has (and `true`), or else this one, which is stored (and `false`).
    pub fn load_or_store<'g>(&self, key: &[u8], value: &[u8], guard: &'g Guard) -> (&'g [u8], bool) {
        let hashed = self.hash.of(key);
        let read = self.read(guard);
        let present = read.table.find(hashed, key).and_then(|slot| slot.entry().try_load_or_store(value, guard));
        present.unwrap_or_else(|| self.load_or_store_slowly(hashed, key, value, guard))
    }

    fn load_or_store_slowly<'g>(&self, hashed: u64, key: &[u8], value: &[u8], guard: &'g Guard) -> (&'g [u8], bool) {
        let mut locked = self.locked.lock();
        let in_read = self.read(guard).table.find(hashed, key).is_some();
        let slot = self.find_revived(&mut locked, hashed, key, guard);
        if let Some(present) = slot.and_then(|slot| slot.entry().try_load_or_store(value, guard)) {
            if !in_read {
                self.count_miss(&mut locked, guard);
            }
            return present;
        }
        let value = Owned::new(Boxed::new(value)).into_shared(guard);
        // SAFETY: the value was made here, so nobody retires it before the slot is in a map; the lock is held until then.
        let (bytes, value) = unsafe { (value.deref().bytes(), value.into_owned()) };
        self.add(&mut locked, hashed, Slot::new(key, value), guard);
        (bytes, false)
    }

    /// Deletes the key; `false` when it was not there.
    pub fn delete(&self, key: &[u8], guard: &Guard) -> bool {
        let hashed = self.hash.of(key);
        let read = self.read(guard);
        match read.table.find(hashed, key) {
            Some(slot) => slot.entry().delete(guard),
            None if read.amended => self.delete_slowly(hashed, key, guard),
            None => false,
        }
    }

    fn delete_slowly(&self, hashed: u64, key: &[u8], guard: &Guard) -> bool {
        let mut locked = self.locked.lock();
        let read = self.read(guard);
        if let Some(slot) = read.table.find(hashed, key) {
            return slot.entry().delete(guard);
        }
        if !read.amended {
            return false;
        }
        let removed = locked.dirty.as_mut().and_then(|dirty| dirty.remove(hashed, key));
        self.count_miss(&mut locked, guard);
        drop(locked);
        removed.is_some_and(|slot| {
            let deleted = slot.entry().delete(guard);
            // SAFETY: the slot was in the dirty map alone, and this thread took it out under the lock.
            unsafe { retire(slot, guard) };
            deleted
        })
    }

    /// The key's slot in either map, not expunged (any more): a slot that was is put back into the dirty map.
    fn find_revived(&self, locked: &mut Locked, hashed: u64, key: &[u8], guard: &Guard) -> Option<Slot> {
        let Some(slot) = self.read(guard).table.find(hashed, key).copied() else {
            return locked.find_dirty(hashed, key).copied();
        };
        if slot.entry().unexpunge_locked(guard)
            && let Some(dirty) = &mut locked.dirty
        {
            // Go puts the caller's copy of the key here; sharing the read map's saves deciding which to free.
            dirty.insert(hashed, slot, &self.hash);
        }
        Some(slot)
    }

    /// Adds the slot of a key that neither map holds.
    fn add(&self, locked: &mut Locked, hashed: u64, slot: Slot, guard: &Guard) {
        let (dirty, expunged) = (&mut locked.dirty, &mut locked.expunged);
        let dirty = dirty.get_or_insert_with(|| self.begin_dirty(expunged, guard));
        dirty.insert(hashed, slot, &self.hash);
    }

    /// A dirty map with every slot of the read map, apart from those whose keys are deleted: these are expunged, so that
    /// they are gone when the dirty map is promoted.
    fn begin_dirty(&self, expunged: &mut Vec<Slot>, guard: &Guard) -> Table {
        let read = self.read(guard);
        let mut dirty = Table::with_capacity(read.table.len());
        for slot in read.table.iter() {
            if slot.entry().expunge_locked(guard) {
                expunged.push(*slot);
            } else {
                dirty.insert(self.hash.of(slot.key()), *slot, &self.hash);
            }
        }
        self.publish(ReadOnly { table: Arc::clone(&read.table), amended: true }, guard);
        dirty
    }

    fn count_miss(&self, locked: &mut Locked, guard: &Guard) {
        locked.misses += 1;
        if locked.dirty.as_ref().is_some_and(|dirty| locked.misses >= dirty.len()) {
            self.promote_locked(locked, guard);
        }
    }

    /// Makes the dirty map, where there is one, the read map.
    pub fn promote(&self, guard: &Guard) {
        self.promote_locked(&mut self.locked.lock(), guard);
    }

    fn promote_locked(&self, locked: &mut Locked, guard: &Guard) {
        let Some(dirty) = locked.dirty.take() else { return };
        locked.misses = 0;
        self.publish(ReadOnly { table: Arc::new(dirty), amended: false }, guard);
        for slot in mem::take(&mut locked.expunged) {
            if slot.entry().is_expunged(guard) {
                // SAFETY: an expunged slot is not in the dirty map, and the read map that had it was just replaced.
                unsafe { retire(slot, guard) };
            }
        }
        // The old table can be large: it must not wait in this thread's bag for other garbage to come.
        guard.flush();
    }

    #[inline]
    fn read<'g>(&self, guard: &'g Guard) -> &'g ReadOnly {
        // SAFETY: the pointer is never null, and what it pointed to is retired only after it was replaced.
        unsafe { self.read.load(Acquire, guard).deref() }
    }

    /// Called under the lock.
    fn publish(&self, read: ReadOnly, guard: &Guard) {
        let replaced = self.read.swap(Owned::new(read), AcqRel, guard);
        // SAFETY: the swap gave the replaced map to this thread alone.
        unsafe { guard.defer_destroy(replaced) };
    }

    /// Runs `look` while nothing but values can change.
    pub fn inspect<R>(&self, guard: &Guard, look: impl FnOnce(&KeyHash, &ReadOnly, &Locked) -> R) -> R {
        let locked = self.locked.lock();
        look(&self.hash, self.read(guard), &locked)
    }
}

/// Calls `each` with one copy of every slot that the two maps hold. A slot's entry is not looked at any more once `each`
/// has had it.
pub fn for_each_slot(read: &ReadOnly, locked: &Locked, guard: &Guard, mut each: impl FnMut(Slot)) {
    let Some(dirty) = &locked.dirty else { return read.table.iter().copied().for_each(each) };
    // The read map comes first: the entries of its other slots must still be there to be asked for their state.
    read.table.iter().filter(|slot| slot.entry().is_expunged(guard)).copied().for_each(&mut each);
    dirty.iter().copied().for_each(each);
}

/// Frees a slot once no reader can still hold it.
///
/// # Safety
/// No map holds a copy of the slot any more, and nobody else retires it.
unsafe fn retire(slot: Slot, guard: &Guard) {
    // SAFETY: by the caller's promise only readers that are pinned now can still hold a copy.
    unsafe { guard.defer_unchecked(move || slot.free()) }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: `&mut self` says that no reader is left, so nothing needs a guard.
        let guard = unsafe { crossbeam_epoch::unprotected() };
        self.inspect(guard, |_, read, locked| {
            // SAFETY: each slot comes once and is not looked at again; the tables don't touch what their slots point to.
            for_each_slot(read, locked, guard, |slot| unsafe { slot.free() });
        });
        // SAFETY: as for the guard; the pointer is never null.
        drop(unsafe { mem::replace(&mut self.read, Atomic::null()).into_owned() });
    }
}
