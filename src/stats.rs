//! Medians, intervals, rank tests, straight lines. Pure: numbers in, numbers out; every draw is seeded.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A middle with its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub mid: f64,
    pub high: f64,
}

/// Resamples of a bootstrap: enough for two digits at the 2.5% ends.
const RESAMPLES: usize = 2000;

/// The middle value; the mean of the two middle ones for an even count. `None` for no samples.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// The q-quantile by linear interpolation between order statistics (Hyndman and Fan's type 7, R's default).
pub fn quantile(samples: &[f64], q: f64) -> Option<f64> {
    if samples.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = q * (sorted.len() - 1) as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64))
}

/// Median absolute deviation from the median, unscaled.
pub fn mad(samples: &[f64]) -> Option<f64> {
    let middle = median(samples)?;
    let deviations: Vec<f64> = samples.iter().map(|sample| (sample - middle).abs()).collect();
    median(&deviations)
}

/// Percentile bootstrap (Efron 1979) of any statistic over groups of samples; each group is resampled on its own. `None` where a group
/// is empty or the statistic of the samples is no finite number. Groups of one sample each give an interval of no width.
pub fn bootstrap(groups: &[&[f64]], seed: u64, statistic: impl Fn(&[&[f64]]) -> f64) -> Option<Interval> {
    if groups.iter().any(|group| group.is_empty()) {
        return None;
    }
    let mid = statistic(groups);
    if !mid.is_finite() {
        return None;
    }
    let constant = |group: &&[f64]| group.iter().all(|sample| *sample == group[0]);
    if groups.iter().all(constant) {
        return Some(Interval { low: mid, mid, high: mid });
    }
    let mut rng = StdRng::seed_from_u64(seed);
    let mut drawn: Vec<Vec<f64>> = groups.iter().map(|group| group.to_vec()).collect();
    let mut results = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for (drawn, group) in drawn.iter_mut().zip(groups) {
            drawn.iter_mut().for_each(|sample| *sample = group[rng.random_range(0..group.len())]);
        }
        let views: Vec<&[f64]> = drawn.iter().map(Vec::as_slice).collect();
        results.push(statistic(&views));
    }
    results.retain(|result| result.is_finite());
    Some(Interval { low: quantile(&results, 0.025)?.min(mid), mid, high: quantile(&results, 0.975)?.max(mid) })
}

/// The median with its bootstrap interval.
pub fn bootstrap_median(samples: &[f64], seed: u64) -> Option<Interval> {
    bootstrap(&[samples], seed, |groups| median(groups[0]).unwrap_or(f64::NAN))
}

/// Two-sided p-value of the rank test of Mann and Whitney (1947), of the hypothesis that neither group tends to larger values.
/// Exact for small groups without ties, otherwise the normal approximation with corrections for ties and continuity.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (n, m) = (a.len(), b.len());
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|&value| (value, true)).chain(b.iter().map(|&value| (value, false))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut rank_sum, mut ties, mut start) = (0.0, 0.0, 0);
    while start < all.len() {
        let run = all[start..].iter().take_while(|(value, _)| *value == all[start].0).count();
        let rank = start as f64 + (run as f64 + 1.0) / 2.0;
        rank_sum += rank * all[start..start + run].iter().filter(|(_, first)| *first).count() as f64;
        ties += (run as f64).powi(3) - run as f64;
        start += run;
    }
    let u = rank_sum - (n * (n + 1)) as f64 / 2.0;
    if ties == 0.0 && n * m <= 400 {
        return Some(exact_p(n, m, u));
    }
    let (n, m, total) = (n as f64, m as f64, (n + m) as f64);
    let variance = n * m / 12.0 * ((total + 1.0) - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return Some(1.0);
    }
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    Some((2.0 * upper_normal(distance / variance.sqrt())).min(1.0))
}

/// Counts all arrangements of two groups by their statistic U: `count[i][j][u]`, by the recurrence of Mann and Whitney.
fn exact_p(n: usize, m: usize, u: f64) -> f64 {
    let largest = n * m;
    let mut counts = vec![vec![0.0f64; largest + 1]; m + 1];
    counts.iter_mut().for_each(|row| row[0] = 1.0);
    for i in 1..=n {
        let mut next = vec![vec![0.0f64; largest + 1]; m + 1];
        next[0][0] = 1.0;
        for j in 1..=m {
            for value in 0..=i * j {
                let without = next[j - 1][value];
                let with = if value >= j { counts[j][value - j] } else { 0.0 };
                next[j][value] = without + with;
            }
        }
        counts = next;
    }
    let row = &counts[m];
    let total: f64 = row.iter().sum();
    let tail = (u.min(largest as f64 - u)).floor() as usize;
    (2.0 * row[..=tail].iter().sum::<f64>() / total).min(1.0)
}

/// Share of the standard normal distribution above `z` (Abramowitz and Stegun 26.2.17, error below 1e-7).
fn upper_normal(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_normal(-z);
    }
    const COEFFICIENTS: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = COEFFICIENTS.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * series
}

/// A straight line through points by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    pub slope: f64,
    pub intercept: f64,
    /// Share of the variance that the line explains.
    pub r2: f64,
}

/// `None` for fewer than two different x.
pub fn linear_fit(points: &[(f64, f64)]) -> Option<Fit> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let sxx: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let sxy: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let syy: f64 = points.iter().map(|(_, y)| (y - mean_y).powi(2)).sum();
    if points.len() < 2 || sxx == 0.0 {
        return None;
    }
    let slope = sxy / sxx;
    let r2 = if syy == 0.0 { 1.0 } else { sxy * sxy / (sxx * syy) };
    Some(Fit { slope, intercept: mean_y - slope * mean_x, r2 })
}

