//! CSV: a header, a column of keys, a column of values.

use std::io::BufRead;
use std::path::Path;

use super::LONGEST;
use crate::items::{Item, Items, SourceError};

/// Items of a CSV file.
pub struct Csv {
    reader: csv::Reader<Box<dyn BufRead + Send>>,
    record: csv::ByteRecord,
    key: usize,
    value: usize,
    path: String,
}

impl Csv {
    /// Opens a file and finds its columns.
    pub fn open(path: &Path, key: &str, value: &str) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let mut reader = csv::ReaderBuilder::new().from_reader(super::open(path)?);
        let header = reader.byte_headers().map_err(|error| fault(&name, error))?.clone();
        let find = |wanted: &str| column(&header, wanted, &name);
        let (key, value) = (find(key)?, find(value)?);
        Ok(Self { reader, record: csv::ByteRecord::new(), key, value, path: name })
    }
}

fn column(header: &csv::ByteRecord, wanted: &str, path: &str) -> Result<usize, SourceError> {
    if let Some(at) = header.iter().position(|name| name == wanted.as_bytes()) {
        return Ok(at);
    }
    let names: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let nearest = names.iter().max_by(|a, b| strsim::jaro_winkler(wanted, a).total_cmp(&strsim::jaro_winkler(wanted, b)));
    Err(SourceError::new(format!(
        "{path}: line 1: no column {wanted:?}; the header has {}. Did you mean {:?}? Use --key-column and --value-column",
        names.join(", "),
        nearest.map_or("", |name| name)
    )))
}

/// The csv crate's errors name record, line and byte.
fn fault(path: &str, error: csv::Error) -> SourceError {
    SourceError::caused(format!("{path}: {error}"), error)
}

impl Items for Csv {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        let more = self.reader.read_byte_record(&mut self.record).map_err(|error| fault(&self.path, error))?;
        if !more {
            return Ok(None);
        }
        let item = Item { key: &self.record[self.key], value: &self.record[self.value] };
        if item.key.len().max(item.value.len()) > LONGEST {
            let line = self.record.position().map_or(0, csv::Position::line);
            let limit = LONGEST >> 20;
            return Err(SourceError::new(format!("{}: line {line}: a field is longer than {limit} MiB", self.path)));
        }
        Ok(Some(item))
    }
}
