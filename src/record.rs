//! The rows of a run: the single list of columns, units and meanings. Knows nothing of who writes or reads them.

use serde::{Deserialize, Serialize};

/// Version of the row formats; written into the manifest, and a report refuses rows of another.
pub const FORMAT: u32 = 1;

/// One row of `measurements.csv`: one cell, one metric, base units (bytes, nanoseconds, counts, ratios).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub experiment: String,
    /// Id of the cell; every row of one child process carries the same.
    pub cell: String,
    /// Shuffled interleaved round, from 0.
    pub round: u32,
    pub phase: Phase,
    /// Store as the user names it; the A/A twin of a store has `+twin` behind its name.
    pub store: String,
    /// Data source as the user names it.
    pub data: String,
    /// Entries asked for; `entries` as a metric says what the store holds.
    pub entries: u64,
    pub threads: u32,
    pub zipf: f64,
    pub allocator: String,
    pub metric: String,
    pub unit: String,
    pub value: f64,
    pub status: Status,
    /// What went wrong, for rows whose status is not `ok`.
    pub reason: String,
}

/// Where in a cell's life a reading was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// After the harness's own set-up, before the store exists. Growth is counted from here.
    Baseline,
    /// While the store is built; peaks belong to this phase.
    Load,
    /// After the load has settled, before anything is given back to the system.
    Steady,
    /// Steady, after the allocator was asked to return what it holds free.
    Purged,
    /// After every entry was asked for once: a bounded resident tier is full.
    Warm,
    /// While a second copy is built and published.
    Refresh,
    /// After the refresh, before a purge.
    After,
    /// After the refresh and a purge.
    AfterPurged,
    /// The store is gone, before a purge.
    Dropped,
    /// The store is gone and the allocator was purged: what is left is a leak or the allocator's own.
    End,
    /// Timed reads.
    Read,
    /// The cell as a whole: its verification, its own run time, its failure.
    Cell,
}

/// How a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Ok,
    /// The store returned a value that is not the last one loaded, lost a key, or found one that was never there.
    WrongAnswer,
    /// Heap blocks or bytes were left behind after the store was dropped.
    Leaked,
    Panicked,
    /// Still running at its deadline, and killed.
    TimedOut,
    /// Above its memory cap, and killed.
    TooMuchMemory,
    /// Not started: the estimate does not fit into the free memory.
    Skipped,
    /// Ended by a signal that the harness did not send.
    Killed,
    /// Ended with an error of its own.
    Failed,
}

/// One row of `latency.csv`: a percentile, or (with `percentile` empty) one bucket of the histogram for merging.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyRow {
    pub experiment: String,
    pub cell: String,
    pub round: u32,
    pub store: String,
    pub data: String,
    pub entries: u64,
    pub threads: u32,
    pub zipf: f64,
    pub allocator: String,
    pub operation: String,
    /// 0..=100 for a percentile row, empty for a histogram bucket.
    pub percentile: Option<f64>,
    /// Upper end of the bucket, or the percentile's value, timer cost already taken off.
    pub nanoseconds: u64,
    /// Samples in the bucket, or all samples of the histogram for a percentile row.
    pub samples: u64,
}

/// One row of `timeline.csv`: a reading at a moment of a cell's life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimelineRow {
    pub experiment: String,
    pub cell: String,
    pub round: u32,
    pub store: String,
    pub data: String,
    pub entries: u64,
    pub allocator: String,
    /// Nanoseconds since the cell's baseline.
    pub at_ns: u64,
    pub phase: Phase,
    pub metric: String,
    pub unit: String,
    pub value: f64,
}

/// One row of `claims.csv`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRow {
    pub id: String,
    pub source: String,
    pub claim: String,
    pub published: String,
    pub measured: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub unit: String,
    pub verdict: Verdict,
    /// What differs from the published setting, or why it cannot be tested here.
    pub differs: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// The whole interval meets the published figure within the stated tolerance.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The whole interval lies on the published side, at another size.
    #[serde(rename = "direction only")]
    DirectionOnly,
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// The interval is too wide to say.
    #[serde(rename = "too noisy")]
    TooNoisy,
    #[serde(rename = "cannot test here")]
    CannotTestHere,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::DirectionOnly => "direction only",
            Self::NotReproduced => "not reproduced",
            Self::TooNoisy => "too noisy",
            Self::CannotTestHere => "cannot test here",
        })
    }
}

