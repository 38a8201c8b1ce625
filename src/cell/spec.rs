//! What a cell is asked to do, and what it says: JSON on the child's stdin, JSON lines on its stdout.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::measure::alloc::Allocator;
use crate::record::{LatencyRow, Phase, Row, Status, TimelineRow, find_metric};
use crate::workload::DataSpec;

/// One measurement, run in a fresh child process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub experiment: String,
    /// Id of the cell, unique within a run and the same when the run is planned again.
    pub cell: String,
    pub round: u32,
    pub kind: Kind,
    pub store: String,
    /// The A/A twin: the same store once more, under the name `STORE+twin`.
    pub twin: bool,
    pub data: DataSpec,
    /// Items to take from the source: how many to make, or at most how many to read (`None`: all).
    pub entries: Option<u64>,
    pub threads: u32,
    /// Exponent of the popularity law of the requests, 0..=2.
    pub zipf: f64,
    pub allocator: Allocator,
    pub seed: u64,
    /// Blocks per entry of the modelled service's other heap, for the share of the store in all live blocks.
    pub service_blocks_per_entry: f64,
    /// Wall time of the timed reads, milliseconds.
    pub read_ms: u64,
    /// Entries of a bounded resident tier; `None` leaves the store's own number.
    pub resident_items: Option<u64>,
    /// The simulated day of a serving cell.
    pub day: Option<Day>,
    /// Requests that come in a second, over all connections of an http cell.
    pub requests_per_second: Option<f64>,
    /// Where a cell leaves files (a dhat profile) and a store keeps its own.
    pub directory: Option<PathBuf>,
}

/// A service's day in simulated time: requests arrive by the clock on the wall, whatever the service does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Day {
    pub hours: u32,
    pub refresh_every_minutes: u32,
    /// Gets in the busiest minute, for each entry of the data.
    pub peak_gets_per_minute_per_entry: f64,
    /// The quietest minute's share of the busiest one's gets.
    pub trough: f64,
    /// Bytes of the modelled service's other heap, for each entry of the data.
    pub other_bytes_per_entry: f64,
}

impl Spec {
    /// Where the cell leaves files of its own.
    pub fn scratch(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Seeds the requests of one of the cell's threads.
    pub fn stream_seed(&self, thread: u32) -> u64 {
        self.seed ^ (u64::from(thread + 1) << 32) ^ u64::from(self.round)
    }

    /// The store's name as rows carry it. A load cell compares ways to read one document, not stores.
    pub fn store_label(&self) -> String {
        match self.kind {
            Kind::LoadStreaming => "streaming".to_owned(),
            Kind::LoadParseAll => "parse-all".to_owned(),
            _ if self.twin => format!("{}+twin", self.store),
            _ => self.store.clone(),
        }
    }
}

impl Spec {
    /// A row of this cell.
    ///
    /// # Panics
    /// For a metric that is not in `record::METRICS`: a typing error of the program, which the tests of every kind of cell find.
    pub fn row(&self, phase: Phase, metric: &str, value: f64) -> Row {
        let known = find_metric(metric).unwrap_or_else(|| panic!("metric {metric:?} is not in record::METRICS"));
        Row {
            experiment: self.experiment.clone(),
            cell: self.cell.clone(),
            round: self.round,
            phase,
            store: self.store_label(),
            data: self.data.label().to_owned(),
            entries: self.entries.unwrap_or(0),
            threads: self.threads,
            zipf: self.zipf,
            allocator: self.allocator.name().to_owned(),
            metric: known.name.to_owned(),
            unit: known.unit.to_owned(),
            value,
            status: Status::Ok,
            reason: String::new(),
        }
    }
}

/// What a cell measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Heap blocks, bytes and resident memory by phase; the allocation counters are on.
    Memory,
    /// As `Memory`, with a refresh between the steady state and the drop, and a timeline.
    Refresh,
    /// Throughput and latency of gets; nothing is counted.
    Time,
    /// Gets of what is not resident, beside bare reads of the same bytes.
    Miss,
    /// A simulated day of a service with refreshes.
    Serving,
    /// `larder serve` in a process of its own, asked over loopback; the threads are its clients' connections.
    Http,
    /// Share of gets that a bounded tier answers, in simulated time.
    HitRatio,
    /// Colliding keys of the store's own hash at so many bytes; the store is [`HASHES`]' name of the width.
    Collisions,
    /// The same by the closed form alone, which no number of keys is too large for.
    CollisionsFormula,
    /// One load of a JSON document that is read by streaming.
    LoadStreaming,
    /// The same document, parsed as a whole before the load.
    LoadParseAll,
    /// One load of a gzipped JSON document, timed.
    LoadBlob,
}

/// Widths of hash that a collisions cell takes in place of a store.
pub const HASHES: [&str; 4] = ["5-bytes", "6-bytes", "7-bytes", "8-bytes"];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Refresh => "refresh",
            Self::Time => "time",
            Self::Miss => "miss",
            Self::Serving => "serving",
            Self::HitRatio => "hit-ratio",
            Self::Http => "http",
            Self::Collisions => "collisions",
            Self::CollisionsFormula => "collisions-formula",
            Self::LoadStreaming => "load-streaming",
            Self::LoadParseAll => "load-parse-all",
            Self::LoadBlob => "load-blob",
        }
    }

    /// Whether the child counts its allocations. Counting slows every allocation, so timed cells don't.
    pub fn counts(self) -> bool {
        matches!(self, Self::Memory | Self::Refresh | Self::LoadStreaming | Self::LoadParseAll)
    }

    /// Whether the cell reads for a time that the scale sets.
    pub fn reads(self) -> bool {
        matches!(self, Self::Time | Self::Miss | Self::Http)
    }

    /// Whether the cell is about hashes, with made-up keys and without data or a store.
    pub fn hashes(self) -> bool {
        matches!(self, Self::Collisions | Self::CollisionsFormula)
    }

    /// Whether the cell draws requests whose skew the user may choose.
    pub fn draws(self) -> bool {
        matches!(self, Self::Time | Self::Serving | Self::HitRatio | Self::Http)
    }

    /// Whether the cell is about what a resident tier holds, so that other stores have no place in it.
    pub fn needs_tier(self) -> bool {
        matches!(self, Self::Miss | Self::HitRatio)
    }

    /// Whether a store's twin runs beside it: wherever noise could be taken for a difference.
    pub fn has_twin(self) -> bool {
        matches!(self, Self::Memory | Self::Refresh | Self::Time)
    }

    /// Whether the cell compares ways to read one document, with one store for all.
    pub fn compares_readers(self) -> bool {
        matches!(self, Self::LoadStreaming | Self::LoadParseAll)
    }
}

/// One line of the child's stdout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    Row(Row),
    Latency(LatencyRow),
    Timeline(TimelineRow),
    /// The cell found a fault of the store; the rows before it stand as evidence.
    Fault {
        status: Status,
        reason: String,
    },
    /// The last line of a cell that ended as it should; without it the cell has failed.
    Done,
}
