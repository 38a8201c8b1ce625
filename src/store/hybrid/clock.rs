//! The coarse clock of the resident tier. Knows nothing of stores.
//!
//! Reading the time in every get cost the article's authors 3 to 5% of CPU, so a background thread keeps an atomic fresh
//! and a get reads that. The clock is passed in: tests and simulations set their own.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::measure;

/// Milliseconds since some start. It may stand still, and is meant to be read in every get.
pub trait Clock: Debug + Send + Sync {
    fn now_ms(&self) -> u64;
}

/// A clock that stands until it is moved.
#[derive(Debug, Default)]
pub struct Manual(AtomicU64);

impl Manual {
    pub fn at(now_ms: u64) -> Self {
        Self(AtomicU64::new(now_ms))
    }

    pub fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as u64, Relaxed);
    }
}

impl Clock for Manual {
    fn now_ms(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The standard library's clock, read anew by every get: what the background thread spares.
#[derive(Debug)]
pub struct System(std::time::Instant);

impl System {
    #[expect(clippy::disallowed_methods, reason = "this clock is the one that is compared with the others")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Clock for System {
    #[inline]
    fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}

/// The processor's time stamp counter, read anew by every get.
#[derive(Debug)]
pub struct Counter {
    clock: measure::clock::Clock,
    start: u64,
}

impl Counter {
    pub fn start() -> Self {
        let clock = measure::clock::Clock::new();
        let start = clock.raw();
        Self { clock, start }
    }
}

impl Clock for Counter {
    #[inline]
    fn now_ms(&self) -> u64 {
        self.clock.nanos(self.start, self.clock.raw()) / 1_000_000
    }
}

/// `CLOCK_MONOTONIC_COARSE`: the system's own time of its last tick, some 4 ms old at most, read anew by every get.
#[derive(Debug)]
pub struct Coarse;

impl Clock for Coarse {
    #[inline]
    fn now_ms(&self) -> u64 {
        measure::clock::coarse_ms()
    }
}

/// How often the thread of [`Ticking`] wakes up: a tenth of the second in which an entry is touched at most once.
const TICK: Duration = Duration::from_millis(100);

/// A clock that one background thread keeps, for all stores of the process. The thread ends with the last of them.
#[derive(Debug)]
pub struct Ticking {
    now_ms: Arc<AtomicU64>,
}

/// The thread, and how many clocks it serves.
struct Ticker {
    users: usize,
    now_ms: Arc<AtomicU64>,
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<()>,
}

static TICKER: Mutex<Option<Ticker>> = Mutex::new(None);

impl Ticking {
    /// The process's clock; starts its thread for the first user.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start() -> std::io::Result<Self> {
        let mut ticker = TICKER.lock();
        if let Some(ticker) = &mut *ticker {
            ticker.users += 1;
            return Ok(Self { now_ms: ticker.now_ms.clone() });
        }
        let (now_ms, stop) = (Arc::<AtomicU64>::default(), Arc::<(Mutex<bool>, Condvar)>::default());
        let (thread_now, thread_stop) = (now_ms.clone(), stop.clone());
        let thread =
            thread::Builder::new().name("larder-clock".to_owned()).spawn(move || tick(&thread_now, &thread_stop))?;
        *ticker = Some(Ticker { users: 1, now_ms: now_ms.clone(), stop, thread });
        Ok(Self { now_ms })
    }
}

impl Clock for Ticking {
    #[inline]
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Relaxed)
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        let mut ticker = TICKER.lock();
        if let Some(ticker) = &mut *ticker {
            ticker.users -= 1;
        }
        let last = ticker.take_if(|ticker| ticker.users == 0);
        drop(ticker);
        if let Some(last) = last {
            *last.stop.0.lock() = true;
            last.stop.1.notify_one();
            // The thread does nothing that could panic.
            let _ = last.thread.join();
        }
    }
}

fn tick(now_ms: &AtomicU64, stop: &(Mutex<bool>, Condvar)) {
    let clock = measure::clock::Clock::new();
    let start = clock.raw();
    let mut stopped = stop.0.lock();
    while !*stopped {
        now_ms.store(clock.nanos(start, clock.raw()) / 1_000_000, Relaxed);
        stop.1.wait_for(&mut stopped, TICK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_serves_all_clocks_and_ends_with_the_last() {
        let (first, second) = (Ticking::start().unwrap(), Ticking::start().unwrap());
        assert!(Arc::ptr_eq(&first.now_ms, &second.now_ms));
        let now = first.now_ms.clone();
        drop(first);
        assert!(TICKER.lock().is_some());
        drop(second);
        // Other tests of the process may have started clocks meanwhile; this one's thread gave up its share or lives on.
        assert!(
            TICKER.lock().as_ref().is_some_and(|ticker| Arc::ptr_eq(&ticker.now_ms, &now))
                || Arc::strong_count(&now) == 1
        );
    }

    #[test]
    fn a_ticking_clock_moves_on() {
        let clock = Ticking::start().unwrap();
        let before = clock.now_ms();
        let moved = (0..200).any(|_| {
            thread::sleep(TICK / 10);
            clock.now_ms() > before
        });
        assert!(moved, "the clock stood still for two seconds");
    }
}
