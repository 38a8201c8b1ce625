//! What reading the document costs beside the store: a JSON file read by streaming, or parsed as a whole first.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::emit::Emitter;
use super::heap::{Holding, Snapshot};
use super::memory::{config, emit_load_peak, load, source, warm_up};
use super::spec::{Kind, Spec};
use super::verify;
use crate::items::{Items, Slice};
use crate::measure::clock::Clock;
use crate::record::Phase;
use crate::registry::{Row, Visitor};
use crate::store::Store;
use crate::workload::DataSpec;

pub struct Load<'a> {
    pub spec: &'a Spec,
    pub emitter: &'a mut Emitter,
}

impl Visitor for Load<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self, _row: &'static Row) -> Result<()> {
        let Load { spec, emitter } = self;
        let document = tempfile::Builder::new().prefix("document-").suffix(".json").tempfile_in(spec.scratch())?;
        let written = write_document(spec, document.path().to_owned())?;
        let from_file = reading(spec, document.path());
        warm_up::<S>(&from_file)?;
        let baseline = Snapshot::take()?;
        Snapshot::start_phase()?;
        let store = match spec.kind {
            Kind::LoadParseAll => parse_all::<S>(&from_file, document.path().to_owned())?,
            _ => load(&from_file)?,
        };
        let loaded = Snapshot::take()?;
        let holding = Holding::of(&store);
        drop(store);

        baseline.emit(Phase::Baseline, &baseline, emitter);
        emitter.row(Phase::Load, "document_bytes", written as f64);
        emit_load_peak(&loaded, &baseline, emitter);
        emitter.row(Phase::Load, "rss_growth_bytes", loaded.peak_growth(&baseline));
        holding.emit(Phase::Steady, &loaded, &baseline, emitter);
        Ok(())
    }
}

/// The article's blob: one gzipped JSON object, read by streaming. Timed, so nothing is counted.
pub struct Blob<'a> {
    pub spec: &'a Spec,
    pub emitter: &'a mut Emitter,
}

impl Visitor for Blob<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self, row: &'static Row) -> Result<()> {
        let Blob { spec, emitter } = self;
        let blob = tempfile::Builder::new().prefix("blob-").suffix(".json.gz").tempfile_in(spec.scratch())?;
        let mut gzip = GzEncoder::new(BufWriter::new(blob.as_file()), Compression::default());
        let document_bytes = write_items(spec, &mut gzip)?;
        gzip.finish().and_then(|mut out| out.flush()).context("the last bytes of the blob")?;
        let from_blob = reading(spec, blob.path());
        warm_up::<S>(&from_blob)?;
        let baseline = Snapshot::take()?;
        Snapshot::start_phase()?;
        let clock = Clock::new();
        let start = clock.raw();
        let store: S = load(&from_blob)?;
        let load_ns = clock.nanos(start, clock.raw());
        let loaded = Snapshot::take()?;
        let answers = verify::answers(&store, row, &from_blob)?;
        drop(store);

        emitter.row(Phase::Load, "document_bytes", document_bytes as f64);
        emitter.row(Phase::Load, "compressed_bytes", blob.as_file().metadata()?.len() as f64);
        emitter.row(Phase::Load, "load_seconds", load_ns as f64 / 1e9);
        emitter.row(Phase::Load, "load_extra_rss_bytes", loaded.peak_growth(&baseline) - loaded.growth(&baseline));
        loaded.emit(Phase::Steady, &baseline, emitter);
        answers.emit(emitter);
        Ok(())
    }
}

/// The cell, with this document for its data, all of it.
fn reading(spec: &Spec, document: &Path) -> Spec {
    let data = DataSpec { source: format!("json:{}", document.display()), ..DataSpec::default() };
    Spec { data, entries: None, ..spec.clone() }
}

/// Writes the cell's items as one JSON object into a file.
fn write_document(spec: &Spec, path: PathBuf) -> Result<u64> {
    let file = std::fs::File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    let mut out = BufWriter::new(file);
    let written = write_items(spec, &mut out)?;
    out.flush().context("the last bytes of the document")?;
    Ok(written)
}

/// Writes the cell's items as one JSON object, item by item; returns its bytes.
fn write_items(spec: &Spec, out: &mut dyn Write) -> Result<u64> {
    let mut out = Counted { out, bytes: 0 };
    let mut items = source(spec)?;
    let mut separator = "{";
    while let Some(item) = items.next_item().context("data")? {
        out.write_all(separator.as_bytes())?;
        serde_json::to_writer(&mut out, &String::from_utf8_lossy(item.key))?;
        out.write_all(b":")?;
        serde_json::to_writer(&mut out, &String::from_utf8_lossy(item.value))?;
        separator = ",\n";
    }
    out.write_all(if separator == "{" { b"{}" } else { b"}" })?;
    Ok(out.bytes)
}

/// Counts what goes through.
struct Counted<'w> {
    out: &'w mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// The usual way: the text in memory, then the parsed document, then the store.
fn parse_all<S: Store>(spec: &Spec, path: PathBuf) -> Result<S> {
    let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    let document: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&text)?;
    let pairs: Vec<(String, String)> = document
        .into_iter()
        .filter_map(|(key, value)| match value {
            serde_json::Value::String(text) => Some((key, text)),
            _ => None,
        })
        .collect();
    Ok(S::load(&mut Slice::new(&pairs), &config(spec))?)
}
