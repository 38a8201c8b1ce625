//! How often each key is asked for. Knows nothing of keys: ranks in, ranks out.

use rand::Rng;
use rand_distr::Distribution;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::items::SourceError;

/// Zipf's law over `n` ranks: rank `r` (from 0) is drawn in proportion to `1 / (r + 1)^s`.
///
/// Drawn exactly, by rejection, for any exponent from 0 (all alike) to 2. (YCSB's "scrambled" generator is another law: it hashes ranks
/// of a far larger key space into `n`, which gives the hottest of a million keys 3.8% instead of 6.5%.)
pub struct Zipf {
    n: u64,
    exponent: f64,
    law: rand_distr::Zipf<f64>,
}

impl Zipf {
    /// # Errors
    /// No ranks, or an exponent outside 0..=2.
    pub fn new(n: u64, exponent: f64) -> Result<Self, SourceError> {
        if !(0.0..=2.0).contains(&exponent) {
            return Err(SourceError::new(format!("zipf exponent {exponent} is out of range; use 0 to 2")));
        }
        // Beside 1 the law's terms cancel to noise; so near to it the two laws can't be told apart.
        let exponent = if (exponent - 1.0).abs() < 1e-9 { 1.0 } else { exponent };
        let law = rand_distr::Zipf::new(n as f64, exponent)
            .map_err(|error| SourceError::caused(format!("zipf over {n} keys: {error}"), error))?;
        Ok(Self { n, exponent, law })
    }

    /// A rank; 0 is the hottest.
    #[inline]
    pub fn sample(&self, rng: &mut impl Rng) -> u64 {
        (self.law.sample(rng) as u64).clamp(1, self.n) - 1
    }

    /// Share of all draws that the `k` hottest ranks get, by the closed form (a ratio of generalised harmonic numbers).
    pub fn share_of_top(&self, k: u64) -> f64 {
        let harmonic = |count: u64| (1..=count).rev().map(|rank| (rank as f64).powf(-self.exponent)).sum::<f64>();
        harmonic(k.min(self.n)) / harmonic(self.n)
    }
}

/// The exponent at which an LRU of `capacity` entries out of `n` answers the share `target` of independent requests, to three decimals.
///
/// By the approximation of Che, Tung and Wang (2002): an entry is resident while its last request is less than one characteristic time ago, the
/// time in which `capacity` distinct entries are asked for. Its error is below a percent of the hit ratio for caches of more than some tens of entries.
///
/// 2, the steepest law that is drawn, where none reaches the target.
pub fn skew_for(n: u64, capacity: u64, target: f64) -> f64 {
    let skew = bisect(0.0, 2.0, |skew| lru_hit_ratio(n, capacity, skew) < target);
    (skew * 1e3).ceil() / 1e3
}

/// Hit ratio of an LRU under Zipf's law; see [`skew_for`].
pub fn lru_hit_ratio(n: u64, capacity: u64, exponent: f64) -> f64 {
    if capacity >= n {
        return 1.0;
    }
    let groups = rank_groups(n, exponent);
    let resident = |time: f64| groups.iter().map(|(count, weight)| count * -(-weight * time).exp_m1()).sum::<f64>();
    // In units of one request; on a logarithmic scale, because hot and cold are many orders of magnitude apart.
    let time = bisect(0.0, 60.0, |log_time| resident(log_time.exp2()) < capacity as f64).exp2();
    groups.iter().map(|(count, weight)| count * weight * -(-weight * time).exp_m1()).sum()
}

/// Ranks of nearly the same probability together: how many, and the probability of each. The first thousand stand alone.
fn rank_groups(n: u64, exponent: f64) -> Vec<(f64, f64)> {
    let mut groups = Vec::new();
    let mut first = 1u64;
    while first <= n {
        let next = (first + (first / 1000).max(1)).min(n + 1);
        let middle = (first + next - 1) as f64 / 2.0;
        groups.push(((next - first) as f64, middle.powf(-exponent)));
        first = next;
    }
    let total: f64 = groups.iter().map(|(count, weight)| count * weight).sum();
    groups.iter().map(|(count, weight)| (*count, weight / total)).collect()
}

/// Where a rising condition turns from `below` to not.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if below(middle) { low = middle } else { high = middle }
    }
    high
}

