//! The shape of an experiment file. Strict: an unknown key is an error that names it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cell::spec::{Day, Kind};
use crate::measure::alloc::Allocator;

/// One question, how it is put, and what was published about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub name: String,
    /// One line for `larder list`.
    pub about: String,
    pub question: String,
    /// The article or paper, with its title.
    pub source: String,
    pub hypothesis: String,
    /// The report's first sentence: a template in which `measured("EXPRESSION")` stands for a figure (see `report::expression`).
    pub answer: String,
    /// Stores that take part unless the user says otherwise; `@tag` names all of a tag.
    pub stores: Vec<String>,
    /// The first store of the list that is also run as its own A/A twin, in every timed grid.
    pub twin: Option<String>,
    pub scales: BTreeMap<Scale, ScaleSettings>,
    pub grids: Vec<Grid>,
    #[serde(default)]
    pub figures: Vec<Figure>,
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// How the figures are to be read; Markdown, at the end of the report.
    #[serde(default)]
    pub analysis: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Seconds; for tests.
    Smoke,
    /// About 20 seconds.
    Quick,
    /// About three minutes.
    Standard,
    /// The article's own size; up to 20 minutes.
    Article,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleSettings {
    /// Sizes, ascending. The last one is the one that single-size figures and claims use.
    pub entries: Vec<u64>,
    pub rounds: u32,
    /// Wall time of the timed reads of one cell.
    pub read_ms: u64,
}

/// Cells of one kind: every store at every size, allocator, thread count and skew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    pub kind: Kind,
    /// Narrower than the experiment's list where given.
    pub stores: Option<Vec<String>>,
    /// `all` sizes of the scale, or the `largest` or `smallest` only.
    #[serde(default)]
    pub sizes: Sizes,
    /// Sizes of this grid instead of the scale's, whatever the scale.
    pub entries: Option<Vec<u64>>,
    /// Rounds for this grid instead of the scale's: memory counts are exact, so one may do.
    pub rounds: Option<u32>,
    pub allocators: Vec<Allocator>,
    #[serde(default = "one_thread")]
    pub threads: Vec<u32>,
    #[serde(default = "common_skew")]
    pub zipf: Vec<f64>,
    /// In place of `zipf`: the skew at which an LRU of `resident_share` answers this share of the gets.
    pub target_hit_ratio: Option<f64>,
    #[serde(default)]
    pub service_blocks_per_entry: f64,
    /// Entries of a bounded resident tier as a share of all; without it the store's own number.
    pub resident_share: Option<f64>,
    /// The day of serving cells, which need one.
    pub day: Option<Day>,
    /// Requests that come in a second, for http cells, which need it.
    pub requests_per_second: Option<f64>,
}

fn one_thread() -> Vec<u32> {
    vec![1]
}

/// The skew of YCSB's default request stream, the most used in the field.
fn common_skew() -> Vec<f64> {
    vec![0.99]
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    #[default]
    All,
    Largest,
    Smallest,
}

/// One picture of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// File name without its ending.
    pub file: String,
    pub title: String,
    pub kind: FigureKind,
    /// Metrics shown, from `record::METRICS`; several make groups or stacks. Latency figures have none.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Names for the metrics in the legend, in order, where the metric's own name would not do.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Only rows that carry all of these: column = value (`phase`, `allocator`, `store`, `threads`, `zipf`).
    #[serde(default, rename = "where")]
    pub only: BTreeMap<String, String>,
    /// Axis label with its unit.
    pub axis: String,
    /// Divides base units for the axis: 1e6 for MB, 1 for bytes per entry.
    #[serde(default = "one")]
    pub per: f64,
    /// `false` where lines far from zero, such as hit ratios, would be pressed flat by an axis that begins there.
    #[serde(default = "yes")]
    pub from_zero: bool,
    #[serde(default)]
    pub caption: String,
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// A group per store, a bar per metric, at the largest size; whiskers are intervals over rounds.
    Bars,
    /// A bar per store, metrics stacked.
    Stack,
    /// A line per store over entries.
    BySize,
    /// A line per store over threads.
    ByThreads,
    /// A line per store over time (rows of timeline.csv).
    Timeline,
    /// Latency percentiles per store, percentile axis stretched towards the tail.
    Latency,
}

/// A published number and how it is measured here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    pub claim: String,
    pub published: String,
    pub unit: String,
    /// Expression over the run's metrics; see `report::expression`. `None` for what can't be tested here.
    pub measure: Option<String>,
    /// What the measured interval must meet to count as reproduced.
    pub expect: Option<Expect>,
    /// The published side of the matter: met by the whole interval, the verdict is at least "direction only".
    pub direction: Option<Bound>,
    /// Why it can't be tested here, where `measure` is missing.
    pub cannot: Option<String>,
    /// What differs from the published setting; a scale's own text stands in `differs_at`.
    pub differs: String,
    #[serde(default)]
    pub differs_at: BTreeMap<Scale, String>,
}

/// An accepted range: `at_least`, `at_most`, or both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
}

/// One side of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    pub above: Option<f64>,
    pub below: Option<f64>,
}
