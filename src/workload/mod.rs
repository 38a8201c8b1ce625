//! What is loaded and what is asked for: items, popularity, request streams; all seeded. Knows nothing of stores.

use serde::{Deserialize, Serialize};

use crate::items::{Items, SourceError};

pub mod keys;
pub mod popularity;
pub mod requests;
pub mod source;
pub mod synthetic;

pub use source::sources;
pub use source::survey::{Survey, survey};

/// Where items come from, as typed by the user, with the options that belong to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// `synthetic`, `json:PATH`, `json:URL`, `csv:PATH`, `mo:DIR`.
    pub source: String,
    pub key_column: Option<String>,
    pub value_column: Option<String>,
    /// The path is that of a temporary file, which holds what came from stdin.
    #[serde(default)]
    pub from_stdin: bool,
}

impl DataSpec {
    /// What rows and reports call the data: the source as the user typed it.
    pub fn label(&self) -> &str {
        if self.from_stdin { "json:-" } else { &self.source }
    }
}

/// A stream of the items `spec` names, from the first; at most `limit` of them. `seed` matters to synthetic data only.
///
/// # Errors
/// A source that cannot be understood or opened, and synthetic data without a limit: it has no end of its own.
pub fn open(spec: &DataSpec, limit: Option<u64>, seed: u64) -> Result<Box<dyn Items + Send>, SourceError> {
    source::Source::parse(spec)?.open(limit, seed)
}

/// Whether `spec` names a source that is there. Reads none of its contents: that is what [`survey`] does.
///
/// # Errors
/// An unknown kind of source (the nearest known one is suggested), a path that is not there or of the wrong kind, and
/// options that belong to another source.
pub fn check(spec: &DataSpec) -> Result<(), SourceError> {
    source::Source::parse(spec)?.check()
}
