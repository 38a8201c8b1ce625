//! A disk that fails: every failure is an error or the right answer, and what was served before goes on being served.

use std::io::ErrorKind;
use std::sync::Arc;

use larder::items::Slice;
use larder::store::hybrid::{Hybrid, Options};
use larder::store::swapped::Swapped;
use larder::store::{Config, Reader, Store, StoreError};

use crate::memory_disk::{MemoryDisk, Outcome};
use crate::{Model, Pairs, assert_holds, config, errno, error, get, load, numbered, options, updates};

fn on(disk: &MemoryDisk, options: Options) -> Config {
    config(Options { disk: Some(Arc::new(disk.clone())), ..options })
}

/// Nothing resident: every get reads.
fn cold(disk: &MemoryDisk) -> Config {
    on(disk, Options { resident_items: 0, ..options() })
}

fn model(pairs: &Pairs) -> Model {
    pairs.iter().cloned().collect()
}

/// One entry, and the shard it came to.
fn one(disk: &MemoryDisk, config: &Config, value: &[u8]) -> (Hybrid, u8) {
    let store = load(&[(b"key".to_vec(), value.to_vec())], config).unwrap();
    let shard = disk.files()[0].0;
    (store, shard)
}

/// Sums of the counters that a get may raise: hits, misses, negatives, errors.
fn counted(store: &Hybrid) -> [u64; 4] {
    let statistics = store.statistics();
    [statistics.hits, statistics.misses, statistics.negatives, statistics.errors]
}

#[test]
fn a_read_that_fails_is_an_error_that_names_the_place_and_is_counted_and_the_next_one_works() {
    for failing_read in [0, 1] {
        let disk = MemoryDisk::default();
        // 2,000 bytes are two reads: one of either may fail.
        let value = [7; 2000];
        let (store, shard) = one(&disk, &on(&disk, options()), &value);
        disk.reads.decide(move |read| if read == failing_read { Outcome::Fails(libc::EIO) } else { Outcome::Whole });
        let error = store.reader().get(b"key", |_| panic!("there is nothing to visit")).unwrap_err();
        assert_eq!(errno(&error), Some(libc::EIO));
        let message = error.to_string();
        assert!(message.contains(&format!("shard {shard} at offset 0 in memory")), "{message}");
        assert_eq!(counted(&store), [0, 0, 0, 1]);
        assert_eq!(get(&store, b"key").unwrap().as_deref(), Some(&value[..]));
        assert_eq!(counted(&store), [0, 1, 0, 1]);
        disk.reads.always_fail(libc::EIO);
        assert_eq!(get(&store, b"key").unwrap().as_deref(), Some(&value[..]), "there is a copy now");
        assert_eq!(counted(&store), [1, 1, 0, 1]);
    }
}

#[test]
fn an_absent_key_whose_hash_another_key_has_is_an_error_while_the_disk_fails() {
    let disk = MemoryDisk::default();
    let (store, _) = one(&disk, &on(&disk, Options { hash_bits: 0, resident_items: 0, ..options() }), b"value");
    disk.reads.always_fail(libc::EIO);
    assert_eq!(errno(&error(get(&store, b"absent"))), Some(libc::EIO));
    assert_eq!(counted(&store), [0, 0, 0, 1]);
    disk.reads.succeed();
    assert_eq!(get(&store, b"absent").unwrap(), None);
    assert_eq!(counted(&store), [0, 0, 1, 1]);
}

#[test]
fn updates_that_can_not_find_out_what_is_there_fail_and_change_nothing() {
    let disk = MemoryDisk::default();
    let (store, _) = one(&disk, &cold(&disk), b"value");
    disk.reads.always_fail(libc::EIO);
    assert_eq!(errno(&error(updates(&store).put(b"key", b"new"))), Some(libc::EIO));
    assert_eq!(errno(&error(updates(&store).remove(b"key"))), Some(libc::EIO));
    assert_eq!(counted(&store), [0, 0, 0, 2]);
    assert_eq!(errno(&error(store.check())), Some(libc::EIO));
    disk.reads.succeed();
    assert_holds(&store, &model(&vec![(b"key".to_vec(), b"value".to_vec())]));
    updates(&store).put(b"key", b"new").unwrap();
    assert_holds(&store, &model(&vec![(b"key".to_vec(), b"new".to_vec())]));
}

