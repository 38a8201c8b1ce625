//! The reduced contract of `null`: it counts, and answers everything with one value.

use larder::items::Slice;
use larder::store::null::{ANSWER, Null};
use larder::store::{Footprint, Store};

use crate::{BreaksOff, assert_source_error, config, get, load, numbered};

#[test]
fn null_counts_its_items_and_answers_every_key_alike() {
    let null: Null = load(&numbered(10));
    assert_eq!((null.entries(), null.footprint()), (10, Footprint::default()));
    assert_eq!(get(&null, b"rider.screen0.label0-pt-BR").as_deref(), Some(ANSWER));
    assert_eq!(get(&null, b"").as_deref(), Some(ANSWER));
    assert!(null.check().is_ok() && null.updates().is_none());
}

#[test]
fn null_does_not_take_a_source_that_breaks_off_for_whole() {
    assert_source_error(Null::load(&mut BreaksOff(Slice::new(&numbered(10))), &config()));
}
