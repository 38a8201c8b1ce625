//! Memory while a second copy is built and swapped in, with readers going on: the peak, the time series, what stays afterwards.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::emit::Emitter;
use super::heap::{Holding, Snapshot};
use super::memory::{Ending, config, emit_load_peak, load, source, warm_up};
use super::spec::Spec;
use super::tier::Tier;
use super::verify;
use crate::measure::clock::Clock;
use crate::measure::{alloc, memory};
use crate::record::{Phase, Status};
use crate::registry::{Row, Visitor};
use crate::store::swapped::Swapped;
use crate::store::{Reader, Store};
use crate::workload::keys::{self, KeySet};

/// Readings of a time series, at most this often.
const SAMPLE_EVERY: Duration = Duration::from_millis(5);
/// Points of a time series that are kept: enough for a figure of any width.
const POINTS: usize = 400;
/// Keys that the readers ask for while the refresh goes on; few, so that the harness's own copy of them stays small.
const READ_KEYS: u64 = 2_000;
/// A pause before and after the refresh, so that the time series shows what was and what stays.
const CALM: Duration = Duration::from_millis(60);

pub struct Refresh<'a> {
    pub spec: &'a Spec,
    pub emitter: &'a mut Emitter,
}

impl Visitor for Refresh<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self, row: &'static Row) -> Result<()> {
        let Refresh { spec, emitter } = self;
        warm_up::<Swapped<S>>(spec)?;
        let mut asked = Asked::collect(spec)?;
        let mut series = Series::with_room();
        let baseline = Snapshot::take()?;
        Snapshot::start_phase()?;
        let store: Swapped<S> = load(spec)?;
        let loaded = Snapshot::take()?;
        let holding = Holding::of(&store);
        // A service that is refreshed has been asked before: a resident tier is full, and a design that carries it over has it to carry.
        verify::answers(&store, row, spec)?;
        asked.ask(&store)?;
        let warm = Tier::of(&store);
        alloc::purge();
        let steady = Snapshot::take()?;
        Snapshot::start_phase()?;
        let reads = refresh_under_readers(&store, spec, &asked, &mut series)?;
        let after = Snapshot::take()?;
        let kept = Tier::of(&store);
        alloc::purge();
        let after_purged = Snapshot::take()?;
        let answers = verify::answers(&store, row, spec)?;
        store.check().context("after the refresh")?;
        let ending = Ending::of(store)?;

        baseline.emit(Phase::Baseline, &baseline, emitter);
        emit_load_peak(&loaded, &baseline, emitter);
        loaded.emit(Phase::Steady, &baseline, emitter);
        holding.emit(Phase::Steady, &loaded, &baseline, emitter);
        steady.emit(Phase::Purged, &baseline, emitter);
        warm.emit(Phase::Warm, emitter);
        kept.emit(Phase::After, emitter);
        emit_peak(&steady, &after, &baseline, emitter);
        after.emit(Phase::After, &baseline, emitter);
        after_purged.emit(Phase::AfterPurged, &baseline, emitter);
        series.emit(&baseline, emitter);
        reads.emit(emitter);
        ending.emit(&baseline, emitter);
        answers.emit(emitter);
        verify::entries(holding.entries, row, spec, emitter)
    }
}

/// The steady state is taken after a purge: what the load's growth had left free in the allocator would hide a part of the peak.
fn emit_peak(steady: &Snapshot, after: &Snapshot, baseline: &Snapshot, emitter: &mut Emitter) {
    let (resident, requested) = (after.peak_growth(baseline), after.peak_requested(baseline));
    emitter.row(Phase::Refresh, "hwm_bytes", after.memory.hwm as f64);
    emitter.row(Phase::Refresh, "refresh_extra_rss_bytes", resident - steady.growth(baseline));
    if steady.growth(baseline) > 0.0 {
        emitter.row(Phase::Refresh, "refresh_peak_ratio", resident / steady.growth(baseline));
    }
    if alloc::counting() {
        let before = steady.requested(baseline);
        emitter.row(Phase::Refresh, "peak_requested_bytes", requested);
        emitter.row(Phase::Refresh, "refresh_extra_requested_bytes", requested - before);
        if before > 0.0 {
            emitter.row(Phase::Refresh, "refresh_requested_peak_ratio", requested / before);
        }
    }
}