/// A metric's name, unit and meaning. Rows may only use names from [`METRICS`]; reports take axis labels from here.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    pub name: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
}

const fn metric(name: &'static str, unit: &'static str, meaning: &'static str) -> Metric {
    Metric { name, unit, meaning }
}

/// Every metric that a row may carry.
pub const METRICS: &[Metric] = &[
    metric("entries", "entries", "distinct keys the store holds"),
    metric("live_blocks", "blocks", "heap blocks allocated and not yet freed, above the baseline"),
    metric("live_requested_bytes", "bytes", "bytes asked for in live blocks, above the baseline"),
    metric("live_usable_bytes", "bytes", "bytes the allocator set aside for live blocks, above the baseline"),
    metric("total_allocations", "allocations", "calls that allocated or moved a block since the baseline"),
    metric("peak_requested_bytes", "bytes", "highest live_requested_bytes of the phase"),
    metric("allocator_active_bytes", "bytes", "bytes in the allocator's active pages (jemalloc's own statistics)"),
    metric("allocator_resident_bytes", "bytes", "bytes the allocator holds resident (jemalloc's own statistics)"),
    metric("rss_bytes", "bytes", "resident set of the process"),
    metric("pss_bytes", "bytes", "proportional set of the process"),
    metric("anonymous_bytes", "bytes", "resident anonymous pages"),
    metric("file_bytes", "bytes", "resident file-backed pages"),
    metric("huge_page_bytes", "bytes", "resident anonymous huge pages"),
    metric("hwm_bytes", "bytes", "highest resident set of the phase (VmHWM, reset before it)"),
    metric("blocks_per_entry", "blocks/entry", "live_blocks over entries"),
    metric("requested_bytes_per_entry", "bytes/entry", "live_requested_bytes over entries"),
    metric("usable_bytes_per_entry", "bytes/entry", "live_usable_bytes over entries"),
    metric("rss_growth_bytes", "bytes", "rss_bytes above the baseline"),
    metric("rss_growth_bytes_per_entry", "bytes/entry", "rss_growth_bytes over entries"),
    metric("index_bytes_per_entry", "bytes/entry", "tables, by the store's own account"),
    metric("key_bytes_per_entry", "bytes/entry", "keys, by the store's own account"),
    metric("value_bytes_per_entry", "bytes/entry", "values, by the store's own account"),
    metric("overhead_bytes_per_entry", "bytes/entry", "boxes, headers and padding, by the store's own account"),
    metric("footprint_gap", "ratio", "the store's own heap account over live_requested_bytes, minus one"),
    metric("service_blocks", "blocks", "live blocks of the modelled service around the store"),
    metric(
        "store_share_of_live_blocks",
        "ratio",
        "the store's live blocks over all live blocks of the modelled service",
    ),
    metric(
        "warm_rss_growth_bytes",
        "bytes",
        "rss_growth_bytes once every entry was asked for: a resident tier is full",
    ),
    metric("warm_requested_bytes", "bytes", "live_requested_bytes once every entry was asked for"),
    metric("resident_items", "entries", "entries with a copy in memory"),
    metric("resident_item_bytes", "bytes", "bytes of the blocks of these copies"),
    metric("fallback_items", "entries", "keys that stand in the fallback map, because another key has their hash"),
    metric("disk_bytes", "bytes", "bytes of the store's files"),
    metric("shards", "shards", "parts of the store, each with a lock, a table and a file of its own"),
    metric("shard_items_min", "entries/shard", "entries of the smallest shard"),
    metric("shard_items", "entries/shard", "entries of a shard, median over shards"),
    metric("shard_items_max", "entries/shard", "entries of the largest shard"),
    metric("shard_reach_bytes", "bytes", "bytes that a shard's file may have"),
    metric("refresh_extra_rss_bytes", "bytes", "highest resident set during the refresh above the steady one"),
    metric(
        "refresh_extra_requested_bytes",
        "bytes",
        "highest live requested bytes during the refresh above the steady ones",
    ),
    metric("refresh_peak_ratio", "ratio", "growth at the refresh's peak over steady growth, resident set"),
    metric("refresh_requested_peak_ratio", "ratio", "growth at the refresh's peak over steady growth, requested bytes"),
    metric("load_seconds", "seconds", "wall time of the load"),
    metric("load_extra_rss_bytes", "bytes", "highest resident set during the load above that of the loaded store"),
    metric("compressed_bytes", "bytes", "size of the gzipped document that was loaded"),
    metric("load_extra_bytes", "bytes", "highest live requested bytes during the load above the loaded store"),
    metric("document_bytes", "bytes", "size of the uncompressed document that was loaded"),
    metric("leaked_blocks", "blocks", "live blocks above the baseline after the store was dropped"),
    metric("leaked_bytes", "bytes", "live requested bytes above the baseline after the store was dropped"),
    metric("get_ns", "ns", "wall time of one get: median over batches"),
    metric("get_cpu_ns", "ns", "CPU time of one get: mean over batches, all threads"),
    metric("gets_per_second", "gets/s", "gets of all threads over wall time"),
    metric("hit_ratio", "ratio", "gets that a resident copy answered over all gets of held keys"),
    metric("predicted_hit_ratio", "ratio", "hit ratio of an exact LRU of this size by Che's approximation"),
    metric("miss_ns", "ns", "wall time of one get of what is on disk: median over batches"),
    metric("miss_cpu_ns", "ns", "CPU time of one get of what is on disk: median over batches"),
    metric("bare_read_ns", "ns", "wall time of one pread of a record's bytes from the page cache: median over batches"),
    metric("miss_over_bare_read", "ratio", "miss_ns over bare_read_ns"),
    metric("miss_over_bare_read_cpu", "ratio", "the same of CPU time"),
    metric("bytes_read_per_miss", "bytes", "bytes that the store reads for one record"),
    metric("miss_p50_ns", "ns", "median latency of misses, to within a quarter (the store's own histogram)"),
    metric(
        "miss_p99_ns",
        "ns",
        "99th percentile of the latency of misses, to within a quarter (the store's own histogram)",
    ),
    metric("hits_per_minute", "gets/min", "gets that a resident copy answered, per simulated minute"),
    metric("misses_per_minute", "gets/min", "gets that were answered from disk, per simulated minute"),
    metric(
        "instance_bytes",
        "bytes",
        "resident memory of a service: the store's growth and the stated rest; median of the day",
    ),
    metric("instance_peak_bytes", "bytes", "highest instance_bytes of the day"),
    metric("touched_share_15min", "ratio", "distinct entries asked for within 15 minutes over all entries"),
    metric("refresh_seconds", "seconds", "wall time of a refresh, median"),
    metric(
        "refresh_hit_ratio_drop",
        "ratio",
        "hit ratio of the 15 minutes before a refresh less that of the 10 from it on, median",
    ),
    metric(
        "refresh_miss_factor",
        "ratio",
        "share of misses in the 10 minutes from a refresh on over the 15 before, median",
    ),
    metric("requests_per_second", "requests/s", "HTTP requests sent over the time in which they were due"),
    metric("due_p99_ns", "ns", "99th percentile of HTTP requests, from the moment each was due"),
    metric("sent_p99_ns", "ns", "99th percentile of HTTP requests, from the moment each was sent"),
    metric("skew", "exponent", "exponent of the requests' popularity law"),
    metric("time_compression", "ratio", "simulated time over wall time"),
    metric("expected_collisions", "pairs", "expected pairs of keys of one hash, by the closed form"),
    metric("collision_probability", "ratio", "probability that any two keys share a hash, by the closed form"),
    metric("collisions", "pairs", "pairs of keys of one hash, mean of trials with the store's hash"),
    metric(
        "collisions_over_expected",
        "ratio",
        "pairs that share so many leading bits that over 1,000 are expected to, over these",
    ),
    metric("trials_with_collision", "ratio", "trials in which any two keys shared a hash"),
    metric("timer_cost_ns", "ns", "calibrated cost of one clock reading, taken off every sample"),
    metric("verified_gets", "gets", "answers compared with the source after the measurement"),
    metric("cell_seconds", "seconds", "wall time of the whole cell"),
    metric("failed", "cells", "1 where the cell did not end well; status and reason say how"),
];

/// The row of [`METRICS`] with this name.
pub fn find_metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// What the files of a run are called.
pub mod file {
    pub const MEASUREMENTS: &str = "measurements.csv";
    pub const LATENCY: &str = "latency.csv";
    pub const TIMELINE: &str = "timeline.csv";
    pub const CLAIMS: &str = "claims.csv";
    pub const MANIFEST: &str = "manifest.json";
    pub const FIGURES: &str = "figures";
    pub const README: &str = "README.md";
    pub const REPORT: &str = "report.html";
}
