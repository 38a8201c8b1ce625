//! The table against a `BTreeMap`, and what it takes.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn at(offset: u32) -> Location {
    Location { resident: (offset % 70_000) as u16, offset }
}

/// Spread over the whole range, as hashes are.
fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - KEY_BITS)
}

#[track_caller]
fn assert_same(table: &Table, model: &BTreeMap<u64, Location>) {
    assert_eq!(table.fault(), None);
    assert!(table.iter().eq(model.iter().map(|(&key, &location)| (key, location))));
    assert_eq!(table.len(), model.len());
}

#[test]
fn a_slot_is_ten_bytes_and_gives_back_every_part() {
    assert_eq!(SLOT, 10);
    for key in [0, 1, 0x0102_0304_0506, (1 << KEY_BITS) - 1].map(|key: u64| key & ((1 << KEY_BITS) - 1)) {
        for resident in [0, 1, 65_533, NOT_RESIDENT] {
            for offset in [0, 1, 0x0001_0203, OFFSETS - 1] {
                let slot = slot(key, Location { resident, offset });
                assert_eq!((key_of(&slot), location(&slot)), (key, Location { resident, offset }));
                assert!(!is_empty(&slot));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Keys that crowd at the front, in the middle and at the end, where entries spill behind the last home.
    #[test]
    fn a_table_agrees_with_a_btree_map(steps in vec((0..4_u8, 0..3_u64, 0..60_u64, 0..OFFSETS), 0..300)) {
        let (mut table, mut model) = (Table::default(), BTreeMap::new());
        for (what, region, number, offset) in steps {
            let last = (1 << KEY_BITS) - 1;
            let key = [number, last / 2 + number, last - number][region as usize];
            match what {
                0 => prop_assert_eq!(table.remove(key), model.remove(&key).is_some()),
                1 => prop_assert_eq!(table.get(key), model.get(&key).copied()),
                _ => {
                    table.set(key, at(offset));
                    model.insert(key, at(offset));
                }
            }
            if offset % 97 == 0 {
                table.fit();
            }
            prop_assert_eq!(table.fault(), None);
        }
        assert_same(&table, &model);
    }
}

#[test]
fn a_fitted_table_takes_less_than_12_bytes_an_entry_and_a_growing_one_less_than_14() {
    let mut table = Table::default();
    for number in 0..20_000_u64 {
        table.set(spread(number), at(number as u32));
        if number > 1000 {
            assert!(table.allocation_size() < 14 * table.len(), "{} bytes at {number}", table.allocation_size());
        }
    }
    table.fit();
    let bytes = table.allocation_size() as f64 / table.len() as f64;
    assert!((11.0..11.7).contains(&bytes), "{bytes} bytes per entry");
    assert!((0..20_000_u64).all(|number| table.get(spread(number)) == Some(at(number as u32))));
    assert!((20_000..40_000_u64).all(|number| table.get(spread(number)).is_none()));
}

#[test]
fn a_table_that_lost_everything_is_as_good_as_new() {
    let mut table = Table::default();
    (0..1000).for_each(|number| table.set(spread(number), at(number as u32)));
    assert!((0..1000).all(|number| table.remove(spread(number))));
    assert_same(&table, &BTreeMap::new());
    table.fit();
    assert_eq!((table.allocation_size(), table.get(5)), (0, None));
    table.set(5, at(7));
    assert_eq!(table.get(5), Some(at(7)));
}
