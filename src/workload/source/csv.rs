//! Items from two columns of a CSV table with a header (RFC 4180), read one record at a time. Keys and values are the bytes of
//! the file: their encoding is not looked at.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ::csv::{ByteRecord, ErrorKind, ReaderBuilder};

use super::document::{Document, Origin};
use super::{LONGEST, nearest};
use crate::items::{Item, Items, SourceError};

/// Bytes that one record may take up: a key, a value, and as much again for columns that are not asked for.
const LONGEST_RECORD: u64 = 4 * LONGEST as u64;
/// Bytes behind the end of the document, to see whether a quote is still open there: if so, they become part of a record that
/// began before the end. Otherwise they are a record of their own, which is dropped.
const END: &[u8] = b"\n.\n";

/// The items of a CSV table.
pub struct Csv<R: Read = File> {
    reader: ::csv::Reader<Fenced<R>>,
    origin: Origin,
    record: ByteRecord,
    key: usize,
    value: usize,
}

impl Csv {
    /// # Errors
    /// A file that cannot be read, and a header without the columns.
    pub fn open(path: &Path, key_column: &str, value_column: &str) -> Result<Self, SourceError> {
        Self::new(Document::open(path)?, key_column, value_column)
    }
}

impl<R: Read> Csv<R> {
    /// The items of any table; see [`Document::new`].
    ///
    /// # Errors
    /// A document that cannot be read, and a header without the columns.
    pub fn new(document: Document<R>, key_column: &str, value_column: &str) -> Result<Self, SourceError> {
        let origin = document.origin().clone();
        let fenced = Fenced { document, left: LONGEST_RECORD, read: 0, latest: Vec::new(), end: None };
        let mut reader = ReaderBuilder::new().buffer_capacity(32 << 10).from_reader(fenced);
        let header = reader.byte_headers().map_err(|error| unreadable(&origin, error))?.clone();
        let mut csv = Self { reader, origin, record: ByteRecord::new(), key: 0, value: 0 };
        if csv.ended(&header)? {
            return Err(csv.origin.complain(1, 0, "no header: a first line that names the columns is needed"));
        }
        csv.key = csv.column(&header, key_column, "--key-column")?;
        csv.value = csv.column(&header, value_column, "--value-column")?;
        Ok(csv)
    }

    fn column(&self, header: &ByteRecord, wanted: &str, option: &str) -> Result<usize, SourceError> {
        let names: Vec<_> = header.iter().map(String::from_utf8_lossy).collect();
        if let Some(at) = names.iter().position(|name| name == wanted) {
            return Ok(at);
        }
        let near = nearest(wanted, names.iter().map(AsRef::as_ref));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
        let known = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let complaint = format!("no column {wanted:?} in the header, which has {known}; name one with {option}{hint}");
        Err(self.origin.complain(1, 0, complaint))
    }

    /// Reads the next record; false at the end of the document.
    fn advance(&mut self) -> Result<bool, SourceError> {
        self.reader.get_mut().left = LONGEST_RECORD;
        let read = self.reader.read_byte_record(&mut self.record);
        // Asked first: at the end of the document a record may be ragged for the wrong reason.
        if self.ended(&self.record)? {
            return Ok(false);
        }
        read.map_err(|error| self.complain(error))
    }

    /// Whether the record just read is what was put behind the end of the document; an error if it began before that and went
    /// on behind it.
    fn ended(&self, record: &ByteRecord) -> Result<bool, SourceError> {
        // The first byte of END may belong to the last record: it is the line break that was missing.
        let beyond = |end: u64| self.reader.position().byte() > end + 1;
        if !self.reader.get_ref().end.is_some_and(beyond) {
            return Ok(false);
        }
        // An open quote takes in all of END with its line breaks, so its record cannot look like this.
        if record.len() == 1 && record[0] == *END.trim_ascii() {
            return Ok(true);
        }
        let (line, byte) = record.position().map_or((1, 0), |place| (place.line(), place.byte()));
        let complaint =
            "a quote is opened in this record and never closed; close it, or double the quotes inside a field";
        Err(self.origin.complain(line, byte, complaint))
    }

