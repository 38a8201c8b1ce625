//! A service's day in simulated time: a wave of requests that come whatever the service does, and a refresh every so often.
//!
//! The store's clock is the cell's. A simulated second's requests are asked as fast as the machine can, then the clock moves on; a refresh takes as
//! long as it takes, while the requests of its minute are spread over it. So the day's length over the run's is the factor by which time is
//! compressed, except in the minutes of a refresh. Every answer is compared with the source.

mod log;
mod wave;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::emit::Emitter;
use super::heap::Snapshot;
use super::memory::{self, config, source, warm_up};
use super::spec::{Day, Spec};
use super::tier::Tier;
use super::verify::{self, Answers};
use crate::measure::clock::Clock;
use crate::measure::memory::resident_of;
use crate::record::Phase;
use crate::registry::{Row, Visitor};
use crate::stats;
use crate::store::hybrid::clock::Manual;
use crate::store::swapped::Swapped;
use crate::store::{Config, Reader, Store};
use crate::workload::keys::{self, KeySet};
use crate::workload::popularity::lru_hit_ratio;
use crate::workload::requests::Requests;
use log::Log;

pub struct Serving<'a> {
    pub spec: &'a Spec,
    pub emitter: &'a mut Emitter,
}

impl Visitor for Serving<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self, row: &'static Row) -> Result<()> {
        let Serving { spec, emitter } = self;
        let day = spec.day.context("serving: the experiment's grid gives no `day`")?;
        warm_up::<Swapped<S>>(spec)?;
        let keys = memory::keys(spec)?;
        let log = Log::new(&day, keys.len());
        let requests = Requests::new(&keys, spec.zipf, spec.seed, spec.seed ^ u64::from(spec.round + 1) << 32)?;
        let clock = Arc::new(Manual::at(0));
        let mut config = config(spec);
        config.hybrid.clock = Some(clock.clone());
        let baseline = Snapshot::take()?;
        Snapshot::start_phase()?;
        let timer = Clock::new();
        let start = timer.raw();
        let store: Swapped<S> = S::load(&mut *source(spec)?, &config).map(Swapped::new).context("load")?;
        let load_ns = timer.nanos(start, timer.raw());
        let mut service = Service {
            row,
            keys: &keys,
            requests,
            clock,
            timer,
            spec,
            day,
            config,
            baseline,
            log,
            answers: Answers::default(),
            refresh_ns: Vec::new(),
            expected_refresh_ns: load_ns,
        };
        let start = service.timer.raw();
        service.live(&store)?;
        let wall_ns = service.timer.nanos(start, service.timer.raw());
        // The day asks for hot keys; a store must be right about the others too.
        let sampled = verify::sample(&store, row, &keys, spec.seed)?;
        service.emit(&store, load_ns, wall_ns, emitter);
        sampled.emit(emitter);
        Ok(())
    }
}

/// Sampled memory and requests go on in slices of a simulated second.
const SECONDS: u64 = 60;

struct Service<'a> {
    row: &'static Row,
    keys: &'a KeySet,
    requests: Requests<'a>,
    clock: Arc<Manual>,
    timer: Clock,
    spec: &'a Spec,
    day: Day,
    config: Config,
    baseline: Snapshot,
    log: Log,
    answers: Answers,
    refresh_ns: Vec<f64>,
    /// How long the next refresh will probably take: as long as the one before.
    expected_refresh_ns: u64,
}

impl Service<'_> {
    fn live<S: Store>(&mut self, store: &Swapped<S>) -> Result<()> {
        let minutes = u64::from(self.day.hours) * 60;
        for minute in 0..minutes {
            let is_refresh = minute > 0 && minute.is_multiple_of(u64::from(self.day.refresh_every_minutes));
            let gets = wave::gets(&self.day, minute, self.keys.len());
            if is_refresh {
                self.log.refreshes_at(minute);
                self.refresh_minute(store, gets)?;
            } else {
                for second in 0..SECONDS {
                    self.second(store, second, gets)?;
                }
            }
            self.sample_memory()?;
            self.log.minute_is_over(minute, || store.statistics());
        }
        Ok(())
    }

    /// The refresh goes on beside the minute's requests, a slice of them whenever a sixtieth of its expected time is over.
    fn refresh_minute<S: Store>(&mut self, store: &Swapped<S>, gets: u64) -> Result<()> {
        let pause = Duration::from_nanos(self.expected_refresh_ns / SECONDS);
        let (over, start) = (AtomicBool::new(false), self.timer.raw());
        let (spec, config) = (self.spec, self.config.clone());
        std::thread::scope(|scope| {
            let over = &over;
            let refresh = scope.spawn(move || {
                let refreshed = source(spec).and_then(|mut items| Ok(store.refresh(&mut *items, &config)?));
                over.store(true, Ordering::Release);
                refreshed
            });
            for second in 0..SECONDS {
                self.second(store, second, gets)?;
                self.sample_memory()?;
                if !over.load(Ordering::Acquire) {
                    std::thread::sleep(pause);
                }
            }
            while !over.load(Ordering::Acquire) {
                self.sample_memory()?;
                std::thread::sleep(Duration::from_millis(1));
            }
            refresh.join().map_err(|_| anyhow!("the refresh panicked"))?.context("refresh")
        })?;
        self.expected_refresh_ns = self.timer.nanos(start, self.timer.raw());
        self.refresh_ns.push(self.expected_refresh_ns as f64);
        Ok(())
    }

    /// One simulated second's share of the minute's gets.
    fn second(&mut self, store: &impl Store, second: u64, gets: u64) -> Result<()> {
        let due = gets * (second + 1) / SECONDS - gets * second / SECONDS;
        let mut reader = store.reader();
        for _ in 0..due {
            let number = self.requests.next_number();
            let answer = reader.get(self.keys.key(number), keys::checksum)?;
            if self.row.answers() {
                self.answers.note(self.keys, number, answer);
            }
            self.log.asked(number);
        }
        self.clock.advance(Duration::from_secs(1));
        Ok(())
    }

    /// Resident memory of the instance: what the store added to the process, and the modelled rest of the service.
    fn sample_memory(&mut self) -> Result<()> {
        let resident = resident_of(std::process::id()).context("reading /proc/self/statm")?;
        let other = self.day.other_bytes_per_entry * self.keys.len() as f64;
        self.log.memory(resident as f64 - self.baseline.memory.rss as f64 + other);
        Ok(())
    }

    fn emit(&self, store: &impl Store, load_ns: u64, wall_ns: u64, emitter: &mut Emitter) {
        emitter.row(Phase::Load, "load_seconds", load_ns as f64 / 1e9);
        if let Some(ns) = stats::median(&self.refresh_ns) {
            emitter.row(Phase::Refresh, "refresh_seconds", ns / 1e9);
        }
        let simulated = f64::from(self.day.hours) * 3600.0;
        emitter.row(Phase::Read, "time_compression", simulated * 1e9 / wall_ns as f64);
        emitter.row(Phase::Read, "skew", self.spec.zipf);
        if let Some(capacity) = self.spec.resident_items {
            emitter.row(Phase::Read, "predicted_hit_ratio", lru_hit_ratio(self.keys.len(), capacity, self.spec.zipf));
        }
        self.log.emit(emitter);
        Tier::of(store).emit(Phase::Read, emitter);
        self.answers.emit_faults(emitter);
    }
}
