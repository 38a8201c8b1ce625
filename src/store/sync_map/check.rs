//! The invariants that tie the read map, the dirty map and the entries' states together. Changes nothing.

use std::collections::HashSet;

use crossbeam_epoch::Guard;

use super::map::{Locked, ReadOnly};
use super::slot::Table;
use crate::store::StoreError;
use crate::store::hash::KeyHash;

/// Verifies all of them; called under the map's lock, so that only values can change meanwhile.
pub fn check(hash: &KeyHash, read: &ReadOnly, locked: &Locked, guard: &Guard) -> Result<(), StoreError> {
    must(read.amended == locked.dirty.is_some(), || "`amended` and the dirty map disagree".to_owned())?;
    must(locked.misses < locked.dirty.as_ref().map_or(1, |dirty| dirty.len().max(1)), || {
        format!("{} misses without a promotion", locked.misses)
    })?;
    check_places(hash, &read.table, "read")?;
    check_read(hash, read, locked, guard)?;
    let Some(dirty) = &locked.dirty else { return Ok(()) };
    check_places(hash, dirty, "dirty")?;
    check_dirty(hash, read, dirty, guard)
}

/// Every slot is found by its own key, at its own place.
fn check_places(hash: &KeyHash, table: &Table, name: &str) -> Result<(), StoreError> {
    for slot in table.iter() {
        let found = table.find(hash.of(slot.key()), slot.key());
        let at_its_place = found.is_some_and(|found| std::ptr::eq(found, slot));
        must(at_its_place, || format!("key {:?} is not found at its place in the {name} map", slot.key()))?;
    }
    Ok(())
}

/// With a dirty map, a slot of the read map is in it exactly when it is not expunged, and else on the list of slots to
/// be freed; without one, no slot is expunged.
fn check_read(hash: &KeyHash, read: &ReadOnly, locked: &Locked, guard: &Guard) -> Result<(), StoreError> {
    let listed: HashSet<*const u8> = locked.expunged.iter().map(|slot| slot.key().as_ptr()).collect();
    for slot in read.table.iter() {
        let key = slot.key();
        let shared = locked.find_dirty(hash.of(key), key).is_some_and(|dirty| dirty.is_copy_of(slot));
        if slot.entry().is_expunged(guard) {
            must(locked.dirty.is_some(), || format!("key {key:?} is expunged without a dirty map"))?;
            must(!shared, || format!("expunged key {key:?} is in the dirty map"))?;
            must(listed.contains(&key.as_ptr()), || format!("expunged key {key:?} would never be freed"))?;
        } else {
            must(shared || !read.amended, || format!("key {key:?} of the read map is not in the dirty map"))?;
        }
    }
    Ok(())
}

/// No slot of the dirty map is expunged, and a key in both maps has one slot.
fn check_dirty(hash: &KeyHash, read: &ReadOnly, dirty: &Table, guard: &Guard) -> Result<(), StoreError> {
    for slot in dirty.iter() {
        let key = slot.key();
        must(!slot.entry().is_expunged(guard), || format!("expunged key {key:?} is in the dirty map"))?;
        let same = read.table.find(hash.of(key), key).is_none_or(|other| other.is_copy_of(slot));
        must(same, || format!("key {key:?} has different entries in the two maps"))?;
    }
    Ok(())
}

fn must(holds: bool, broken: impl FnOnce() -> String) -> Result<(), StoreError> {
    if holds { Ok(()) } else { Err(StoreError::Damaged(format!("sync-map: {}", broken()))) }
}
