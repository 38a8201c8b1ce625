//! How often keys share a hash, by the closed form and by trying it with the store's own hash. No store takes part.

use anyhow::{Context, Result};

use super::emit::Emitter;
use super::spec::{HASHES, Kind, Spec};
use crate::record::Phase;
use crate::stats;
use crate::store::hybrid::keys::{Hash, SHARDS};

/// Trials of one cell, each with another key of the hash.
const TRIALS: u64 = 4;

/// Rows of one width of hash at one number of keys.
pub fn run(spec: &Spec, emitter: &mut Emitter) -> Result<()> {
    let place = HASHES.iter().position(|name| *name == spec.store);
    let bits = 8 * (5 + place.with_context(|| format!("no hash is called {:?}", spec.store))? as u32);
    let keys = spec.entries.context("collisions: a number of keys is needed")?;
    let expected = expected_pairs(keys, bits);
    emitter.row(Phase::Cell, "expected_collisions", expected);
    emitter.row(Phase::Cell, "collision_probability", -(-expected).exp_m1());
    if spec.kind == Kind::CollisionsFormula {
        return Ok(());
    }
    let (mut pairs, mut over_expected) = (Vec::new(), Vec::new());
    let telling = telling_bits(keys);
    for trial in 0..TRIALS {
        let secret = [spec.seed ^ u64::from(spec.round) << 32, trial];
        let mut hashes = hashes(keys, &Hash::new(secret, 64));
        if trial == 0 {
            emit_balance(&hashes, emitter);
        }
        hashes.sort_unstable();
        pairs.push(colliding_pairs(&hashes, bits) as f64);
        over_expected.push(colliding_pairs(&hashes, telling) as f64 / expected_pairs(keys, telling));
    }
    emitter.row(Phase::Cell, "collisions", pairs.iter().sum::<f64>() / TRIALS as f64);
    emitter.row(Phase::Cell, "collisions_over_expected", over_expected.iter().sum::<f64>() / TRIALS as f64);
    let hit = pairs.iter().filter(|pairs| **pairs > 0.0).count();
    emitter.row(Phase::Cell, "trials_with_collision", hit as f64 / TRIALS as f64);
    Ok(())
}

/// Expected pairs of `keys` that share a uniform hash of so many bits: each of the k(k - 1)/2 pairs does so with probability 2^-bits.
fn expected_pairs(keys: u64, bits: u32) -> f64 {
    let keys = keys as f64;
    keys * (keys - 1.0) / 2.0 / (f64::from(bits)).exp2()
}

/// As many bits as still let a thousand pairs share them, or two thousand: so many that chance moves their number by three percent at most, where
/// the few pairs of whole hashes tell nothing of the hash.
fn telling_bits(keys: u64) -> u32 {
    (1..64).rev().find(|bits| expected_pairs(keys, *bits) >= 1000.0).unwrap_or(1)
}

/// Whole hashes of keys that differ in a few digits, as those of translations do.
fn hashes(keys: u64, hash: &Hash) -> Vec<u64> {
    const LANGUAGES: [&str; 8] = ["de", "en", "es", "fr", "hi", "ja", "pt-BR", "zh-TW"];
    let mut key = String::new();
    (0..keys)
        .map(|number| {
            use std::fmt::Write;
            key.clear();
            let language = LANGUAGES[(number % 8) as usize];
            write!(key, "rider.screen{}.label{}-{language}", number / 8 % 97, number / 8)
                .expect("strings take anything");
            hash.of(key.as_bytes()).whole
        })
        .collect()
}

/// Pairs of equal leading bits among sorted hashes.
fn colliding_pairs(sorted: &[u64], bits: u32) -> u64 {
    let same = |left: &u64, right: &u64| left >> (64 - bits) == right >> (64 - bits);
    sorted.chunk_by(same).map(|group| group.len() as u64).map(|alike| alike * (alike - 1) / 2).sum()
}

/// How evenly the first byte spreads the keys over the shards.
fn emit_balance(hashes: &[u64], emitter: &mut Emitter) {
    let mut shards = [0.0; SHARDS];
    hashes.iter().for_each(|hash| shards[(hash >> 56) as usize] += 1.0);
    shards.sort_by(f64::total_cmp);
    emitter.row(Phase::Cell, "shard_items_min", shards[0]);
    emitter.row(Phase::Cell, "shard_items", stats::median(&shards).unwrap_or(f64::NAN));
    emitter.row(Phase::Cell, "shard_items_max", shards[SHARDS - 1]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The article's table at ten million keys.
    #[test]
    fn the_closed_form_gives_the_published_table() {
        let table = [(5, 45.0, 1.0), (6, 0.177, 0.16), (7, 0.00069, 0.00069), (8, 0.0000027, 0.0000027)];
        for (bytes, pairs, probability) in table {
            let expected = expected_pairs(10_000_000, 8 * bytes);
            assert!((expected / pairs - 1.0).abs() < 0.02, "{expected} pairs at {bytes} bytes");
            assert!((-(-expected).exp_m1() / probability - 1.0).abs() < 0.03, "at {bytes} bytes");
        }
    }

    #[test]
    fn some_thousand_pairs_share_the_telling_bits() {
        for keys in [20_000, 2_000_000, 10_000_000] {
            assert!((1000.0..2000.0).contains(&expected_pairs(keys, telling_bits(keys))), "{keys}");
        }
    }

    #[test]
    fn pairs_are_counted_by_their_leading_bits_alone() {
        let sorted = [0x1111_0000_0000_0000, 0x1111_0000_0000_0001, 0x1111_0100_0000_0000, 0x2222_0000_0000_0000];
        assert_eq!([16, 24, 63, 64].map(|bits| colliding_pairs(&sorted, bits)), [3, 1, 1, 0]);
    }

    #[test]
    fn as_many_keys_collide_as_a_uniform_hash_expects() {
        let mut hashes = hashes(100_000, &Hash::new([3, 4], 64));
        hashes.sort_unstable();
        let (found, expected) = (colliding_pairs(&hashes, 32) as f64, expected_pairs(100_000, 32));
        assert!((found - expected).abs() < 5.0, "{found} pairs, {expected} expected");
        let (found, expected) = (colliding_pairs(&hashes, 20) as f64, expected_pairs(100_000, 20));
        assert!((found / expected - 1.0).abs() < 0.05, "{found} pairs, {expected} expected");
    }
}