/// What the readers saw while the contents were replaced by equal ones: every answer must be right, before, during and after.
#[derive(Default)]
struct Reads {
    gets: u64,
    wrong: u64,
}

impl Reads {
    fn emit(&self, emitter: &mut Emitter) {
        if self.wrong > 0 {
            let reason = format!("{} of {} gets during the refresh were wrong", self.wrong, self.gets);
            emitter.fault(Status::WrongAnswer, reason);
        }
    }
}

fn refresh_under_readers<S: Store>(
    store: &Swapped<S>,
    spec: &Spec,
    asked: &Asked,
    series: &mut Series,
) -> Result<Reads> {
    let over = AtomicBool::new(false);
    let mut total = Reads::default();
    std::thread::scope(|scope| {
        let over = &over;
        let sampler = scope.spawn(move || series.run(over));
        let read = |number: u32| move || asked.read_until(store, spec.seed ^ u64::from(number + 1), over);
        let readers: Vec<_> = (0..spec.threads).map(|number| scope.spawn(read(number))).collect();
        std::thread::sleep(CALM);
        let refreshed = source(spec).and_then(|mut items| Ok(store.refresh(&mut *items, &config(spec))?));
        std::thread::sleep(CALM);
        over.store(true, Ordering::Relaxed);
        for reader in readers {
            let reads = reader.join().map_err(|_| anyhow!("a reader panicked during the refresh"))??;
            total.gets += reads.gets;
            total.wrong += reads.wrong;
        }
        sampler.join().map_err(|_| anyhow!("the sampler panicked"))??;
        refreshed.context("refresh")
    })?;
    Ok(total)
}

/// Keys that the readers ask for, with the answers of the store before its refresh (which are verified against the source later).
struct Asked {
    keys: KeySet,
    answers: Vec<Option<u64>>,
}

impl Asked {
    fn collect(spec: &Spec) -> Result<Self> {
        let keys = KeySet::collect(&mut *source(spec)?, Some(READ_KEYS))?;
        let answers = vec![None; keys.len() as usize];
        Ok(Self { keys, answers })
    }

    fn ask<S: Store>(&mut self, store: &S) -> Result<()> {
        let mut reader = store.reader();
        for (number, answer) in self.answers.iter_mut().enumerate() {
            *answer = reader.get(self.keys.key(number as u64), keys::checksum)?;
        }
        Ok(())
    }

    /// Gets in short batches with pauses: enough to hold copies in use as a service would, without taking a core from the refresh.
    fn read_until<S: Store>(&self, store: &S, seed: u64, over: &AtomicBool) -> Result<Reads> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut reader = store.reader();
        let mut reads = Reads::default();
        while !over.load(Ordering::Relaxed) && !self.answers.is_empty() {
            for _ in 0..64 {
                let number = rng.random_range(0..self.answers.len());
                let answer = reader.get(self.keys.key(number as u64), keys::checksum)?;
                reads.gets += 1;
                reads.wrong += u64::from(answer != self.answers[number]);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(reads)
    }
}

/// Resident and requested bytes over time; its memory is taken beforehand.
struct Series {
    points: Vec<(u64, u64, i64)>,
}

impl Series {
    fn with_room() -> Self {
        Self { points: Vec::with_capacity(POINTS) }
    }

    /// Takes a reading every few milliseconds; when the room is full, every second one goes and the pace halves.
    fn run(&mut self, over: &AtomicBool) -> Result<()> {
        let clock = Clock::new();
        let start = clock.raw();
        let mut pace = SAMPLE_EVERY;
        while !over.load(Ordering::Relaxed) {
            if self.points.len() == POINTS {
                let mut number = 0;
                self.points.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                pace *= 2;
            }
            let resident = memory::resident_of(std::process::id()).context("reading /proc/self/statm")?;
            self.points.push((clock.nanos(start, clock.raw()), resident, alloc::counters().live_requested));
            std::thread::sleep(pace);
        }
        Ok(())
    }

    fn emit(&self, baseline: &Snapshot, emitter: &mut Emitter) {
        for &(at, resident, requested) in &self.points {
            let growth = resident as f64 - baseline.memory.rss as f64;
            emitter.timeline(at, Phase::Refresh, "rss_growth_bytes", growth);
            if alloc::counting() {
                let live = (requested - baseline.counters.live_requested) as f64;
                emitter.timeline(at, Phase::Refresh, "live_requested_bytes", live);
            }
        }
    }
}
