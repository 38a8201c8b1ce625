//! What `sync-map` promises beyond the contract: `load_or_store`, and promotion by misses.

use larder::store::sync_map::SyncMap;
use larder::store::{Reader, Store, Update};

use crate::{Model, assert_holds, get, load, numbered};

#[test]
fn load_or_store_keeps_what_is_there_and_adds_what_is_not() {
    let store: SyncMap = load(&numbered(3));
    let old = &numbered(3)[2];
    let stays = store.load_or_store(&old.0, b"other", |value, loaded| (value.to_vec(), loaded));
    assert_eq!(stays, (old.1.clone(), true));
    let new = store.load_or_store(b"new", b"first", |value, loaded| (value.to_vec(), loaded));
    assert_eq!(new, (b"first".to_vec(), false));
    let in_dirty = store.load_or_store(b"new", b"second", |value, loaded| (value.to_vec(), loaded));
    assert_eq!(in_dirty, (b"first".to_vec(), true));
    store.check().unwrap();
    assert_eq!(store.entries(), 4);
}

#[test]
fn load_or_store_brings_deleted_and_expunged_keys_back() {
    let store: SyncMap = load(&numbered(5));
    let (deleted, expunged) = (&numbered(5)[0].0, &numbered(5)[1].0);
    assert!(store.remove(expunged).unwrap());
    store.put(b"new", b"begins a dirty map, and expunges").unwrap();
    assert!(store.remove(deleted).unwrap());
    for key in [deleted, expunged] {
        assert_eq!(get(&store, key), None);
        assert!(!store.load_or_store(key, b"back", |_, loaded| loaded));
        assert_eq!(get(&store, key), Some(b"back".to_vec()));
        store.check().unwrap();
    }
    assert_eq!(store.entries(), 6);
}

/// The index says which maps there are: after the promotion the tables of old read map and dirty map are one.
#[test]
fn as_many_misses_as_the_dirty_map_has_keys_promote_it() {
    let store: SyncMap = load(&numbered(100));
    let one_table = store.footprint().index;
    store.put(b"new", b"value").unwrap();
    let mut reader = store.reader();
    for _ in 0..100 {
        assert_eq!(reader.get(b"new", <[u8]>::len).unwrap(), Some(5));
        assert!(store.footprint().index > one_table, "promoted too early");
        store.check().unwrap();
    }
    assert_eq!(reader.get(b"new", <[u8]>::len).unwrap(), Some(5));
    assert_eq!(store.footprint().index, one_table, "not promoted by the 101st miss on 101 keys");
}

#[test]
fn a_promotion_forgets_the_keys_that_were_deleted_before_the_dirty_map_was_begun() {
    let pairs = numbered(200);
    let store: SyncMap = load(&pairs);
    let mut model: Model = pairs.clone().into_iter().collect();
    for (key, _) in &pairs[..150] {
        assert!(store.remove(key).unwrap());
        model.remove(key);
    }
    store.put(b"new", b"value").unwrap();
    model.insert(b"new".to_vec(), b"value".to_vec());
    assert_holds(&store, &model);
    let kept: u64 = pairs.iter().map(|(key, _)| key.len() as u64).sum();
    assert_eq!(store.footprint().keys, kept + 3, "deleted keys are still there, expunged");
    store.promote();
    assert_holds(&store, &model);
    assert_eq!(store.footprint().keys, model.keys().map(|key| key.len() as u64).sum::<u64>());
}
