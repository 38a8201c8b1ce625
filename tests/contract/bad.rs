//! Each bad actor breaks the promise that it is there to break, and no other: a check that was never seen to fail is none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use larder::items::Slice;
use larder::store::bad::{Bad, DOUBLE_BYTES_PER_ENTRY, Double, Eater, GETS_BEFORE_PANIC, Hanger, Leaker, Liar, Loser};
use larder::store::bad::{Panicker, SPOILED_EVERY, Slow};
use larder::store::{Reader, Store};

use crate::{Model, assert_holds, config, differences, get, load, numbered};

const ENTRIES: usize = 5000;
const SPOILED: usize = ENTRIES / SPOILED_EVERY as usize;

fn model() -> Model {
    numbered(ENTRIES).into_iter().collect()
}

#[test]
fn the_liar_has_a_wrong_value_for_one_key_in_a_thousand() {
    let found = differences(&load::<Bad<Liar>>(&numbered(ENTRIES)), &model());
    assert_eq!(found.iter().filter(|line| line.starts_with("wrong value")).count(), SPOILED);
    assert_eq!(found.len(), SPOILED, "{found:?}");
    assert_eq!(differences(&load::<Bad<Liar>>(&numbered(1)), &numbered(1).into_iter().collect()).len(), 1);
}

#[test]
fn the_loser_lacks_one_key_in_a_thousand() {
    let found = differences(&load::<Bad<Loser>>(&numbered(ENTRIES)), &model());
    assert_eq!(found.iter().filter(|line| line.starts_with("lost")).count(), SPOILED);
    assert_eq!(found.len(), SPOILED + 1, "the lost keys, and the count of entries: {found:?}");
}

#[test]
fn the_panicker_panics_after_its_last_good_get() {
    let store: Bad<Panicker> = load(&numbered(10));
    let key = &numbered(10)[3].0;
    for _ in 0..GETS_BEFORE_PANIC {
        assert!(get(&store, key).is_some());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| get(&store, key))).is_err());
}

#[test]
fn the_hanger_does_not_come_back_from_its_load() {
    let (came_back, comes_back) = mpsc::channel();
    thread::spawn(move || {
        let store: Bad<Hanger> = load(&numbered(10));
        came_back.send(store.entries()).unwrap();
    });
    assert_eq!(comes_back.recv_timeout(Duration::from_millis(300)), Err(mpsc::RecvTimeoutError::Timeout));
}

/// Runs itself once more as a child that may not have more than this, and dies of it.
#[test]
#[cfg_attr(miri, ignore)]
fn the_eater_eats_until_there_is_no_more() {
    const MARK: &str = "LARDER_TEST_EATER";
    const LIMIT: u64 = 1 << 30;
    if std::env::var_os(MARK).is_some() {
        let limit = libc::rlimit { rlim_cur: LIMIT, rlim_max: LIMIT };
        // SAFETY: setrlimit reads the struct that it is given, which lives until it returns.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
        load::<Bad<Eater>>(&numbered(10));
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "bad::the_eater_eats_until_there_is_no_more", "--nocapture"]).env(MARK, "1");
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("memory allocation of"), "{said}");
}

#[test]
fn the_slow_one_and_the_leaker_answer_as_they_should() {
    assert_holds(&load::<Bad<Slow>>(&numbered(ENTRIES)), &model());
    assert_holds(&load::<Bad<Leaker>>(&numbered(ENTRIES)), &model());
}

#[test]
fn the_double_holds_a_kibibyte_for_each_item() {
    let store = Double::load(&mut Slice::new(&numbered(300)), &config()).unwrap();
    assert_eq!((store.entries(), store.footprint().heap()), (300, 300 * DOUBLE_BYTES_PER_ENTRY));
    assert!(store.reader().get(b"any", |value| !value.is_empty()).unwrap().unwrap());
}
