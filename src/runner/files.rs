//! The CSV files of a run: appended cell by cell, and read again when a run goes on. A cell is in them as a whole or not at all.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::CellReport;
use crate::cell::spec::{Message, Spec};
use crate::record::{LatencyRow, Phase, Row, Status, TimelineRow, file};

/// The open files of a run, locked against a second run in the same folder.
pub struct Files {
    measurements: Appender,
    latency: Appender,
    timeline: Appender,
    done: HashSet<String>,
    _lock: File,
}

impl Files {
    /// Opens `directory` for a run. Without `resume` it must not hold rows yet.
    ///
    /// # Errors
    /// A folder that can't be written, is in use by another run, or holds rows although `resume` was not asked for.
    pub fn open(directory: &Path, resume: bool) -> Result<Self> {
        std::fs::create_dir_all(directory).with_context(|| format!("creating {}", directory.display()))?;
        let lock = lock(directory)?;
        let measurements = directory.join(file::MEASUREMENTS);
        if measurements.exists() && !resume {
            bail!("{} holds an earlier run; give --resume to go on with it, or another --out", directory.display());
        }
        let done = completed(&measurements)?;
        Ok(Self {
            measurements: Appender::open::<Row>(measurements, |row| done.contains(&row.cell))?,
            latency: Appender::open::<LatencyRow>(directory.join(file::LATENCY), |row| done.contains(&row.cell))?,
            timeline: Appender::open::<TimelineRow>(directory.join(file::TIMELINE), |row| done.contains(&row.cell))?,
            done,
            _lock: lock,
        })
    }

    /// Whether an earlier run ended this cell well.
    pub fn holds(&self, cell: &str) -> bool {
        self.done.contains(cell)
    }

    /// Appends what a cell left, its closing row last: without it the cell counts as not run.
    ///
    /// # Errors
    /// A full disk, a removed folder.
    pub fn append(&mut self, spec: &Spec, report: &CellReport) -> Result<()> {
        let mut rows = Vec::new();
        let mut latency = Vec::new();
        let mut timeline = Vec::new();
        let status = report.failure.as_ref().map_or(Status::Ok, |(status, _)| *status);
        for message in &report.messages {
            match message {
                Message::Row(row) => rows.push(Row { status, ..row.clone() }),
                // Percentiles and time series of a failed cell are not results.
                Message::Latency(row) if status == Status::Ok => latency.push(row.clone()),
                Message::Timeline(row) if status == Status::Ok => timeline.push(row.clone()),
                _ => {}
            }
        }
        if let Some((status, reason)) = &report.failure {
            rows.push(Row { status: *status, reason: reason.clone(), ..spec.row(Phase::Cell, "failed", 1.0) });
        }
        rows.push(Row { status, ..spec.row(Phase::Cell, "cell_seconds", report.seconds) });
        self.latency.append(&latency)?;
        self.timeline.append(&timeline)?;
        self.measurements.append(&rows)
    }
}

fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(".lock");
    let lock = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    if lock.try_lock().is_err() {
        bail!("{} is in use by another run; wait for it, or choose another --out", directory.display());
    }
    Ok(lock)
}

/// Cells whose closing row says that they ended well.
fn completed(measurements: &Path) -> Result<HashSet<String>> {
    if !measurements.exists() {
        return Ok(HashSet::new());
    }
    let rows: Vec<Row> = read_whole_lines(measurements)?;
    Ok(rows
        .into_iter()
        .filter(|row| row.metric == "cell_seconds" && row.status == Status::Ok)
        .map(|row| row.cell)
        .collect())
}

/// Rows of a CSV file, without a last line that a crash cut short.
fn read_whole_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let mut bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(end);
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    reader
        .deserialize()
        .collect::<Result<Vec<T>, csv::Error>>()
        .with_context(|| format!("{}: not a file of this version of larder; move it away", path.display()))
}

/// A CSV file that grows by whole cells.
struct Appender {
    path: PathBuf,
    file: File,
    empty: bool,
}

impl Appender {
    /// Opens the file and keeps only those of its rows that `keep` accepts.
    fn open<T: Serialize + DeserializeOwned>(path: PathBuf, keep: impl Fn(&T) -> bool) -> Result<Self> {
        let rows: Vec<T> = if path.exists() { read_whole_lines(&path)? } else { Vec::new() };
        let kept: Vec<T> = rows.into_iter().filter(keep).collect();
        let aside = path.with_extension("csv.new");
        let file = OpenOptions::new().create(true).truncate(true).write(true).open(&aside);
        let file = file.with_context(|| format!("creating {}", aside.display()))?;
        let mut appender = Self { path: aside.clone(), file, empty: true };
        appender.append(&kept)?;
        std::fs::rename(&aside, &path)
            .with_context(|| format!("renaming {} to {}", aside.display(), path.display()))?;
        appender.path = path;
        Ok(appender)
    }

    /// Appends all rows with one write, so that a crash leaves at most the last cell torn.
    fn append<T: Serialize>(&mut self, rows: &[T]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut writer = csv::WriterBuilder::new().has_headers(self.empty).from_writer(Vec::new());
        for row in rows {
            writer.serialize(row).context("a row as CSV")?;
        }
        let bytes = writer.into_inner().map_err(|error| error.into_error()).context("rows as CSV")?;
        self.file
            .write_all(&bytes)
            .with_context(|| format!("writing {}; what was measured before stands", self.path.display()))?;
        self.empty = false;
        Ok(())
    }
}