/// How one group of times (or sizes) stands to a baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Median of the group over median of the baseline.
    pub ratio: Interval,
    pub p: f64,
    pub verdict: Difference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    None,
    Smaller,
    Larger,
}

/// Largest p-value that counts as evidence.
const SIGNIFICANT: f64 = 0.05;

/// Compares a group with a baseline. A difference must show in the ratio's interval and in the rank test, and be larger than
/// `floor`, the ratio (minus one) that an A/A pair of the same run shows. `None` for an empty group or a baseline of zero.
pub fn compare(baseline: &[f64], group: &[f64], floor: f64, seed: u64) -> Option<Comparison> {
    let ratio = bootstrap(&[group, baseline], seed, |groups| {
        median(groups[0]).unwrap_or(f64::NAN) / median(groups[1]).unwrap_or(f64::NAN)
    })?;
    let p = mann_whitney(baseline, group)?;
    let evident = p <= SIGNIFICANT && (ratio.mid - 1.0).abs() > floor;
    let verdict = match ratio {
        _ if !evident => Difference::None,
        ratio if ratio.high < 1.0 => Difference::Smaller,
        ratio if ratio.low > 1.0 => Difference::Larger,
        _ => Difference::None,
    };
    Some(Comparison { ratio, p, verdict })
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, LogNormal};

    use super::*;

    #[test]
    fn quantiles_are_those_of_r() {
        // R: quantile(c(1, 2, 4, 8, 16), c(.1, .5, .9))
        let samples = [16.0, 1.0, 4.0, 8.0, 2.0];
        let found: Vec<f64> = [0.1, 0.5, 0.9].iter().map(|&q| quantile(&samples, q).unwrap()).collect();
        assert!(found.iter().zip([1.4, 4.0, 12.8]).all(|(found, right)| (found - right).abs() < 1e-12), "{found:?}");
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_rank_test_gives_the_published_probabilities() {
        // Mann and Whitney 1947, table for n = m = 3: P(U = 0) = 1/20, two-sided 0.1.
        let p = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert!((p - 0.1).abs() < 1e-12, "{p}");
        // R: wilcox.test(c(0.80,0.83,1.89,1.04,1.45,1.38,1.91,1.64,0.73,1.46), c(1.15,0.88,0.90,0.74,1.21)), Hollander and Wolfe 1973: 0.2544
        let first = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let p = mann_whitney(&first, &[1.15, 0.88, 0.90, 0.74, 1.21]).unwrap();
        assert!((p - 0.2544).abs() < 1e-4, "{p}");
        assert_eq!(mann_whitney(&[1.0; 4], &[1.0; 4]), Some(1.0));
        assert!((upper_normal(1.959_964) - 0.025).abs() < 1e-6);
    }

    #[test]
    fn the_interval_of_a_median_covers_it_about_95_times_in_100() {
        let law = LogNormal::new(0.0, 0.5).unwrap();
        let mut rng = StdRng::seed_from_u64(3);
        let covered = (0..400)
            .filter(|&seed| {
                let samples: Vec<f64> = (0..25).map(|_| law.sample(&mut rng)).collect();
                let interval = bootstrap_median(&samples, seed).unwrap();
                interval.low <= 1.0 && 1.0 <= interval.high
            })
            .count();
        assert!((360..=396).contains(&covered), "{covered} of 400");
    }

    /// Ten rounds of one cell: 5% noise, and now and then a round that the machine disturbed.
    fn rounds(rng: &mut StdRng, level: f64) -> Vec<f64> {
        let noise = LogNormal::new(0.0, 0.05).unwrap();
        (0..10).map(|_| level * noise.sample(rng) * if rng.random_range(0..20) == 0 { 1.5 } else { 1.0 }).collect()
    }

    #[test]
    fn twins_come_out_as_no_difference() {
        let mut rng = StdRng::seed_from_u64(1);
        let none = (0..200)
            .filter(|&seed| {
                let (one, two) = (rounds(&mut rng, 100.0), rounds(&mut rng, 100.0));
                compare(&one, &two, 0.02, seed).unwrap().verdict == Difference::None
            })
            .count();
        assert!(none >= 190, "{none} of 200");
    }

    #[test]
    fn a_planted_slowdown_of_20_percent_is_detected() {
        let mut rng = StdRng::seed_from_u64(2);
        let found = (0..200)
            .filter(|&seed| {
                let (one, two) = (rounds(&mut rng, 100.0), rounds(&mut rng, 120.0));
                compare(&one, &two, 0.02, seed).unwrap().verdict == Difference::Larger
            })
            .count();
        // The others are those in which the machine disturbed two rounds of one side.
        assert!(found >= 180, "{found} of 200");
    }

    #[test]
    fn a_line_through_points_of_a_line_is_that_line() {
        let points: Vec<(f64, f64)> = (1..6).map(|x| (f64::from(x), 3.0 * f64::from(x) + 7.0)).collect();
        let fit = linear_fit(&points).unwrap();
        assert!((fit.slope - 3.0).abs() < 1e-9 && (fit.intercept - 7.0).abs() < 1e-9 && fit.r2 > 0.999_999);
        assert_eq!(linear_fit(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }

    #[test]
    fn equal_samples_make_an_interval_of_no_width() {
        let interval = bootstrap_median(&[2.0; 5], 1).unwrap();
        assert_eq!((interval.low, interval.mid, interval.high), (2.0, 2.0, 2.0));
        assert_eq!(bootstrap(&[&[1.0], &[]], 1, |_| 1.0), None);
    }
}
