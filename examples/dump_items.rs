//! Writes the items of a source as one JSON object: synthetic translations for another tool, or a tree of catalogues as a document.
//!
//!     cargo run --release --example dump_items -- synthetic 200000 > translations.json
//!     cargo run --release --example dump_items -- mo:/usr/share/locale > translations.json

use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result};
use larder::items::Items;
use larder::workload::{self, DataSpec};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let source = arguments.next().context("usage: dump_items SOURCE [ENTRIES] [SEED]")?;
    let limit = arguments.next().map(|text| text.parse()).transpose().context("ENTRIES must be a number")?;
    let seed = arguments.next().map(|text| text.parse()).transpose().context("SEED must be a number")?.unwrap_or(1);
    let spec = DataSpec { source, ..DataSpec::default() };
    let mut items = workload::open(&spec, limit, seed)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut separator = "{";
    while let Some(item) = items.next_item()? {
        write!(out, "{separator}")?;
        serde_json::to_writer(&mut out, &String::from_utf8_lossy(item.key))?;
        write!(out, ":")?;
        serde_json::to_writer(&mut out, &String::from_utf8_lossy(item.value))?;
        separator = ",\n";
    }
    writeln!(out, "{}", if separator == "{" { "{}" } else { "}" })?;
    out.flush().context("writing the document")
}
