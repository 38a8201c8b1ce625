//! Whether a difference in time is one: every store against the store that also ran as its own twin.

use std::collections::BTreeSet;

use serde::Serialize;

use super::SEED;
use super::figures::numbers;
use super::rows::Rows;
use crate::record::{Phase, Row};
use crate::registry;
use crate::stats::{self, Difference};

/// Rounds below which the rank test can't find any difference at its level: with three against three its smallest p-value is 0.1.
const FEWEST_ROUNDS: usize = 4;
/// What is compared: the median over a process's batches, which one disturbed batch does not move.
const METRIC: &str = "get_ns";

/// One store against the baseline, at one setting and the largest size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    pub setting: String,
    pub store: String,
    pub baseline: String,
    /// Ratio of medians with its interval.
    pub ratio: String,
    pub p: String,
    pub verdict: String,
}

/// Compares all stores with `baseline`. A difference that is no larger than the twin's from the baseline is none.
pub fn with_twin(baseline: &str, rows: &Rows) -> Vec<Compared> {
    let timed = |row: &&Row| row.metric == METRIC && row.phase == Phase::Read;
    let largest = rows.good.iter().filter(timed).map(|row| row.entries).max().unwrap_or(0);
    let chosen: Vec<&Row> = rows.good.iter().filter(timed).filter(|row| row.entries == largest).collect();
    let settings: BTreeSet<(String, u32, String)> =
        chosen.iter().map(|row| (row.allocator.clone(), row.threads, row.zipf.to_string())).collect();
    let mut compared = Vec::new();
    for setting in &settings {
        let of_setting: Vec<&Row> = chosen
            .iter()
            .copied()
            .filter(|row| (&row.allocator, row.threads, &row.zipf.to_string()) == (&setting.0, setting.1, &setting.2))
            .collect();
        compared.extend(at_setting(baseline, &of_setting, setting));
    }
    compared
}

fn at_setting(baseline: &str, rows: &[&Row], (allocator, threads, zipf): &(String, u32, String)) -> Vec<Compared> {
    let samples =
        |store: &str| -> Vec<f64> { rows.iter().filter(|row| row.store == store).map(|row| row.value).collect() };
    let base = samples(baseline);
    let twin = format!("{baseline}+twin");
    let floor = ratio_of_medians(&samples(&twin), &base).map_or(0.0, |ratio| (ratio - 1.0).abs());
    let real = |store: &&str| *store != baseline && registry::find(store).is_none_or(registry::Row::answers);
    let stores: BTreeSet<&str> = rows.iter().map(|row| row.store.as_str()).filter(real).collect();
    let compare = |store: &&str| {
        let own = samples(store);
        // The twin is what the floor is taken from: it is judged by its interval and its ranks alone.
        let result = stats::compare(&base, &own, if **store == twin { 0.0 } else { floor }, SEED)?;
        let few = base.len().min(own.len()) < FEWEST_ROUNDS;
        let verdict = match result.verdict {
            _ if few => "too few rounds to say",
            Difference::None => "no difference",
            Difference::Smaller => "faster",
            Difference::Larger => "slower",
        };
        let ratio = result.ratio;
        Some(Compared {
            setting: format!("{threads} threads, s = {zipf}, {allocator}"),
            store: (*store).to_owned(),
            baseline: baseline.to_owned(),
            ratio: format!("{:.2} ({:.2} to {:.2})", ratio.mid, ratio.low, ratio.high),
            p: numbers::tidy(result.p),
            verdict: verdict.to_owned(),
        })
    };
    stores.iter().filter_map(compare).collect()
}

fn ratio_of_medians(samples: &[f64], base: &[f64]) -> Option<f64> {
    Some(stats::median(samples)? / stats::median(base)?)
}
