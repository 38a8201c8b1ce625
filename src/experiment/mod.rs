//! `experiments/*.toml` to a typed plan and a list of cells. Refuses what can't run before anything runs.

pub mod catalogue;
pub mod estimate;
pub mod file;
pub mod plan;