#[test]
fn short_and_interrupted_reads_and_writes_give_right_answers() {
    for hash_bits in [48, 0] {
        let disk = MemoryDisk::default();
        let limp = |call: u64| match call % 4 {
            0 => Outcome::Fails(libc::EINTR),
            1 => Outcome::AtMost(1),
            2 => Outcome::AtMost(13),
            _ => Outcome::AtMost(700),
        };
        disk.reads.decide(limp);
        disk.writes.decide(limp);
        let pairs = numbered(300, 1);
        let options = Options { hash_bits, resident_items: 20, load_buffer: 600, ..options() };
        let store = Swapped::<Hybrid>::load(&mut Slice::new(&pairs), &on(&disk, options.clone())).unwrap();
        assert_holds(&store, &model(&pairs));
        let mut next = model(&numbered(300, 2));
        store.refresh(&mut Slice::new(&numbered(300, 2)), &on(&disk, options)).unwrap();
        for (key, _) in &pairs[..50] {
            updates(&store).put(key, b"put").unwrap();
            next.insert(key.clone(), b"put".to_vec());
        }
        assert_holds(&store, &next);
    }
}

#[test]
fn a_disk_that_takes_nothing_and_says_no_error_is_an_error() {
    let disk = MemoryDisk::default();
    disk.writes.decide(|_| Outcome::AtMost(0));
    match error(load(&numbered(5, 1), &cold(&disk))) {
        StoreError::Io { cause, .. } => assert_eq!(cause.kind(), ErrorKind::WriteZero),
        other => panic!("{other}"),
    }
    assert_eq!(disk.files().len(), 0, "a load that failed leaves no file open");
}

/// Where the record of a key starts that is shorter than 128 bytes; its value is too.
fn start_of(file: &[u8], key: &[u8]) -> usize {
    let at = file.windows(key.len()).position(|window| window == key).expect("the key is in the file");
    at - 6
}

#[test]
fn a_record_with_any_byte_changed_is_an_error_that_names_it_and_never_a_wrong_value() {
    for value_bytes in [0, 9, 200, 700] {
        let disk = MemoryDisk::default();
        let value: Vec<u8> = (0..value_bytes).map(|at| at as u8).collect();
        let (store, shard) = one(&disk, &cold(&disk), &value);
        let length = disk.files()[0].1.len();
        for at in 0..length {
            for mask in [0x01, 0x10, 0x55, 0x80, 0xFF] {
                disk.change(shard, |file| file[at] ^= mask);
                let message = error(get(&store, b"key")).to_string();
                assert!(message.contains(&format!("shard {shard} at offset 0:")), "byte {at}: {message}");
                disk.change(shard, |file| file[at] ^= mask);
            }
        }
        let damaged = 5 * length as u64;
        assert_eq!(counted(&store), [0, 0, 0, damaged]);
        assert_holds(&store, &model(&vec![(b"key".to_vec(), value)]));
    }
}

#[test]
fn a_damaged_record_among_others_of_its_file_harms_no_other_key() {
    let disk = MemoryDisk::default();
    let pairs: Pairs = (0..4).map(|at| (format!("key{at}").into_bytes(), vec![at; 40 * usize::from(at)])).collect();
    let (broken, whole) = (&pairs[1], [&pairs[0], &pairs[2], &pairs[3]]);
    // One shard and one hash: the first key stands in the table and the others in the fallback map.
    let store = load(&pairs, &on(&disk, Options { hash_bits: 0, resident_items: 0, ..options() })).unwrap();
    let file = disk.files()[0].1.clone();
    let (start, end) = (start_of(&file, &broken.0), start_of(&file, &pairs[2].0));
    assert!(start > 0 && end > start + 40);
    for at in start..end {
        disk.change(0, |file| file[at] ^= 0x42);
        let message = error(get(&store, &broken.0)).to_string();
        assert!(message.contains(&format!("shard 0 at offset {start}:")), "byte {at}: {message}");
        for (key, value) in whole {
            assert_eq!(get(&store, key).unwrap().as_ref(), Some(value));
        }
        assert!(matches!(store.check(), Err(StoreError::Damaged(_))), "check() overlooks byte {at}");
        disk.change(0, |file| file[at] ^= 0x42);
    }
    assert_holds(&store, &model(&pairs));
}

#[test]
fn a_record_in_the_place_of_another_is_an_error() {
    let disk = MemoryDisk::default();
    let pairs = vec![(b"one".to_vec(), b"first".to_vec()), (b"two".to_vec(), b"other".to_vec())];
    let store = load(&pairs, &on(&disk, Options { hash_bits: 0, resident_items: 0, ..options() })).unwrap();
    disk.change(0, |file| file.rotate_left(16));
    for (key, _) in &pairs {
        assert!(matches!(error(get(&store, key)), StoreError::Damaged(_)));
    }
}

