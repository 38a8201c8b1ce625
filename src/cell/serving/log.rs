//! What is noted while a day goes by, and what it comes to: time series in steps of five minutes, and figures of the whole day.

use super::super::emit::Emitter;
use super::Day;
use crate::record::Phase;
use crate::stats;
use crate::store::hybrid::{Bucket, Statistics};

/// Minutes of one point of a time series.
const STEP: u64 = 5;

/// Minutes of the window in which touched entries are counted: the article's preload window.
const WINDOW: u64 = 15;

/// Steps whose misses make one point of the latency, or as many more as a percentile needs.
const LATENCY_STEPS: usize = 6;

/// Percentiles of the latency of misses, as metrics and as shares.
const PERCENTILES: [(&str, f64); 2] = [("miss_p50_ns", 0.5), ("miss_p99_ns", 0.99)];

/// No percentile stands on fewer samples beyond it.
const BEYOND: f64 = 10.0;

/// Hours that fill the tier and don't count for the figures of the day.
const WARM_UP_HOURS: u64 = 2;

/// Counters of the store and highest memory at the end of a step.
struct Step {
    statistics: Option<Statistics>,
    instance_bytes: f64,
}

pub struct Log {
    steps: Vec<Step>,
    /// Highest since the last step.
    instance_bytes: f64,
    /// A bit for each entry asked for in this window.
    touched: Vec<u64>,
    touched_shares: Vec<f64>,
    entries: u64,
    /// Steps in which a refresh took place.
    refreshes: Vec<usize>,
}

impl Log {
    pub fn new(day: &Day, entries: u64) -> Self {
        let steps = u64::from(day.hours) * 60 / STEP;
        Self {
            steps: Vec::with_capacity(steps as usize),
            instance_bytes: 0.0,
            touched: vec![0; entries.div_ceil(64) as usize],
            touched_shares: Vec::new(),
            entries,
            refreshes: Vec::new(),
        }
    }

    pub fn asked(&mut self, number: u64) {
        self.touched[(number / 64) as usize] |= 1 << (number % 64);
    }

    pub fn memory(&mut self, instance_bytes: f64) {
        self.instance_bytes = self.instance_bytes.max(instance_bytes);
    }

    pub fn refreshes_at(&mut self, minute: u64) {
        self.refreshes.push((minute / STEP) as usize);
    }

    /// Asks for the statistics at the end of a step alone: they take every shard's lock.
    pub fn minute_is_over(&mut self, minute: u64, statistics: impl FnOnce() -> Option<Statistics>) {
        if (minute + 1).is_multiple_of(STEP) {
            self.steps
                .push(Step { statistics: statistics(), instance_bytes: std::mem::take(&mut self.instance_bytes) });
        }
        if (minute + 1).is_multiple_of(WINDOW) {
            let touched: u64 = self.touched.iter().map(|word| u64::from(word.count_ones())).sum();
            self.touched_shares.push(touched as f64 / self.entries as f64);
            self.touched.fill(0);
        }
    }

    pub fn emit(&self, emitter: &mut Emitter) {
        for (place, step) in self.steps.iter().enumerate() {
            let at_ns = (place as u64 + 1) * STEP * 60_000_000_000;
            emitter.timeline(at_ns, Phase::Read, "instance_bytes", step.instance_bytes);
            self.emit_counts(place, at_ns, emitter);
            self.emit_latency(place, at_ns, emitter);
        }
        let memory: Vec<f64> = self.steps.iter().map(|step| step.instance_bytes).collect();
        let peak = memory.iter().copied().fold(0.0, f64::max);
        emitter.row(Phase::Read, "instance_bytes", stats::median(&memory).unwrap_or(f64::NAN));
        emitter.row(Phase::Read, "instance_peak_bytes", peak);
        if let Some(share) = stats::median(&self.touched_shares) {
            emitter.row(Phase::Read, "touched_share_15min", share);
        }
        self.emit_day(emitter);
    }

    /// Hits and misses of a step: of the counters at its end less those at its beginning.
    fn gets(&self, place: usize) -> Option<(f64, f64)> {
        let now = self.steps.get(place)?.statistics.as_ref()?;
        let (hits, misses) = match place.checked_sub(1) {
            Some(before) => self.steps[before].statistics.as_ref().map(|before| (before.hits, before.misses))?,
            None => (0, 0),
        };
        Some(((now.hits - hits) as f64, (now.misses - misses) as f64))
    }

