//! Latencies of single operations in a histogram of high dynamic range.

use hdrhistogram::Histogram;

/// Relative error of a bucket: three significant digits.
const DIGITS: u8 = 3;
/// Percentiles that a report prints, where there are samples enough.
const PRINTED: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];
/// Samples that must lie beyond a percentile before it is printed.
const BEYOND: f64 = 10.0;

/// Latencies in nanoseconds, with their exact maximum.
pub struct Latencies {
    histogram: Histogram<u64>,
    max: u64,
}

impl Latencies {
    pub fn new() -> Self {
        Self { histogram: Histogram::new(DIGITS).expect("3 digits are allowed"), max: 0 }
    }

    pub fn record(&mut self, ns: u64) {
        self.max = self.max.max(ns);
        // `record` lets the histogram grow; `saturating_record` would put whatever lies beyond its present range at its lower end.
        self.histogram.record(ns).expect("a histogram that grows takes any value");
    }

    pub fn merge(&mut self, other: &Self) {
        self.max = self.max.max(other.max);
        self.histogram.add(&other.histogram).expect("a histogram that grows takes any other");
    }

    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The largest latency, exact.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Percentiles with at least ten samples beyond them, and the maximum as percentile 100.
    pub fn percentiles(&self) -> Vec<(f64, u64)> {
        if self.count() == 0 {
            return Vec::new();
        }
        let enough = |percentile: f64| (1.0 - percentile / 100.0) * self.count() as f64 >= BEYOND - 1e-6;
        let mut printed: Vec<(f64, u64)> = PRINTED
            .into_iter()
            .filter(|&percentile| enough(percentile))
            .map(|percentile| (percentile, self.histogram.value_at_percentile(percentile).min(self.max)))
            .collect();
        printed.push((100.0, self.max));
        printed
    }

    /// Upper end and count of every bucket that is not empty; they can be added up over processes.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.histogram.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value())).collect()
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_percentile_is_printed_with_fewer_than_ten_samples_beyond_it() {
        let mut latencies = Latencies::new();
        assert!(latencies.percentiles().is_empty());
        for ns in 1..=999 {
            latencies.record(ns);
        }
        let printed: Vec<f64> = latencies.percentiles().iter().map(|(percentile, _)| *percentile).collect();
        assert_eq!(printed, [50.0, 90.0, 100.0]);
        latencies.record(1000);
        let printed: Vec<f64> = latencies.percentiles().iter().map(|(percentile, _)| *percentile).collect();
        assert_eq!(printed, [50.0, 90.0, 99.0, 100.0]);
    }

    #[test]
    fn a_percentile_is_right_to_a_thousandth_at_any_magnitude() {
        for magnitude in [1, 3_000, 5_000_000, 70_000_000_000_u64] {
            let mut latencies = Latencies::new();
            (1..=1000).for_each(|number| latencies.record(number * magnitude));
            let printed = latencies.percentiles();
            for (percentile, expected) in [(50.0, 500 * magnitude), (99.0, 990 * magnitude)] {
                let (_, found) = printed.iter().find(|(printed, _)| *printed == percentile).unwrap();
                assert!(found.abs_diff(expected) <= expected / 500, "p{percentile} of {magnitude}: {found}");
            }
        }
        Latencies::new().record(u64::MAX);
    }

    #[test]
    fn merged_histograms_keep_counts_and_the_exact_maximum() {
        let (mut one, mut two) = (Latencies::new(), Latencies::new());
        (0..100).for_each(|ns| one.record(ns));
        two.record(123_456_789);
        one.merge(&two);
        assert_eq!((one.count(), one.max()), (101, 123_456_789));
        assert_eq!(one.percentiles().last(), Some(&(100.0, 123_456_789)));
        assert_eq!(one.buckets().iter().map(|(_, count)| count).sum::<u64>(), 101);
    }
}
