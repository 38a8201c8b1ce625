//! The contract that every store of the registry keeps. The suite walks the registry: a new row is tested by being one.

mod bad;
mod edges;
mod model;
mod null;
mod real;
mod refresh;
mod sync_map;
mod threads;

use std::collections::BTreeMap;

use larder::items::{Item, Items, Slice, SourceError};
use larder::store::{Config, Reader, Store, StoreError};

/// Contents that a store should have.
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Calls a generic function, `check::<S>(row)`, for every row that answers with what was loaded.
macro_rules! for_each_store {
    ($check:ident) => {{
        struct Each;
        impl larder::registry::Visitor for Each {
            type Output = ();
            fn visit<S: larder::store::Store>(self, row: &'static larder::registry::Row) {
                eprintln!("checking {}", row.name);
                $check::<S>(row)
            }
        }
        let rows = larder::registry::rows().iter().filter(|row| !row.is_hidden() && row.answers());
        let checked = rows.map(|row| larder::registry::visit(row.name, Each).expect("a row of the registry")).count();
        assert!(checked >= 3, "only {checked} stores were checked");
    }};
}
pub(crate) use for_each_store;

pub fn config() -> Config {
    Config { seed: 42, ..Config::default() }
}

pub fn load<S: Store>(pairs: &[(Vec<u8>, Vec<u8>)]) -> S {
    S::load(&mut Slice::new(pairs), &config()).expect("nothing is wrong with the items")
}

pub fn get<S: Store>(store: &S, key: &[u8]) -> Option<Vec<u8>> {
    store.reader().get(key, <[u8]>::to_vec).expect("reading does not fail")
}

/// `count` distinct keys with values of different lengths.
pub fn numbered(count: usize) -> Pairs {
    let key = |at: usize| format!("rider.screen{}.label{at}-pt-BR", at % 7).into_bytes();
    (0..count).map(|at| (key(at), format!("{at}:").repeat(at % 9).into_bytes())).collect()
}

/// Everything in which the store differs from what it should hold.
pub fn differences<S: Store>(store: &S, model: &Model) -> Vec<String> {
    let mut differences = Vec::new();
    if store.entries() != model.len() as u64 {
        differences.push(format!("{} entries instead of {}", store.entries(), model.len()));
    }
    let mut reader = store.reader();
    for (key, value) in model {
        match reader.get(key, |found| found == value) {
            Ok(Some(true)) => {}
            Ok(Some(false)) => differences.push(format!("wrong value for {key:?}")),
            Ok(None) => differences.push(format!("lost {key:?}")),
            Err(error) => differences.push(format!("{key:?}: {error}")),
        }
    }
    if let Err(error) = store.check() {
        differences.push(error.to_string());
    }
    differences
}

#[track_caller]
pub fn assert_holds<S: Store>(store: &S, model: &Model) {
    let differences = differences(store, model);
    assert!(differences.is_empty(), "{} differences, first of them: {}", differences.len(), differences[0]);
}

/// A source that breaks off after its pairs.
pub struct BreaksOff<'a>(pub Slice<'a, Vec<u8>, Vec<u8>>);

pub const BROKEN_AT: &str = "broken.json: byte 4711: unexpected end";

impl Items for BreaksOff<'_> {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        self.0.next_item()?.map(Some).ok_or_else(|| SourceError::new(BROKEN_AT))
    }
}

pub fn assert_source_error<T>(result: Result<T, StoreError>) {
    match result {
        Err(StoreError::Source(error)) => assert_eq!(error.to_string(), BROKEN_AT),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("a source that broke off was taken for whole"),
    }
}
