//! Throughput and latency of gets. Nothing is counted here: counting slows every allocation.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow};

use super::emit::Emitter;
use super::heap::Snapshot;
use super::memory::{self, load};
use super::spec::Spec;
use super::tier::Tier;
use super::verify;
use crate::measure::clock::{self, Clock};
use crate::measure::latency::Latencies;
use crate::record::Phase;
use crate::registry::{Row, Visitor};
use crate::stats;
use crate::store::{Reader, Store, StoreError};
use crate::workload::keys::KeySet;
use crate::workload::requests::{Batch, Requests};

/// Gets between two clock readings: their keys (some 80 KB) stay in a second-level cache, and the clock's cost vanishes.
const BATCH: usize = 1024;
/// In the latency pass one get in so many is timed on its own.
const SAMPLE_ONE_IN: usize = 8;

pub struct Time<'a> {
    pub spec: &'a Spec,
    pub emitter: &'a mut Emitter,
}

impl Visitor for Time<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self, row: &'static Row) -> Result<()> {
        let Time { spec, emitter } = self;
        let keys = memory::keys(spec)?;
        let clock = Clock::new();
        let start = clock.raw();
        let store: S = load(spec)?;
        let load_ns = clock.nanos(start, clock.raw());
        let holding = super::heap::Holding::of(&store);
        warm_up(&store, &keys, spec)?;
        let before = Tier::of(&store);
        let rate = run_threads(&store, &keys, spec, Pass::Throughput)?;
        let after = Tier::of(&store);
        let sampled = run_threads(&store, &keys, spec, Pass::Latency(clock.cost_ns()))?;
        let end = Snapshot::take()?;
        let answers = verify::answers(&store, row, spec)?;
        store.check().context("after the reads")?;

        emitter.row(Phase::Load, "load_seconds", load_ns as f64 / 1e9);
        rate.emit_rate(emitter);
        after.emit_hit_ratio(&before, emitter);
        emitter.row(Phase::Read, "timer_cost_ns", clock.cost_ns());
        emitter.row(Phase::Read, "rss_bytes", end.memory.rss as f64);
        emitter.row(Phase::Read, "entries", holding.entries as f64);
        emitter.latencies("get", &sampled.latencies);
        answers.emit(emitter);
        drop(store);
        verify::entries(holding.entries, row, spec, emitter)
    }
}

/// Keys that are asked for once before anything is timed, the hottest last: more than a resident tier holds, so that what it holds then are the
/// hottest. Every store is treated so.
const WARMED: u64 = 1 << 16;

fn warm_up<S: Store>(store: &S, keys: &KeySet, spec: &Spec) -> Result<()> {
    let requests = Requests::new(keys, spec.zipf, spec.seed, 0)?;
    let mut reader = store.reader();
    requests.hottest_last(WARMED).try_for_each(|key| reader.get(key, |_| ()).map(|_| ()))?;
    Ok(())
}

#[derive(Clone, Copy)]
enum Pass {
    /// Whole batches between two clock readings.
    Throughput,
    /// Single gets, sampled; the calibrated cost of the clock is taken off each.
    Latency(f64),
}

/// What one thread, or all of them together, did.
#[derive(Default)]
struct Work {
    gets: u64,
    /// Wall time spent in gets, per batch, nanoseconds per get.
    batch_ns: Vec<f64>,
    cpu_ns: u64,
    latencies: Latencies,
    /// Sum over threads of gets per second of time spent in gets.
    gets_per_second: f64,
}

impl Work {
    fn add(&mut self, other: Work) {
        self.gets += other.gets;
        self.batch_ns.extend(other.batch_ns);
        self.cpu_ns += other.cpu_ns;
        self.latencies.merge(&other.latencies);
        self.gets_per_second += other.gets_per_second;
    }

    fn emit_rate(&self, emitter: &mut Emitter) {
        if let Some(ns) = stats::median(&self.batch_ns) {
            emitter.row(Phase::Read, "get_ns", ns);
            emitter.row(Phase::Read, "get_cpu_ns", self.cpu_ns as f64 / self.gets as f64);
            emitter.row(Phase::Read, "gets_per_second", self.gets_per_second);
        }
    }
}

