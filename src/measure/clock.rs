//! The one place that reads clocks. Everything else is handed a [`Clock`] or a figure in nanoseconds.

use crate::stats;

/// A clock on the CPU's time stamp counter where there is one, with its calibrated cost.
#[derive(Debug, Clone)]
pub struct Clock {
    clock: quanta::Clock,
}

/// Pairs of readings that a calibration takes, and how many of them make one figure.
const CALIBRATIONS: usize = 101;
const PAIRS: usize = 64;

impl Clock {
    pub fn new() -> Self {
        Self { clock: quanta::Clock::new() }
    }

    /// A reading in the counter's own unit; two of them make nanoseconds by [`Clock::nanos`].
    #[inline(always)]
    pub fn raw(&self) -> u64 {
        self.clock.raw()
    }

    /// Nanoseconds between two readings; 0 where the second is not later.
    #[inline(always)]
    pub fn nanos(&self, from: u64, to: u64) -> u64 {
        self.clock.delta_as_nanos(from, to)
    }

    /// What an empty pair of readings shows, nanoseconds: the median of many, to be taken off a single timed operation.
    pub fn cost_ns(&self) -> f64 {
        let mut costs = Vec::with_capacity(CALIBRATIONS);
        for _ in 0..CALIBRATIONS {
            let mut ticks = 0;
            for _ in 0..PAIRS {
                let from = self.raw();
                let to = self.raw();
                ticks += to - from;
            }
            costs.push(self.nanos(0, ticks) as f64 / PAIRS as f64);
        }
        stats::median(&costs).unwrap_or(0.0)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Milliseconds by the system's coarse clock: the time of its last tick (`CLOCK_MONOTONIC_COARSE`).
pub fn coarse_ms() -> u64 {
    cpu_ns(libc::CLOCK_MONOTONIC_COARSE) / 1_000_000
}

/// CPU time of the calling thread, nanoseconds. A system call: once per batch, not per operation.
pub fn thread_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of the whole process, nanoseconds.
pub fn process_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn cpu_ns(which: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; both clocks exist on every Linux.
    let code = unsafe { libc::clock_gettime(which, &mut time) };
    assert_eq!(code, 0, "clock_gettime: {}", std::io::Error::last_os_error());
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_grows_with_work_and_the_clock_does_not_go_back() {
        let clock = Clock::new();
        let (wall, cpu) = (clock.raw(), thread_cpu_ns());
        let mut sum = 0u64;
        while thread_cpu_ns() - cpu < 2_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(clock.nanos(wall, clock.raw()) > 0);
        assert!(process_cpu_ns() >= 2_000_000);
        assert!(clock.cost_ns() >= 0.0 && clock.cost_ns() < 1e6);
    }
}
