//! Collects a cell's rows and writes them at its end, so that writing neither costs nor allocates while something is measured.

use std::io::{self, Write};

use super::spec::{Message, Spec};
use crate::measure::latency::Latencies;
use crate::record::{LatencyRow, Phase, Row, Status, TimelineRow};

pub struct Emitter {
    spec: Spec,
    messages: Vec<Message>,
}

impl Emitter {
    pub fn new(spec: &Spec) -> Self {
        Self { spec: spec.clone(), messages: Vec::new() }
    }

    /// Adds a row of a metric of `record::METRICS`.
    pub fn row(&mut self, phase: Phase, metric: &str, value: f64) {
        self.messages.push(Message::Row(self.spec.row(phase, metric, value)));
    }

    /// Adds a percentile, or without one a bucket, of an operation's latencies.
    fn latency(&mut self, operation: &str, percentile: Option<f64>, nanoseconds: u64, samples: u64) {
        let spec = &self.spec;
        self.messages.push(Message::Latency(LatencyRow {
            experiment: spec.experiment.clone(),
            cell: spec.cell.clone(),
            round: spec.round,
            store: spec.store_label(),
            data: spec.data.label().to_owned(),
            entries: spec.entries.unwrap_or(0),
            threads: spec.threads,
            zipf: spec.zipf,
            allocator: spec.allocator.name().to_owned(),
            operation: operation.to_owned(),
            percentile,
            nanoseconds,
            samples,
        }));
    }

    /// Adds the percentiles and the buckets of an operation's latencies.
    pub fn latencies(&mut self, operation: &str, latencies: &Latencies) {
        for (percentile, ns) in latencies.percentiles() {
            self.latency(operation, Some(percentile), ns, latencies.count());
        }
        for (ns, count) in latencies.buckets() {
            self.latency(operation, None, ns, count);
        }
    }

    /// Adds a point of a metric's time series.
    pub fn timeline(&mut self, at_ns: u64, phase: Phase, metric: &str, value: f64) {
        let Row { experiment, cell, round, store, data, entries, allocator, metric, unit, value, .. } =
            self.spec.row(phase, metric, value);
        let row =
            TimelineRow { experiment, cell, round, store, data, entries, allocator, at_ns, phase, metric, unit, value };
        self.messages.push(Message::Timeline(row));
    }

    /// Says that the store did something that it must not do.
    pub fn fault(&mut self, status: Status, reason: String) {
        self.messages.push(Message::Fault { status, reason });
    }

    /// Writes everything, and the closing line where the cell is `done`.
    pub fn write(self, out: &mut dyn Write, done: bool) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        for message in self.messages.iter().chain(done.then_some(&Message::Done)) {
            serde_json::to_writer(&mut out, message)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}
