//! The hybrid store against everything that goes wrong: disks that fail, processes that die, keys that collide, threads that
//! meet. Knows the store by its public side alone.

mod faulty;
mod limits;
mod memory_disk;
mod model;
mod real_disk;
mod threads;

use std::collections::BTreeMap;
use std::sync::Arc;

use larder::items::Slice;
use larder::store::hybrid::clock::Manual;
use larder::store::hybrid::{Hybrid, Options};
use larder::store::{Config, Reader, Store, StoreError, Update};

/// Contents that a store should have.
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Options whose clock stands still, so that no test depends on time.
pub fn options() -> Options {
    Options { clock: Some(Arc::new(Manual::default())), ..Options::default() }
}

pub fn config(hybrid: Options) -> Config {
    Config { seed: 42, hybrid, ..Config::default() }
}

pub fn load(pairs: &[(Vec<u8>, Vec<u8>)], config: &Config) -> Result<Hybrid, StoreError> {
    Hybrid::load(&mut Slice::new(pairs), config)
}

pub fn get<S: Store>(store: &S, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    store.reader().get(key, <[u8]>::to_vec)
}

pub fn updates<S: Store>(store: &S) -> &dyn Update {
    store.updates().expect("hybrid takes updates")
}

/// `count` distinct keys; values of `generation`, some empty, some longer than the first read of a record.
pub fn numbered(count: usize, generation: u32) -> Pairs {
    let key = |at: usize| format!("screen{}.label{at}", at % 7).into_bytes();
    let value = |at: usize| format!("{generation}/{at};").repeat(at % 9 * (1 + at % 17)).into_bytes();
    (0..count).map(|at| (key(at), value(at))).collect()
}

/// Asks for every key of the model and for some that are not there, and has the store look at itself.
#[track_caller]
pub fn assert_holds<S: Store>(store: &S, model: &Model) {
    assert_eq!(store.entries(), model.len() as u64);
    for (key, value) in model {
        let found = get(store, key).unwrap_or_else(|error| panic!("{}: {error}", String::from_utf8_lossy(key)));
        assert!(found.as_ref() == Some(value), "{}: {found:?} instead of {value:?}", String::from_utf8_lossy(key));
    }
    for absent in 0..20 {
        let key = format!("absent{absent}").into_bytes();
        assert!(model.contains_key(&key) || get(store, &key).expect("nothing is broken").is_none());
    }
    store.check().unwrap_or_else(|error| panic!("{error}"));
}

#[track_caller]
pub fn error<T>(result: Result<T, StoreError>) -> StoreError {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => error,
    }
}

/// The system's own error inside a store's.
#[track_caller]
pub fn errno(error: &StoreError) -> Option<i32> {
    match error {
        StoreError::Io { cause, .. } => cause.raw_os_error(),
        other => panic!("not the disk's error: {other}"),
    }
}