/// A seeded bijection of `0..n`: rank to key, so that popularity has nothing to do with the order of loading. A Feistel network over the
/// next even power of two, walked until it lands inside (Black and Rogaway 2002); no two ranks meet.
pub struct Permutation {
    n: u64,
    seed: u64,
    half_bits: u32,
}

/// Rounds of the network; four make a pseudorandom permutation (Luby and Rackoff 1988).
const ROUNDS: u64 = 4;

impl Permutation {
    pub fn new(n: u64, seed: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Self { n, seed, half_bits: bits.div_ceil(2).max(1) }
    }

    /// Where `index` goes.
    ///
    /// # Panics
    /// Where `index` is not below `n`.
    pub fn apply(&self, index: u64) -> u64 {
        assert!(index < self.n, "{index} is not below {}", self.n);
        let mut place = index;
        loop {
            place = self.network(place);
            if place < self.n {
                return place;
            }
        }
    }

    fn network(&self, place: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (place >> self.half_bits, place & mask);
        for round in 0..ROUNDS {
            let mixed = xxh3_64_with_seed(&right.to_le_bytes(), self.seed ^ round) & mask;
            (left, right) = (right, left ^ mixed);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn draws_follow_the_closed_form_for_every_exponent() {
        const DRAWS: u64 = 200_000;
        for exponent in [0.0, 0.5, 0.99, 1.0 - 1e-12, 1.0, 1.0 + 1e-7, 1.2, 2.0] {
            for n in [1, 2, 1000, 1_000_000] {
                let zipf = Zipf::new(n, exponent).unwrap();
                let mut rng = StdRng::seed_from_u64(7);
                let percent = (n / 100).max(1);
                let (mut first, mut top, mut half) = (0u64, 0u64, 0u64);
                for _ in 0..DRAWS {
                    let rank = zipf.sample(&mut rng);
                    assert!(rank < n);
                    first += u64::from(rank == 0);
                    top += u64::from(rank < percent);
                    half += u64::from(rank < n.div_ceil(2));
                }
                for (drawn, k) in [(first, 1), (top, percent), (half, n.div_ceil(2))] {
                    let share = zipf.share_of_top(k);
                    let (expected, deviation) = (share * DRAWS as f64, (share * (1.0 - share) * DRAWS as f64).sqrt());
                    let off = (drawn as f64 - expected).abs();
                    assert!(off <= 4.0 * deviation + 1e-6, "s {exponent}, n {n}, top {k}: {drawn}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn the_first_ranks_pass_a_chi_square_test() {
        for exponent in [0.3, 0.99, 1.0, 1.5] {
            let zipf = Zipf::new(50, exponent).unwrap();
            let mut rng = StdRng::seed_from_u64(11);
            let mut counts = [0u32; 50];
            (0..100_000).for_each(|_| counts[zipf.sample(&mut rng) as usize] += 1);
            let expected = |rank: u64| (zipf.share_of_top(rank + 1) - zipf.share_of_top(rank)) * 1e5;
            let chi: f64 = (0..50u64)
                .map(|rank| (f64::from(counts[rank as usize]) - expected(rank)).powi(2) / expected(rank))
                .sum();
            // 49 degrees of freedom: the 99.99% quantile is 91.
            assert!(chi < 91.0, "s {exponent}: {chi}");
        }
    }

    #[test]
    fn the_published_shares_of_zipf_099_hold() {
        let zipf = Zipf::new(1_000_000, 0.99).unwrap();
        assert!((zipf.share_of_top(1) - 0.065).abs() < 0.001);
        assert!((zipf.share_of_top(10_000) - 0.66).abs() < 0.01);
    }

    #[test]
    fn a_permutation_meets_every_place_once() {
        for n in [1, 2, 3, 7, 64, 1000, 4097] {
            let permutation = Permutation::new(n, 5);
            let mut places: Vec<u64> = (0..n).map(|index| permutation.apply(index)).collect();
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..n), "n {n}");
        }
        let (one, two) = (Permutation::new(1000, 1), Permutation::new(1000, 2));
        assert!((0..1000).filter(|&index| one.apply(index) == two.apply(index)).count() < 20);
    }

    #[test]
    fn an_exponent_out_of_range_is_refused() {
        assert!(Zipf::new(10, 2.1).is_err() && Zipf::new(10, f64::NAN).is_err() && Zipf::new(0, 1.0).is_err());
    }
}
