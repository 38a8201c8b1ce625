//! One global allocator that hands every call to the allocator chosen for this process, and counts where asked to.

use serde::{Deserialize, Serialize};

/// Which allocator serves the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Allocator {
    /// The C library's malloc.
    System,
    Jemalloc,
    Mimalloc,
    /// dhat's profiler over the C library's malloc; leaves dhat-heap.json and measures nothing else.
    Dhat,
}

impl Allocator {
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Jemalloc => "jemalloc",
            Self::Mimalloc => "mimalloc",
            Self::Dhat => "dhat",
        }
    }
}
