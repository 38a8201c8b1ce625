//! Random operations on a store and on a `BTreeMap`, which must agree after every step.

use larder::items::Slice;
use larder::registry::Row;
use larder::store::swapped::Swapped;
use larder::store::{Store, Update};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::{BreaksOff, Model, Pairs, assert_holds, assert_source_error, config, for_each_store, get, load};

#[derive(Debug, Clone)]
enum Step {
    Get(Vec<u8>),
    Put(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Refresh(Pairs),
    BrokenRefresh(Pairs),
    Compare,
}

/// Few different keys, so that most steps meet one that is there: the empty key, and keys of one and two bytes.
fn key() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0_u8), Just(b'k'), Just(0xff)], 0..3)
}

/// Lengths around the first step of a varint too.
fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => vec(any::<u8>(), 0..12), 1 => vec(any::<u8>(), 120..136)]
}

fn pairs() -> impl Strategy<Value = Pairs> {
    vec((key(), value()), 0..20)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => key().prop_map(Step::Get),
        6 => (key(), value()).prop_map(|(key, value)| Step::Put(key, value)),
        4 => key().prop_map(Step::Remove),
        1 => pairs().prop_map(Step::Refresh),
        1 => pairs().prop_map(Step::BrokenRefresh),
        1 => Just(Step::Compare),
    ]
}

/// The same cases in every run; a failure is printed with its shrunken case.
fn runner() -> TestRunner {
    let cases = if cfg!(miri) { 4 } else { 200 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn every_store_agrees_with_a_btree_map_after_every_step() {
    fn check<S: Store>(_row: &Row) {
        runner()
            .run(&(pairs(), vec(step(), 0..80)), |(first, steps)| {
                drive::<S>(first, steps);
                Ok(())
            })
            .unwrap_or_else(|failure| panic!("{failure}"));
    }
    for_each_store!(check);
}

fn drive<S: Store>(first: Pairs, steps: Vec<Step>) {
    let store: Swapped<S> = load(&first);
    let mut model: Model = first.into_iter().collect();
    for step in steps {
        take(&store, &mut model, step);
        assert_eq!(store.entries(), model.len() as u64);
    }
    assert_holds(&store, &model);
    assert_footprint(&store, &model);
}

fn take<S: Store>(store: &Swapped<S>, model: &mut Model, step: Step) {
    match (step, store.updates()) {
        (Step::Put(key, value), Some(updates)) => put(updates, model, key, value),
        (Step::Remove(key), Some(updates)) => {
            assert_eq!(updates.remove(&key).unwrap(), model.remove(&key).is_some());
            assert_eq!(get(store, &key), None);
        }
        (Step::Get(key) | Step::Put(key, _) | Step::Remove(key), _) => {
            assert_eq!(get(store, &key), model.get(&key).cloned());
        }
        (Step::Refresh(pairs), _) => {
            store.refresh(&mut Slice::new(&pairs), &config()).unwrap();
            *model = pairs.into_iter().collect();
        }
        (Step::BrokenRefresh(pairs), _) => {
            assert_source_error(store.refresh(&mut BreaksOff(Slice::new(&pairs)), &config()));
        }
        (Step::Compare, _) => assert_holds(store, model),
    }
}

fn put(updates: &dyn Update, model: &mut Model, key: Vec<u8>, value: Vec<u8>) {
    updates.put(&key, &value).unwrap();
    model.insert(key, value);
}

/// A store may keep deleted keys for a while; values it has no reason to keep.
fn assert_footprint<S: Store>(store: &S, model: &Model) {
    let footprint = store.footprint();
    let sum = |lengths: &mut dyn Iterator<Item = usize>| lengths.sum::<usize>() as u64;
    assert!(footprint.keys + footprint.disk >= sum(&mut model.keys().map(Vec::len)), "{footprint:?}");
    assert!(footprint.values + footprint.disk >= sum(&mut model.values().map(Vec::len)), "{footprint:?}");
}
