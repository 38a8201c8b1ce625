//! Collects a cell's rows and writes them at its end, so that writing neither costs nor allocates while something is measured.

use std::io::{self, Write};

use super::spec::{Message, Spec};
use crate::record::{LatencyRow, Phase, Row, Status, TimelineRow, find_metric};

pub struct Emitter {
    template: Row,
    messages: Vec<Message>,
}

impl Emitter {
    pub fn new(spec: &Spec) -> Self {
        let template = Row {
            experiment: spec.experiment.clone(),
            cell: spec.cell.clone(),
            round: spec.round,
            phase: Phase::Cell,
            store: spec.store_label(),
            data: spec.data.label().to_owned(),
            entries: spec.entries.unwrap_or(0),
            threads: spec.threads,
            zipf: spec.zipf,
            allocator: spec.allocator.name().to_owned(),
            metric: String::new(),
            unit: String::new(),
            value: 0.0,
            status: Status::Ok,
            reason: String::new(),
        };
        Self { template, messages: Vec::new() }
    }

    /// Adds a row. The metric must be one of `record::METRICS`: the tests walk every kind of cell, so a typing error is found there.
    pub fn row(&mut self, phase: Phase, metric: &str, value: f64) {
        let known = find_metric(metric).unwrap_or_else(|| panic!("metric {metric:?} is not in record::METRICS"));
        let row =
            Row { phase, metric: known.name.to_owned(), unit: known.unit.to_owned(), value, ..self.template.clone() };
        self.messages.push(Message::Row(row));
    }

    pub fn latency(&mut self, operation: &str, percentile: Option<f64>, nanoseconds: u64, samples: u64) {
        let row = &self.template;
        self.messages.push(Message::Latency(LatencyRow {
            experiment: row.experiment.clone(),
            cell: row.cell.clone(),
            round: row.round,
            store: row.store.clone(),
            data: row.data.clone(),
            entries: row.entries,
            threads: row.threads,
            zipf: row.zipf,
            allocator: row.allocator.clone(),
            operation: operation.to_owned(),
            percentile,
            nanoseconds,
            samples,
        }));
    }

    pub fn timeline(&mut self, at_ns: u64, phase: Phase, metric: &str, value: f64) {
        let known = find_metric(metric).unwrap_or_else(|| panic!("metric {metric:?} is not in record::METRICS"));
        let row = &self.template;
        self.messages.push(Message::Timeline(TimelineRow {
            experiment: row.experiment.clone(),
            cell: row.cell.clone(),
            round: row.round,
            store: row.store.clone(),
            data: row.data.clone(),
            entries: row.entries,
            allocator: row.allocator.clone(),
            at_ns,
            phase,
            metric: known.name.to_owned(),
            unit: known.unit.to_owned(),
            value,
        }));
    }

    /// Says that the store did something that it must not do.
    pub fn fault(&mut self, status: Status, reason: String) {
        self.messages.push(Message::Fault { status, reason });
    }

    pub fn write(self, out: &mut dyn Write, done: bool) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        for message in &self.messages {
            serde_json::to_writer(&mut out, message)?;
            out.write_all(b"\n")?;
        }
        if done {
            serde_json::to_writer(&mut out, &Message::Done)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}
