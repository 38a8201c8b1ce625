//! `larder serve` from end to end: the service in a process of its own, requests over loopback by a schedule that does not wait for answers, and a
//! refresh in the middle.
//!
//! A request's latency counts from the moment at which it was due, so that a service that stalls pays for every request that
//! came meanwhile. What of it is the service's own is told by the time from sending to the answer.

mod client;
mod service;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::emit::Emitter;
use super::memory;
use super::spec::Spec;
use super::verify::Answers;
use crate::measure::clock::Clock;
use crate::measure::latency::Latencies;
use crate::record::Phase;
use crate::registry;
use crate::workload::keys::{self, KeySet};
use crate::workload::requests::Requests;
use client::Connection;
use service::Service;

/// Runs the cell. The store is named to the service, so that no type of it is needed here.
pub fn run(spec: &Spec, emitter: &mut Emitter) -> Result<()> {
    let row = registry::find(&spec.store).with_context(|| format!("no store is called {:?}", spec.store))?;
    let rate = spec.requests_per_second.context("http: the experiment's grid gives no requests_per_second")?;
    let keys = memory::keys(spec)?;
    let service = Service::start(spec)?;
    warm_up(&service, &keys, spec)?;
    let idle = service.metrics()?;
    let load = Load { service: &service, keys: &keys, spec, per_connection: rate / f64::from(spec.threads) };
    let (done, refresh_seconds) = load.run()?;
    let served = service.metrics()?;
    service.end()?;

    emitter.row(Phase::Read, "requests_per_second", done.sent as f64 / (spec.read_ms as f64 / 1e3));
    emitter.row(Phase::Refresh, "refresh_seconds", refresh_seconds);
    if let Some(bytes) = idle.value("process_resident_memory_bytes") {
        emitter.row(Phase::Read, "rss_bytes", bytes);
    }
    let since = |name| Some(served.value(name)? - idle.value(name)?);
    if let (Some(hits), Some(misses)) = (since("larder_hybrid_hits_total"), since("larder_hybrid_misses_total")) {
        emitter.row(Phase::Read, "hit_ratio", hits / (hits + misses));
    }
    for (operation, latencies, p99) in
        [("get", &done.from_due, "due_p99_ns"), ("get-sent", &done.from_sent, "sent_p99_ns")]
    {
        emitter.latencies(operation, latencies);
        if let Some((_, ns)) = latencies.percentiles().into_iter().find(|(percentile, _)| *percentile == 99.0) {
            emitter.row(Phase::Read, p99, ns as f64);
        }
    }
    if row.answers() {
        done.answers.emit(emitter);
    }
    Ok(())
}

/// Keys that are asked for once before anything is timed, the hottest last.
const WARMED: u64 = 20_000;

fn warm_up(service: &Service, keys: &KeySet, spec: &Spec) -> Result<()> {
    let requests = Requests::new(keys, spec.zipf, spec.seed, 0)?;
    let mut connection = Connection::open(service.address)?;
    requests.hottest_last(WARMED).try_for_each(|key| connection.translate(key).map(|_| ()))
}

struct Load<'a> {
    service: &'a Service,
    keys: &'a KeySet,
    spec: &'a Spec,
    /// Requests a second of each connection.
    per_connection: f64,
}

/// What one connection, or all of them, did.
#[derive(Default)]
struct Done {
    sent: u64,
    from_due: Latencies,
    from_sent: Latencies,
    answers: Answers,
}

impl Done {
    fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.from_due.merge(&other.from_due);
        self.from_sent.merge(&other.from_sent);
        self.answers.add(other.answers);
    }
}

impl Load<'_> {
    /// All connections at once; after a quarter of the time the service is told to refresh. Returns the seconds that the refresh took as well.
    fn run(&self) -> Result<(Done, f64)> {
        let (start, failed) = (Barrier::new(self.spec.threads as usize + 1), AtomicBool::new(false));
        let mut total = Done::default();
        std::thread::scope(|scope| {
            let connections: Vec<_> = (0..self.spec.threads)
                .map(|number| {
                    let (start, failed) = (&start, &failed);
                    scope.spawn(move || {
                        let done = Connection::open(self.service.address).map_err(anyhow::Error::from);
                        start.wait();
                        let done = done.and_then(|connection| self.connection(number, connection, failed));
                        done.inspect_err(|_| failed.store(true, Ordering::Relaxed))
                    })
                })
                .collect();
            start.wait();
            std::thread::sleep(Duration::from_millis(self.spec.read_ms / 4));
            let refreshed = self.service.refresh();
            for connection in connections {
                total.add(connection.join().map_err(|_| anyhow!("a connection's thread panicked"))??);
            }
            Ok((total, refreshed?))
        })
    }

    /// One connection's requests, each when it is due or, behind a slow one, as soon as that is answered.
    fn connection(&self, number: u32, mut connection: Connection, failed: &AtomicBool) -> Result<Done> {
        let spec = self.spec;
        let mut requests = Requests::new(self.keys, spec.zipf, spec.seed, spec.stream_seed(number))?;
        sleep_exactly();
        let clock = Clock::new();
        let (mut done, start) = (Done::default(), clock.raw());
        let gap_ns = 1e9 / self.per_connection;
        // The connections' schedules interleave.
        let first_ns = gap_ns * f64::from(number) / f64::from(spec.threads);
        loop {
            let due_ns = (first_ns + gap_ns * done.sent as f64) as u64;
            if due_ns >= spec.read_ms * 1_000_000 || failed.load(Ordering::Relaxed) {
                return Ok(done);
            }
            let number = requests.next_number();
            wait_until(&clock, start, due_ns);
            let sent_ns = clock.nanos(start, clock.raw());
            let answer = connection.translate(self.keys.key(number))?;
            let answered_ns = clock.nanos(start, clock.raw());
            done.sent += 1;
            done.from_due.record(answered_ns.saturating_sub(due_ns));
            done.from_sent.record(answered_ns - sent_ns);
            done.answers.note(self.keys, number, answer.map(keys::checksum));
        }
    }
}

/// The kernel may wake a sleeper 50 µs late, to save power; that would count as the service's latency.
fn sleep_exactly() {
    // SAFETY: takes numbers alone, and concerns the calling thread. Where it fails, requests are sent a little later than they are due.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

fn wait_until(clock: &Clock, start: u64, due_ns: u64) {
    let now = clock.nanos(start, clock.raw());
    if due_ns > now {
        std::thread::sleep(Duration::from_nanos(due_ns - now));
    }
}
