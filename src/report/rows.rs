//! The rows of a run, read once, and the one way to choose among them: column = value.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;

use crate::record::{LatencyRow, Row, Status, TimelineRow, file};

/// Everything that a run's cells said.
pub struct Rows {
    /// Rows of cells that ended well.
    pub good: Vec<Row>,
    /// The row of each failed cell that says why.
    pub failures: Vec<Row>,
    pub latency: Vec<LatencyRow>,
    pub timeline: Vec<TimelineRow>,
}

impl Rows {
    /// # Errors
    /// A folder without measurements, or a file of other columns; the message names it.
    pub fn read(directory: &Path) -> Result<Self> {
        let all: Vec<Row> = read(&directory.join(file::MEASUREMENTS))?;
        let (good, bad): (Vec<Row>, Vec<Row>) = all.into_iter().partition(|row| row.status == Status::Ok);
        Ok(Self {
            good,
            failures: bad.into_iter().filter(|row| row.metric == "failed").collect(),
            latency: read(&directory.join(file::LATENCY))?,
            timeline: read(&directory.join(file::TIMELINE))?,
        })
    }

    /// Stores in the order of their first row's appearance in `order`, then the others; twins behind their store.
    pub fn stores(&self, order: &[&str]) -> Vec<String> {
        let mut names: Vec<&str> = self.good.iter().map(|row| row.store.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let place = |name: &str| {
            let plain = name.trim_end_matches("+twin");
            order.iter().position(|known| *known == plain).unwrap_or(order.len())
        };
        names.sort_by_key(|name| (place(name), name.to_string()));
        names.into_iter().map(str::to_owned).collect()
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if path.metadata().with_context(|| format!("{}", path.display()))?.len() == 0 {
        return Ok(Vec::new());
    }
    let mut reader = csv::Reader::from_path(path).with_context(|| format!("reading {}", path.display()))?;
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .with_context(|| format!("{}: not rows of this version", path.display()))
}

/// What a row must carry to be chosen. A value with commas allows any of its parts.
pub type Filter = BTreeMap<String, String>;

/// Columns that a filter may name, and what they are.
pub const COLUMNS: [&str; 9] =
    ["store", "phase", "allocator", "threads", "zipf", "kind", "service", "entries", "operation"];

/// # Errors
/// A column that rows do not have; the message lists those that they do.
pub fn check(filter: &Filter) -> Result<()> {
    match filter.keys().find(|column| !COLUMNS.contains(&column.as_str())) {
        Some(column) => bail!("no column {column:?}; there are {}", COLUMNS.join(", ")),
        None => Ok(()),
    }
}

/// Something that has a value for each column of [`COLUMNS`].
pub trait Columns {
    fn column(&self, name: &str) -> Option<String>;
}

/// The kind of a cell and whether a service was modelled around it stand in its id: `memory/sync-map/n2000/system/t1/z0.99/s0/r0`.
fn from_cell(cell: &str, name: &str) -> Option<String> {
    let mut parts = cell.split('/');
    match name {
        "kind" => parts.next().map(str::to_owned),
        "service" => Some(if parts.any(|part| part == "s0") { "no" } else { "yes" }.to_owned()),
        _ => None,
    }
}

macro_rules! columns {
    ($row:ty, $self:ident, { $($name:literal => $value:expr),* $(,)? }) => {
        impl Columns for $row {
            fn column(&self, name: &str) -> Option<String> {
                let $self = self;
                match name {
                    "store" => Some($self.store.clone()),
                    "allocator" => Some($self.allocator.clone()),
                    "entries" => Some($self.entries.to_string()),
                    $($name => Some($value),)*
                    _ => from_cell(&$self.cell, name),
                }
            }
        }
    };
}

columns!(Row, row, { "phase" => word(&row.phase), "threads" => row.threads.to_string(), "zipf" => row.zipf.to_string() });
columns!(LatencyRow, row, {
    "threads" => row.threads.to_string(),
    "zipf" => row.zipf.to_string(),
    "operation" => row.operation.clone(),
});
columns!(TimelineRow, row, { "phase" => word(&row.phase) });

/// A unit variant as rows write it.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Whether the row carries everything that the filter asks for. Columns that this kind of row lacks do not count against it.
pub fn matches(row: &impl Columns, filter: &Filter) -> bool {
    filter.iter().all(|(column, wanted)| row.column(column).is_none_or(|value| allows(wanted, &value)))
}

/// Whether a filter's text, which may be a list with commas, names the value.
pub fn allows(wanted: &str, value: &str) -> bool {
    wanted.split(',').any(|part| part.trim() == value)
}
