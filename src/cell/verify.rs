//! Whether the store gave right answers. Comes after what was measured, reads the source once more, and holds next to nothing.

use std::collections::HashSet;

use anyhow::{Context, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use xxhash_rust::xxh3::xxh3_64;

use super::emit::Emitter;
use super::memory::source;
use super::spec::Spec;
use crate::items::Items;
use crate::record::{Phase, Status};
use crate::registry::Row;
use crate::store::{Reader, Store};
use crate::workload::keys::{self, KeySet};

/// One in so many keys is also asked for with bytes behind it that no source has: the answer must be "absent".
const ABSENT_EVERY: u64 = 16;
const NEVER_LOADED: &[u8] = b"\xff\0never loaded\0\xff";

/// What the comparison of a store with its source found.
#[derive(Default)]
pub struct Answers {
    compared: u64,
    wrong: u64,
    phantoms: u64,
    first: Option<String>,
}

impl Answers {
    /// Takes in what another thread compared.
    pub fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.phantoms += other.phantoms;
        self.first = self.first.take().or(other.first);
    }

    /// Notes the answer to the key of this number, as its value's checksum.
    pub fn note(&mut self, keys: &KeySet, number: u64, answer: Option<u64>) {
        self.compared += 1;
        if answer != Some(keys.checksum(number)) {
            self.wrong += 1;
            let what = if answer.is_none() { "is missing" } else { "has another value" };
            self.first.get_or_insert_with(|| format!("key {:?} {what}", String::from_utf8_lossy(keys.key(number))));
        }
    }

    pub fn emit(&self, emitter: &mut Emitter) {
        emitter.row(Phase::Cell, "verified_gets", self.compared as f64);
        self.emit_faults(emitter);
    }

    /// The faults alone, where other answers of the cell are counted as verified.
    pub fn emit_faults(&self, emitter: &mut Emitter) {
        if self.wrong + self.phantoms > 0 {
            let first = self.first.as_deref().unwrap_or_default();
            let reason = format!(
                "{} of {} answers were wrong and {} absent keys were found; for one, {first}",
                self.wrong, self.compared, self.phantoms
            );
            emitter.fault(Status::WrongAnswer, reason);
        }
    }
}

/// Compares every answer with the source. Where a key comes twice, the store's answer must be the last of them: an answer that differs
/// from an item is under suspicion until an item of the same key agrees with it.
pub fn answers<S: Store>(store: &S, row: &Row, spec: &Spec) -> Result<Answers> {
    let mut found = Answers::default();
    if !row.answers() {
        return Ok(found);
    }
    let mut reader = store.reader();
    let mut suspects: HashSet<u64> = HashSet::new();
    let mut absent = Vec::new();
    let mut items = source(spec)?;
    while let Some(item) = items.next_item().context("data")? {
        found.compared += 1;
        let same = reader.get(item.key, |value| value == item.value)?;
        if same == Some(true) {
            if !suspects.is_empty() {
                suspects.remove(&xxh3_64(item.key));
            }
        } else {
            suspects.insert(xxh3_64(item.key));
            let what = if same.is_none() { "is missing" } else { "has another value" };
            found.first.get_or_insert_with(|| format!("key {:?} {what}", String::from_utf8_lossy(item.key)));
        }
        if found.compared % ABSENT_EVERY == 0 {
            absent.clear();
            absent.extend_from_slice(item.key);
            absent.extend_from_slice(NEVER_LOADED);
            if reader.get(&absent, |_| ())?.is_some() {
                found.phantoms += 1;
                found
                    .first
                    .get_or_insert_with(|| format!("key {:?} was never loaded", String::from_utf8_lossy(&absent)));
            }
        }
    }
    found.wrong = suspects.len() as u64;
    Ok(found)
}

/// Answers that a sample compares: all of them would take a disk minutes.
const SAMPLED: u64 = 20_000;

/// Compares the answers of keys drawn alike from all with the checksums of the source's values.
pub fn sample<S: Store>(store: &S, row: &Row, keys: &KeySet, seed: u64) -> Result<Answers> {
    let mut found = Answers::default();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut reader = store.reader();
    while row.answers() && found.compared < SAMPLED {
        let number = rng.random_range(0..keys.len());
        let answer = reader.get(keys.key(number), keys::checksum)?;
        found.note(keys, number, answer);
    }
    Ok(found)
}

/// Figures per entry are only as true as the number of entries: counts the source's distinct keys, once the store is gone.
pub fn entries(claimed: u64, row: &Row, spec: &Spec, emitter: &mut Emitter) -> Result<()> {
    if !row.answers() {
        return Ok(());
    }
    let mut keys: HashSet<u64> = HashSet::new();
    let mut items = source(spec)?;
    while let Some(item) = items.next_item().context("data")? {
        keys.insert(xxh3_64(item.key));
    }
    let distinct = keys.len() as u64;
    if distinct != claimed {
        emitter.fault(Status::WrongAnswer, format!("it says that it holds {claimed} entries; {distinct} were loaded"));
    }
    Ok(())
}
