//! What is loaded and what is asked for: items, popularity, request streams; all seeded. Knows nothing of stores.

pub mod keys;
pub mod popularity;
pub mod requests;
mod source;
pub mod synthetic;

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use crate::items::{Item, Items, SourceError};

/// Where items come from, as typed by the user, with the options that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// `synthetic`, `json:PATH`, `csv:PATH`, `mo:DIR`.
    pub source: String,
    pub key_column: Option<String>,
    pub value_column: Option<String>,
}

/// Kinds of sources, for people: as typed, and what they are.
const SOURCES: &[(&str, &str)] = &[
    ("synthetic", "seeded translations at any size, fitted to real ones"),
    ("json:PATH", "one object of key to string, or lines of {\"key\",\"lang\",\"value\"}; also .gz and .zst; json:- reads stdin"),
    ("csv:PATH", "rows with a key and a value column (--key-column, --value-column); also .gz and .zst"),
    ("mo:DIR", "a tree of gettext catalogues, such as /usr/share/locale"),
];

/// The kinds of sources for `larder list`.
pub fn sources() -> &'static [(&'static str, &'static str)] {
    SOURCES
}

/// A source whose description was understood.
enum Parsed<'a> {
    Synthetic,
    Json(&'a Path),
    Csv(&'a Path),
    Mo(&'a Path),
}

fn parse(spec: &DataSpec) -> Result<Parsed<'_>, SourceError> {
    let (kind, path) = spec.source.split_once(':').unwrap_or((&spec.source, ""));
    let parsed = match kind {
        "synthetic" if path.is_empty() => Parsed::Synthetic,
        "json" => Parsed::Json(Path::new(path)),
        "csv" => Parsed::Csv(Path::new(path)),
        "mo" => Parsed::Mo(Path::new(path)),
        _ => return Err(unknown(&spec.source, kind)),
    };
    if let Parsed::Json(path) | Parsed::Csv(path) | Parsed::Mo(path) = parsed
        && path.as_os_str().is_empty()
    {
        return Err(SourceError::new(format!("data {:?}: a path must follow, as in {kind}:PATH", spec.source)));
    }
    let columns = spec.key_column.is_some() || spec.value_column.is_some();
    if columns && !matches!(parsed, Parsed::Csv(_)) {
        return Err(SourceError::new(format!(
            "--key-column and --value-column belong to csv:PATH, and the data are {:?}",
            spec.source
        )));
    }
    Ok(parsed)
}

fn unknown(source: &str, kind: &str) -> SourceError {
    let names = SOURCES.iter().map(|(name, _)| name.split_once(':').map_or(*name, |(kind, _)| kind));
    let nearest = names.max_by(|a, b| strsim::jaro_winkler(kind, a).total_cmp(&strsim::jaro_winkler(kind, b)));
    SourceError::new(format!(
        "data {source:?}: no such source; did you mean {:?}? There are synthetic, json:PATH, csv:PATH and mo:DIR",
        nearest.unwrap_or("synthetic")
    ))
}

/// Whether the source is well described and there.
///
/// # Errors
/// An unknown kind (with the nearest known one), a missing path, options that do not belong to the kind.
pub fn check(spec: &DataSpec) -> Result<(), SourceError> {
    match parse(spec)? {
        Parsed::Synthetic => Ok(()),
        Parsed::Json(path) | Parsed::Csv(path) | Parsed::Mo(path) => match path.metadata() {
            Ok(_) => Ok(()),
            Err(cause) => Err(SourceError::caused(format!("data {}: {cause}", path.display()), cause)),
        },
    }
}

/// Opens a source: `limit` is how many items to make, or at most to read.
///
/// # Errors
/// What [`check`] finds; a file that can't be read. Faults further on come from the stream itself.
pub fn open(spec: &DataSpec, limit: Option<u64>, seed: u64) -> Result<Box<dyn Items + Send>, SourceError> {
    let items: Box<dyn Items + Send> = match parse(spec)? {
        Parsed::Synthetic => {
            let count = limit.ok_or_else(|| SourceError::new("synthetic data need a number of entries"))?;
            return Ok(Box::new(synthetic::Synthetic::new(count, seed)));
        }
        Parsed::Json(path) => Box::new(source::json::Json::open(path)?),
        Parsed::Csv(path) => {
            let key = spec.key_column.as_deref().unwrap_or("key");
            Box::new(source::csv::Csv::open(path, key, spec.value_column.as_deref().unwrap_or("value"))?)
        }
        Parsed::Mo(path) => Box::new(source::mo::Mo::open(path)?),
    };
    Ok(match limit {
        Some(left) => Box::new(First { items, left }),
        None => items,
    })
}

/// At most so many items of a source.
struct First {
    items: Box<dyn Items + Send>,
    left: u64,
}

impl Items for First {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.items.next_item()
    }

    fn expected(&self) -> Option<u64> {
        self.items.expected().map(|count| count.min(self.left))
    }
}

/// What one pass over a source found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    pub items: u64,
    /// Distinct keys, by a 64-bit hash.
    pub distinct: u64,
    pub key_bytes: u64,
    pub value_bytes: u64,
    pub longest_key: u64,
    pub longest_value: u64,
    /// Size of the file or files; keys and values for synthetic data.
    pub document_bytes: u64,
    /// SHA-256 over all keys and values, each behind its length.
    pub checksum: String,
}

/// Reads a source from end to end: broken input is found before anything runs on it.
///
/// # Errors
/// The source's own.
pub fn survey(spec: &DataSpec, limit: Option<u64>, seed: u64) -> Result<Survey, SourceError> {
    let mut items = open(spec, limit, seed)?;
    let mut found = Survey {
        items: 0,
        distinct: 0,
        key_bytes: 0,
        value_bytes: 0,
        longest_key: 0,
        longest_value: 0,
        document_bytes: 0,
        checksum: String::new(),
    };
    let mut hash = Sha256::new();
    let mut keys = HashSet::new();
    while let Some(item) = items.next_item()? {
        let (key, value) = (item.key.len() as u64, item.value.len() as u64);
        found.items += 1;
        found.key_bytes += key;
        found.value_bytes += value;
        found.longest_key = found.longest_key.max(key);
        found.longest_value = found.longest_value.max(value);
        keys.insert(xxh3_64(item.key));
        for part in [item.key, item.value] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    found.distinct = keys.len() as u64;
    found.checksum = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    found.document_bytes = match parse(spec)? {
        Parsed::Synthetic => found.key_bytes + found.value_bytes,
        Parsed::Json(path) | Parsed::Csv(path) => path.metadata().map_or(0, |metadata| metadata.len()),
        Parsed::Mo(path) => source::mo::total_bytes(path)?,
    };
    Ok(found)
}