#[test]
fn a_copy_in_memory_is_right_whatever_becomes_of_its_record() {
    let disk = MemoryDisk::default();
    let (store, shard) = one(&disk, &on(&disk, options()), b"value");
    get(&store, b"key").unwrap();
    disk.change(shard, Vec::clear);
    disk.reads.always_fail(libc::EIO);
    assert_eq!(get(&store, b"key").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(counted(&store), [1, 1, 0, 0]);
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    for value_bytes in [9, 700] {
        let disk = MemoryDisk::default();
        let (store, shard) = one(&disk, &cold(&disk), &vec![3; value_bytes]);
        let whole = disk.files()[0].1.clone();
        for length in 0..whole.len() {
            disk.change(shard, |file| file.truncate(length));
            let message = error(get(&store, b"key")).to_string();
            let place = format!("shard {shard} at offset 0: the file ends before it should");
            assert!(message.contains(&place), "{length} bytes: {message}");
            disk.change(shard, |file| file.clone_from(&whole));
        }
        assert_eq!(counted(&store), [0, 0, 0, whole.len() as u64]);
        assert!(get(&store, b"key").unwrap().is_some());
    }
}

#[test]
fn a_disk_that_fills_up_at_any_moment_of_a_load_is_an_error_and_leaves_nothing() {
    let pairs = numbered(120, 1);
    let disk = MemoryDisk::default();
    let config = on(&disk, Options { load_buffer: 300, ..options() });
    let needed = load(&pairs, &config).unwrap().statistics().disk_bytes;
    for room in (0..needed).step_by(229).chain([needed - 1]) {
        disk.set_room(Some(room));
        let error = error(load(&pairs, &config));
        assert_eq!(errno(&error), Some(libc::ENOSPC));
        let message = error.to_string();
        assert!(message.contains("writing to the file of shard") && message.contains("in memory"), "{message}");
        assert_eq!(disk.files().len(), 0, "{room} bytes of room: a file is left");
    }
    disk.set_room(Some(needed));
    assert_holds(&load(&pairs, &config).unwrap(), &model(&pairs));
}

/// Old contents of which some keys have copies, on a disk that has no room for new contents.
fn served(disk: &MemoryDisk, config: &Config) -> (Swapped<Hybrid>, Model) {
    let pairs = numbered(120, 1);
    let store = Swapped::<Hybrid>::load(&mut Slice::new(&pairs), config).unwrap();
    for (key, _) in &pairs[..40] {
        get(&store, key).unwrap();
    }
    assert!(!disk.files().is_empty());
    (store, model(&pairs))
}

#[test]
fn a_refresh_that_fails_at_any_moment_leaves_the_old_contents_serving_every_key() {
    let disk = MemoryDisk::default();
    let config = on(&disk, Options { resident_items: 30, load_buffer: 300, ..options() });
    let (store, old) = served(&disk, &config);
    let (files, next) = (disk.files().len(), numbered(150, 2));
    let refresh = |room| {
        disk.set_room(room);
        store.refresh(&mut Slice::new(&next), &config)
    };
    for room in (0..8000).step_by(397) {
        assert_eq!(errno(&error(refresh(Some(room)))), Some(libc::ENOSPC));
        assert_holds(&store, &old);
        assert_eq!(disk.files().len(), files, "{room} bytes of room: a file of the failed refresh is left");
    }
    disk.creations.decide(|call| if call == 77 { Outcome::Fails(libc::EACCES) } else { Outcome::Whole });
    assert_eq!(errno(&error(refresh(None))), Some(libc::EACCES));
    assert_holds(&store, &old);
    // The new contents are whole by now, and the copies of what was used of late are being read.
    disk.creations.succeed();
    disk.reads.decide(|call| if call == 11 { Outcome::Fails(libc::EIO) } else { Outcome::Whole });
    assert_eq!(errno(&error(refresh(None))), Some(libc::EIO));
    disk.reads.succeed();
    assert_holds(&store, &old);
    refresh(None).unwrap();
    assert_holds(&store, &model(&next));
}

#[test]
fn a_put_that_finds_the_disk_full_leaves_the_old_value_and_the_next_one_works() {
    for (resident_items, hash_bits) in [(0, 48), (50, 48), (0, 0), (50, 0)] {
        let disk = MemoryDisk::default();
        let config = on(&disk, Options { resident_items, hash_bits, ..options() });
        let (store, mut expected) = served(&disk, &config);
        let keys: Vec<Vec<u8>> = expected.keys().cloned().chain([b"brand new".to_vec()]).collect();
        let mut failed = 0;
        for (number, key) in keys.iter().enumerate() {
            let value = format!("put {number}").into_bytes();
            // From none to enough for a part of a record: the part is written over by the next put.
            disk.set_room(Some(number as u64 % 16));
            if let Err(error) = updates(&store).put(key, &value) {
                assert_eq!(errno(&error), Some(libc::ENOSPC));
                assert_eq!(get(&store, key).unwrap().as_ref(), expected.get(key));
                failed += 1;
                disk.set_room(None);
                updates(&store).put(key, &value).unwrap();
            }
            expected.insert(key.clone(), value);
        }
        assert!(failed > 100, "only {failed} puts found the disk full");
        assert_eq!(store.current().statistics().errors, failed);
        disk.set_room(Some(0));
        assert!(updates(&store).remove(&keys[3]).unwrap(), "a remove needs no room");
        expected.remove(&keys[3]);
        assert_holds(&store, &expected);
    }
}
