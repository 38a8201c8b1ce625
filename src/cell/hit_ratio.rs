//! Share of gets that a bounded tier answers, by a clock that the cell moves itself: the same to the last get on every machine.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use super::emit::Emitter;
use super::memory::{self, config, source};
use super::spec::Spec;
use super::tier::Tier;
use super::verify::Answers;
use crate::record::Phase;
use crate::registry::{Row, Visitor};
use crate::store::hybrid::clock::Manual;
use crate::store::{Reader, Store};
use crate::workload::keys::{self, KeySet};
use crate::workload::popularity::lru_hit_ratio;
use crate::workload::requests::Requests;

/// Gets for each entry of the tier: the first third fills it and is not counted.
const GETS_PER_RESIDENT: u64 = 60;

/// Gets in a second of the cell's clock, for each entry of the tier: 5,000 a second for 50,000 resident entries.
const GETS_PER_SECOND_PER_RESIDENT: f64 = 0.1;

pub struct HitRatio<'a> {
    pub spec: &'a Spec,
    pub emitter: &'a mut Emitter,
}

impl Visitor for HitRatio<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self, row: &'static Row) -> Result<()> {
        let HitRatio { spec, emitter } = self;
        let capacity = spec.resident_items.context("hit-ratio: resident_share says how large the tier is")?;
        let keys = memory::keys(spec)?;
        let clock = Arc::new(Manual::at(0));
        let mut config = config(spec);
        config.hybrid.clock = Some(clock.clone());
        let store = S::load(&mut *source(spec)?, &config).context("load")?;
        let mut asker = Asker {
            requests: Requests::new(&keys, spec.zipf, spec.seed, spec.seed ^ u64::from(spec.round) << 32)?,
            keys: &keys,
            answers: Answers::default(),
            per_millisecond: (capacity as f64 * GETS_PER_SECOND_PER_RESIDENT / 1e3).max(0.01),
            due: 0.0,
        };
        asker.ask(&store, &clock, capacity * GETS_PER_RESIDENT / 3)?;
        let before = Tier::of(&store);
        anyhow::ensure!(before.0.is_some(), "{} has no resident tier", row.name);
        asker.ask(&store, &clock, capacity * GETS_PER_RESIDENT * 2 / 3)?;
        let after = Tier::of(&store);
        store.check().context("after the gets")?;

        after.emit_hit_ratio(&before, emitter);
        emitter.row(Phase::Read, "predicted_hit_ratio", lru_hit_ratio(keys.len(), capacity, spec.zipf));
        after.emit(Phase::Read, emitter);
        asker.answers.emit(emitter);
        Ok(())
    }
}

struct Asker<'a> {
    requests: Requests<'a>,
    keys: &'a KeySet,
    answers: Answers,
    per_millisecond: f64,
    /// Gets that are due before the clock moves on.
    due: f64,
}

impl Asker<'_> {
    fn ask(&mut self, store: &impl Store, clock: &Manual, gets: u64) -> Result<()> {
        let mut reader = store.reader();
        for _ in 0..gets {
            let number = self.requests.next_number();
            let answer = reader.get(self.keys.key(number), keys::checksum)?;
            self.answers.note(self.keys, number, answer);
            self.due -= 1.0;
            while self.due < 0.0 {
                clock.advance(Duration::from_millis(1));
                self.due += self.per_millisecond;
            }
        }
        Ok(())
    }
}
