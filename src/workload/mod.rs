//! What is loaded and what is asked for: items, popularity, request streams; all seeded. Knows nothing of stores.

use serde::{Deserialize, Serialize};

/// Where items come from, as typed by the user, with the options that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// `synthetic`, `json:PATH`, `csv:PATH`, `mo:DIR`.
    pub source: String,
    pub key_column: Option<String>,
    pub value_column: Option<String>,
}
