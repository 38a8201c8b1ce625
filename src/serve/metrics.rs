//! What the service counts, and all of it as Prometheus metrics. Knows nothing of how requests come in.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use time::OffsetDateTime;

use super::Service;
use crate::measure::clock::Clock;
use crate::measure::memory;
use crate::measure::prometheus::Exposition;
use crate::store::Store;

/// Status codes that the service answers with.
const CODES: [u16; 5] = [200, 400, 404, 405, 500];

/// Counters of one service.
pub struct Counted {
    clock: Clock,
    requests: [AtomicU64; CODES.len()],
    refreshes: AtomicU64,
    failed: AtomicU64,
    last: Mutex<Last>,
}

/// The latest load or refresh that succeeded.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    ended_unix_ms: i128,
    took_ns: u64,
}

/// The start of something that is timed.
pub struct Timer(u64);

impl Counted {
    pub fn new() -> Self {
        Self {
            clock: Clock::new(),
            requests: Default::default(),
            refreshes: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            last: Mutex::default(),
        }
    }

    pub fn timer(&self) -> Timer {
        Timer(self.clock.raw())
    }

    pub fn answered(&self, code: u16) {
        if let Some(place) = CODES.iter().position(|known| *known == code) {
            self.requests[place].fetch_add(1, Relaxed);
        }
    }

    pub fn loaded(&self, timer: Timer) {
        let ended_unix_ms = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
        *self.last.lock() = Last { ended_unix_ms, took_ns: self.clock.nanos(timer.0, self.clock.raw()) };
    }

    pub fn refreshed(&self, timer: Timer, well: bool) {
        if well {
            self.loaded(timer);
        } else {
            self.failed.fetch_add(1, Relaxed);
        }
        // Last, so that who waits for it to rise finds the rest as it is after the refresh.
        self.refreshes.fetch_add(1, Relaxed);
    }

    fn expose(&self, into: &mut Exposition) {
        let codes = CODES.iter().zip(&self.requests).map(|(code, count)| (*code, count.load(Relaxed)));
        into.counters("larder_http_requests_total", "Requests answered, by status code.", "code", codes);
        // In this order: never more failures than refreshes.
        let (failed, refreshes) = (self.failed.load(Relaxed), self.refreshes.load(Relaxed));
        into.counter("larder_refreshes_total", "Refreshes that ended, well or not.", refreshes.max(failed));
        into.counter(
            "larder_refresh_failures_total",
            "Refreshes that failed; the contents before them are served on.",
            failed,
        );
        let last = *self.last.lock();
        let seconds = |ms: i128| format!("{}.{:03}", ms / 1000, ms % 1000);
        into.gauge(
            "larder_last_refresh_timestamp_seconds",
            "When the contents that are served were loaded, in seconds since 1970.",
            seconds(last.ended_unix_ms),
        );
        into.gauge(
            "larder_last_refresh_duration_seconds",
            "How long that load took.",
            seconds(i128::from(last.took_ns / 1_000_000)),
        );
    }
}

/// All metrics of the service and its store.
pub fn text<S: Store>(service: &Service<S>) -> String {
    let mut into = Exposition::new();
    into.gauges("larder_store_info", "The store that is served.", "store", [(service.row.name, 1)]);
    into.gauge("larder_entries", "Distinct keys that are served.", service.store.entries());
    if let Ok(bytes) = memory::resident_of(std::process::id()) {
        into.gauge("process_resident_memory_bytes", "Resident memory of the process.", bytes);
    }
    service.counted.expose(&mut into);
    if let Some(statistics) = service.store.statistics() {
        statistics.expose(&mut into);
    }
    into.into_text()
}
