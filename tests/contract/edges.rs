//! Contents at the edges: none, empty, tiny, huge, not text, twice, broken off.

use larder::items::Slice;
use larder::registry::Row;
use larder::store::Store;
use larder::store::swapped::Swapped;

use crate::{
    BreaksOff, Model, Pairs, assert_holds, assert_source_error, config, differences, for_each_store, get, load,
    numbered,
};

const MIB: usize = 1 << 20;

#[test]
fn empty_tiny_huge_and_non_utf8_keys_and_values_come_back_whole() {
    fn check<S: Store>(_row: &Row) {
        let strings = [vec![], vec![0], vec![b'x'], vec![0xff, 0xfe, 0xc0], vec![0; 300], vec![7; MIB]];
        let pairs: Pairs = strings.iter().cloned().zip(strings.iter().rev().cloned()).collect();
        let store: S = load(&pairs);
        assert_holds(&store, &pairs.into_iter().collect());
        if let Some(updates) = store.updates() {
            for key in &strings {
                updates.put(key, key).unwrap();
            }
            assert_holds(&store, &strings.iter().map(|string| (string.clone(), string.clone())).collect());
        }
    }
    for_each_store!(check);
}

#[test]
fn the_last_of_two_items_with_one_key_wins() {
    fn check<S: Store>(_row: &Row) {
        let mut pairs = numbered(500);
        pairs.extend(numbered(300).into_iter().map(|(key, value)| (key, [b"newer", &value[..]].concat())));
        pairs.extend([(b"again".to_vec(), b"1".to_vec()), (b"again".to_vec(), b"2".to_vec())]);
        let store: S = load(&pairs);
        assert_eq!((store.entries(), get(&store, b"again")), (501, Some(b"2".to_vec())));
        assert_holds(&store, &pairs.into_iter().collect());
    }
    for_each_store!(check);
}

#[test]
fn a_store_of_nothing_holds_nothing_and_can_be_filled() {
    fn check<S: Store>(_row: &Row) {
        let store: S = load(&[]);
        assert_eq!((get(&store, b""), get(&store, b"key")), (None, None));
        assert_holds(&store, &Model::new());
        if let Some(updates) = store.updates() {
            assert!(!updates.remove(b"key").unwrap());
            updates.put(b"key", b"value").unwrap();
            assert_holds(&store, &Model::from([(b"key".to_vec(), b"value".to_vec())]));
        }
    }
    for_each_store!(check);
}

#[test]
fn a_key_that_was_never_loaded_is_not_found() {
    fn check<S: Store>(_row: &Row) {
        let pairs = numbered(2000);
        let store: S = load(&pairs);
        for (key, _) in &pairs {
            let longer = [&key[..], b"x"].concat();
            assert_eq!((get(&store, &longer), get(&store, &key[..key.len() - 1])), (None, None));
        }
        assert_eq!(get(&store, b""), None);
    }
    for_each_store!(check);
}

#[test]
fn a_source_that_breaks_off_is_an_error_and_the_old_contents_go_on() {
    fn check<S: Store>(_row: &Row) {
        let (old, new) = (numbered(100), numbered(1000));
        assert_source_error(S::load(&mut BreaksOff(Slice::new(&new)), &config()));
        let store: Swapped<S> = load(&old);
        assert_source_error(store.refresh(&mut BreaksOff(Slice::new(&new)), &config()));
        assert_holds(&store, &old.into_iter().collect());
    }
    for_each_store!(check);
}

#[test]
fn a_refresh_leaves_only_the_new_contents() {
    fn check<S: Store>(_row: &Row) {
        let (old, new) = (numbered(400), numbered(1000).split_off(300));
        let store: Swapped<S> = load(&old);
        store.refresh(&mut Slice::new(&new), &config()).unwrap();
        assert_eq!(get(&store, &old[0].0), None);
        let old: Model = old.into_iter().collect();
        assert!(!differences(&store, &old).is_empty());
        assert_holds(&store, &new.into_iter().collect());
    }
    for_each_store!(check);
}

#[test]
fn updates_are_taken_exactly_by_the_rows_that_say_so() {
    fn check<S: Store>(row: &Row) {
        assert_eq!(row.takes_updates, load::<S>(&[]).updates().is_some());
        assert_eq!(row.takes_updates, load::<Swapped<S>>(&[]).updates().is_some());
    }
    for_each_store!(check);
}