    /// The line (from 1) at which the record just read begins. The position the parser gives it is that of the line breaks
    /// before it: of blank lines, and of the second byte of a CR LF.
    fn line(&self, record: &ByteRecord) -> u64 {
        let Some(before) = record.position() else { return 1 };
        let breaks = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let inside: u64 = record.iter().map(breaks).sum();
        let behind = self.reader.position();
        let cr_lf = self.reader.get_ref().byte_before(behind.byte()) == Some(b'\r');
        (behind.line() - inside - u64::from(!cr_lf)).max(before.line())
    }

    fn complain(&self, error: ::csv::Error) -> SourceError {
        let ErrorKind::UnequalLengths { expected_len, len, .. } = error.kind() else {
            return unreadable(&self.origin, error);
        };
        let advice = "mend it, or quote the field that holds a comma or a line break";
        self.at_line(format!("a record of {len} fields under a header of {expected_len}; {advice}"))
    }

    fn at_line(&self, complaint: String) -> SourceError {
        SourceError::new(format!("{}: line {}: {complaint}", self.origin.name, self.line(&self.record)))
    }

    fn refuse_long(&self) -> Result<(), SourceError> {
        for (what, column) in [("key", self.key), ("value", self.value)] {
            let bytes = self.record[column].len();
            if bytes > LONGEST {
                let complaint =
                    format!("a {what} of {bytes} bytes, more than {LONGEST}; perhaps a closing quote is missing");
                return Err(self.at_line(complaint));
            }
        }
        Ok(())
    }
}

impl<R: Read> Items for Csv<R> {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        if !self.advance()? {
            return Ok(None);
        }
        self.refuse_long()?;
        Ok(Some(Item { key: &self.record[self.key], value: &self.record[self.value] }))
    }
}

fn unreadable(origin: &Origin, error: ::csv::Error) -> SourceError {
    match error.into_kind() {
        ErrorKind::Io(cause) => origin.broken(cause),
        other => SourceError::new(format!("{}: not a CSV table: {other:?}", origin.name)),
    }
}

/// A document that lets only so many bytes through for one record, and puts [`END`] behind its own end.
struct Fenced<R: Read> {
    document: Document<R>,
    left: u64,
    read: u64,
    /// What was read last: the parser is somewhere in it.
    latest: Vec<u8>,
    /// The length of the document, once it is known.
    end: Option<u64>,
}

impl<R: Read> Fenced<R> {
    /// The byte before byte `at`, if `at` is where the parser is.
    fn byte_before(&self, at: u64) -> Option<u8> {
        let from_end = usize::try_from(self.read.checked_sub(at)?).ok()?;
        self.latest.iter().rev().nth(from_end).copied()
    }

    fn remember(&mut self, bytes: &[u8]) {
        self.read += bytes.len() as u64;
        self.latest.clear();
        self.latest.extend_from_slice(bytes);
    }
}

impl<R: Read> Read for Fenced<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(end) = self.end {
            let rest = &END[usize::try_from(self.read - end).unwrap_or(END.len())..];
            let bytes = rest.len().min(into.len());
            into[..bytes].copy_from_slice(&rest[..bytes]);
            self.remember(&rest[..bytes]);
            return Ok(bytes);
        }
        if self.left == 0 {
            let longest = format!("a record before byte {} is longer than {LONGEST_RECORD} bytes", self.read);
            return Err(io::Error::other(format!("{longest}; perhaps a closing quote is missing")));
        }
        let most = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let bytes = self.document.read(&mut into[..most])?;
        self.left -= bytes as u64;
        if bytes == 0 && most > 0 {
            self.end = Some(self.read);
            return self.read(into);
        }
        self.remember(&into[..bytes]);
        Ok(bytes)
    }
}
