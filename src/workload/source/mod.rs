//! The sources of items: from what the user typed to a stream. Knows the name of each source, none of their formats.

use std::path::{Path, PathBuf};

use super::DataSpec;
use super::synthetic::Synthetic;
use crate::items::{Item, Items, SourceError};

pub mod blob;
mod catalogue;
pub mod csv;
pub mod document;
pub mod json;
pub mod mo;
pub mod survey;
mod text;

/// No key and no value may be longer (bytes): a file that lost a closing quote is found before it fills the memory.
pub const LONGEST: usize = 64 << 20;

const SOURCES: [(&str, &str); 4] = [
    ("synthetic", "made from the seed: translation-like keys and texts, as many as the experiment wants"),
    (
        "json:PATH",
        "one object of key to string, or JSON lines with key, value and perhaps lang; plain, .gz or .zst; json:- reads stdin, and PATH may be a URL (file, http, https, s3)",
    ),
    ("csv:PATH", "two columns of a table with a header (--key-column, --value-column); plain, .gz or .zst"),
    ("mo:DIR", "every gettext catalogue (.mo) under a folder, as domain/msgid-language"),
];

/// What `larder list` says of the sources: how each is typed, and what it reads.
pub fn sources() -> &'static [(&'static str, &'static str)] {
    &SOURCES
}

/// A [`DataSpec`] that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Synthetic,
    Json(PathBuf),
    /// JSON by URL.
    Blob(blob::Address),
    Csv {
        path: PathBuf,
        key_column: String,
        value_column: String,
    },
    /// A folder.
    Mo(PathBuf),
}

impl Source {
    /// # Errors
    /// An unknown kind of source, a missing path, and options that belong to another source.
    pub fn parse(spec: &DataSpec) -> Result<Self, SourceError> {
        let (kind, path) = match spec.source.split_once(':') {
            Some((kind, path)) => (kind, Some(path)),
            None => (spec.source.as_str(), None),
        };
        let source = match (kind, path) {
            ("synthetic", None) => Self::Synthetic,
            ("synthetic", Some(_)) => return Err(SourceError::new("data: synthetic takes no path; write `synthetic`")),
            ("json", Some(path)) if !path.is_empty() => match blob::Address::parse(path) {
                Some(address) => Self::Blob(address?),
                None => Self::Json(path.into()),
            },
            ("csv", Some(path)) if !path.is_empty() => {
                let column = |named: &Option<String>, usual: &str| named.clone().unwrap_or_else(|| usual.to_owned());
                return Ok(Self::Csv {
                    path: path.into(),
                    key_column: column(&spec.key_column, "key"),
                    value_column: column(&spec.value_column, "value"),
                });
            }
            ("mo", Some(path)) if !path.is_empty() => Self::Mo(path.into()),
            _ => return Err(not_understood(&spec.source, kind)),
        };
        if spec.key_column.is_some() || spec.value_column.is_some() {
            return Err(SourceError::new(format!(
                "data `{}` has no columns; leave out --key-column and --value-column, which belong to csv:PATH",
                spec.source
            )));
        }
        Ok(source)
    }

    /// Asks no server: whether a blob is there is known when it is opened.
    ///
    /// # Errors
    /// A path that is not there or of the wrong kind.
    pub fn check(&self) -> Result<(), SourceError> {
        match self {
            Self::Synthetic | Self::Blob(_) => Ok(()),
            Self::Json(path) | Self::Csv { path, .. } => document::check(path),
            Self::Mo(folder) => mo::check(folder),
        }
    }

    /// # Errors
    /// As [`super::open`].
    pub fn open(&self, limit: Option<u64>, seed: u64) -> Result<Box<dyn Items + Send>, SourceError> {
        let items: Box<dyn Items + Send> = match self {
            Self::Synthetic => {
                let unlimited =
                    || SourceError::new("data: synthetic has no end of its own; say how many entries to make");
                return Ok(Box::new(Synthetic::new(limit.ok_or_else(unlimited)?, seed)));
            }
            Self::Json(path) => Box::new(json::Json::open(path)?),
            Self::Blob(address) => Box::new(json::Json::fetch(address, &blob::Patience::default())?),
            Self::Csv { path, key_column, value_column } => Box::new(csv::Csv::open(path, key_column, value_column)?),
            Self::Mo(folder) => Box::new(mo::Mo::open(folder)?),
        };
        Ok(match limit {
            Some(left) => Box::new(Limited { items, left }),
            None => items,
        })
    }

    /// The size of the file or files, as they lie on the disk or the server, in bytes; `None` where there are none.
    ///
    /// # Errors
    /// A file or blob that is not there.
    pub fn document_bytes(&self) -> Result<Option<u64>, SourceError> {
        match self {
            Self::Synthetic => Ok(None),
            Self::Json(path) | Self::Csv { path, .. } => size_of(path).map(Some),
            Self::Blob(address) => blob::Blob::open(address, &blob::Patience::default()).map(|blob| Some(blob.size())),
            Self::Mo(folder) => mo::size(folder).map(Some),
        }
    }
}

fn not_understood(typed: &str, kind: &str) -> SourceError {
    if let Some((known, _)) = SOURCES.iter().find(|(known, _)| known.split(':').next() == Some(kind)) {
        return SourceError::new(format!("data `{typed}` lacks a path; write `{known}`"));
    }
    let all = SOURCES.map(|(known, _)| known).join(", ");
    let hint = if !typed.contains(':') && Path::new(typed).exists() {
        format!("a path needs its format before it: did you mean `{}:{typed}`?", guess(Path::new(typed)))
    } else {
        let name = |known: &'static str| known.split(':').next().unwrap_or(known);
        match nearest(kind, SOURCES.iter().map(|(known, _)| name(known))) {
            Some(near) => format!("did you mean `{near}`?"),
            None => String::new(),
        }
    };
    SourceError::new(format!("data `{typed}` is not a source; use one of {all}. {hint}").trim_end().to_owned())
}

/// The likeliest format of a path typed without one.
fn guess(path: &Path) -> &'static str {
    match path {
        folder if folder.is_dir() => "mo",
        file if file.to_string_lossy().contains(".csv") => "csv",
        _ => "json",
    }
}

/// The known name most like `typed`, unless none is.
fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(&typed.to_lowercase(), &name.to_lowercase());
    known
        .map(|name| (likeness(name), name))
        .filter(|(like, _)| *like > 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

fn size_of(path: &Path) -> Result<u64, SourceError> {
    let size = std::fs::metadata(path).map(|about| about.len());
    size.map_err(|cause| SourceError::caused(format!("{}: {cause}", path.display()), cause))
}

/// The first items of a longer stream.
struct Limited {
    items: Box<dyn Items + Send>,
    left: u64,
}

impl Items for Limited {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.items.next_item()
    }

    fn expected(&self) -> Option<u64> {
        self.items.expected().map(|there| there.min(self.left))
    }
}