/// Runs one pass on every thread at once, for half of the cell's reading time.
fn run_threads<S: Store>(store: &S, keys: &KeySet, spec: &Spec, pass: Pass) -> Result<Work> {
    let start = Barrier::new(spec.threads as usize);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..spec.threads)
            .map(|number| {
                let (start, over) = (&start, &over);
                scope.spawn(move || {
                    let mut requests = Requests::new(keys, spec.zipf, spec.seed, spec.stream_seed(number))?;
                    let mut thread = Thread { clock: Clock::new(), batch: Batch::default(), work: Work::default() };
                    start.wait();
                    // One untimed batch: the thread's own set-up and the first touch of its memory.
                    thread.step(store, &mut requests, Pass::Throughput)?;
                    thread.work = Work::default();
                    thread.run(store, &mut requests, spec.read_ms * 500_000, pass, over)
                })
            })
            .collect();
        let mut total = Work::default();
        for thread in threads {
            total.add(thread.join().map_err(|_| anyhow!("a reading thread panicked"))??);
        }
        anyhow::Ok(total)
    })
}

struct Thread {
    clock: Clock,
    batch: Batch,
    work: Work,
}

impl Thread {
    /// Reads until the time is over. The first thread to reach it ends the pass for all, so that all were at work all along.
    fn run<S: Store>(
        mut self,
        store: &S,
        requests: &mut Requests,
        wall_ns: u64,
        pass: Pass,
        over: &AtomicBool,
    ) -> Result<Work> {
        let start = self.clock.raw();
        while !over.load(Ordering::Relaxed) {
            self.step(store, requests, pass)?;
            if self.clock.nanos(start, self.clock.raw()) >= wall_ns {
                over.store(true, Ordering::Relaxed);
            }
        }
        let seconds = self.work.batch_ns.iter().sum::<f64>() * BATCH as f64 / 1e9;
        self.work.gets_per_second = if seconds > 0.0 { self.work.gets as f64 / seconds } else { 0.0 };
        Ok(self.work)
    }

    /// One batch: keys are made first, then read.
    fn step<S: Store>(&mut self, store: &S, requests: &mut Requests, pass: Pass) -> Result<()> {
        requests.fill(&mut self.batch, BATCH);
        let mut reader = store.reader();
        let seen = match pass {
            Pass::Throughput => self.whole(&mut reader)?,
            Pass::Latency(cost) => self.sampled(&mut reader, cost)?,
        };
        std::hint::black_box(seen);
        Ok(())
    }

    fn whole(&mut self, reader: &mut impl Reader) -> Result<u64, StoreError> {
        let cpu = clock::thread_cpu_ns();
        let from = self.clock.raw();
        let mut seen = 0u64;
        for key in self.batch.iter() {
            seen = seen.wrapping_add(reader.get(key, touch)?.unwrap_or(1));
        }
        let to = self.clock.raw();
        self.work.cpu_ns += clock::thread_cpu_ns() - cpu;
        self.work.batch_ns.push(self.clock.nanos(from, to) as f64 / BATCH as f64);
        self.work.gets += BATCH as u64;
        Ok(seen)
    }

    fn sampled(&mut self, reader: &mut impl Reader, cost: f64) -> Result<u64, StoreError> {
        let mut seen = 0u64;
        for (number, key) in self.batch.iter().enumerate() {
            if number % SAMPLE_ONE_IN == 0 {
                let from = self.clock.raw();
                let value = reader.get(key, touch)?;
                let to = self.clock.raw();
                seen = seen.wrapping_add(value.unwrap_or(1));
                let ns = self.clock.nanos(from, to) as f64 - cost;
                self.work.latencies.record(ns.max(0.0) as u64);
            } else {
                seen = seen.wrapping_add(reader.get(key, touch)?.unwrap_or(1));
            }
        }
        Ok(seen)
    }
}

/// Reads every byte of the value, as a user would who sends it on; eight at a time.
#[inline]
pub fn touch(value: &[u8]) -> u64 {
    let (words, rest) = value.as_chunks::<8>();
    let sum = words.iter().fold(value.len() as u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, &byte| sum.wrapping_add(u64::from(byte)))
}