    fn emit_counts(&self, place: usize, at_ns: u64, emitter: &mut Emitter) {
        let (Some((hits, misses)), Some(statistics)) = (self.gets(place), &self.steps[place].statistics) else {
            return;
        };
        let mut point = |metric, value| emitter.timeline(at_ns, Phase::Read, metric, value);
        if hits + misses > 0.0 {
            point("hit_ratio", hits / (hits + misses));
        }
        point("hits_per_minute", hits / STEP as f64);
        point("misses_per_minute", misses / STEP as f64);
        point("resident_items", statistics.resident_items as f64);
        let items: Vec<f64> = statistics.disk_items.iter().map(|&items| items as f64).collect();
        point("shard_items", stats::median(&items).unwrap_or(f64::NAN));
    }

    fn emit_latency(&self, place: usize, at_ns: u64, emitter: &mut Emitter) {
        for (metric, share) in PERCENTILES {
            let mut longer_and_longer = (0..=place.saturating_sub(LATENCY_STEPS)).rev();
            let found = longer_and_longer.find_map(|after| percentile(&self.misses_between(after, place), share));
            if let Some(ns) = found {
                emitter.timeline(at_ns, Phase::Read, metric, ns);
            }
        }
    }

    /// Misses by latency, after one step and up to another.
    fn misses_between(&self, after: usize, until: usize) -> Vec<Bucket> {
        let at = |place: usize| self.steps.get(place).and_then(|step| step.statistics.as_ref());
        let (Some(before), Some(now)) = (at(after), at(until)) else { return Vec::new() };
        let less = |(now, before): (&Bucket, &Bucket)| Bucket { count: now.count - before.count, ..*now };
        now.miss_latency.iter().zip(&before.miss_latency).map(less).collect()
    }

    /// The day without its first hours, and what refreshes did to it.
    fn emit_day(&self, emitter: &mut Emitter) {
        let first = ((WARM_UP_HOURS * 60 / STEP) as usize).min(self.steps.len() / 2);
        let gets: Vec<(f64, f64)> = (first..self.steps.len()).filter_map(|place| self.gets(place)).collect();
        let (hits, misses) = gets.iter().fold((0.0, 0.0), |sum, gets| (sum.0 + gets.0, sum.1 + gets.1));
        if hits + misses == 0.0 {
            return;
        }
        emitter.row(Phase::Read, "hit_ratio", hits / (hits + misses));
        let misses = self.misses_between(first, self.steps.len() - 1);
        for (metric, share) in PERCENTILES {
            if let Some(ns) = percentile(&misses, share) {
                emitter.row(Phase::Read, metric, ns);
            }
        }
        self.emit_refreshes(first, emitter);
    }

    /// The step in which a refresh took place and the one after it, against the three before.
    fn emit_refreshes(&self, first: usize, emitter: &mut Emitter) {
        let ratio = |places: std::ops::Range<usize>| {
            let (hits, misses) = places
                .filter_map(|place| self.gets(place))
                .fold((0.0, 0.0), |sum, gets| (sum.0 + gets.0, sum.1 + gets.1));
            (hits + misses > 0.0).then(|| hits / (hits + misses))
        };
        let change = |&place: &usize| {
            let before = ratio(place.saturating_sub(3)..place)?;
            let after = ratio(place..place + 2)?;
            Some((before - after, (1.0 - after) / (1.0 - before)))
        };
        let changes: Vec<(f64, f64)> =
            self.refreshes.iter().filter(|place| **place >= first).filter_map(change).collect();
        let (drops, factors): (Vec<f64>, Vec<f64>) = changes.into_iter().unzip();
        if let (Some(drop), Some(factor)) = (stats::median(&drops), stats::median(&factors)) {
            emitter.row(Phase::Refresh, "refresh_hit_ratio_drop", drop);
            emitter.row(Phase::Refresh, "refresh_miss_factor", factor);
        }
    }
}

/// The upper bound of the bucket that holds this share of the samples; `None` where too few lie beyond.
fn percentile(buckets: &[Bucket], share: f64) -> Option<f64> {
    let total: u64 = buckets.iter().map(|bucket| bucket.count).sum();
    if total as f64 * (1.0 - share) < BEYOND {
        return None;
    }
    let mut left = (total as f64 * share).ceil() as u64;
    let holds = |bucket: &&Bucket| {
        left = left.saturating_sub(bucket.count);
        left == 0
    };
    buckets.iter().find(holds).map(|bucket| bucket.at_most_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_bound_of_its_bucket_and_needs_ten_samples_beyond() {
        let buckets = |counts: [u64; 3]| {
            let bucket = |(place, count)| Bucket { at_most_ns: [100, 200, 400][place], count };
            counts.into_iter().enumerate().map(bucket).collect::<Vec<_>>()
        };
        assert_eq!(percentile(&buckets([500, 480, 20]), 0.99), Some(400.0));
        assert_eq!(percentile(&buckets([500, 490, 10]), 0.99), Some(200.0));
        assert_eq!(percentile(&buckets([500, 490, 9]), 0.99), None);
        assert_eq!(percentile(&buckets([10, 10, 10]), 0.5), Some(200.0));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
