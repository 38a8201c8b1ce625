//! hybrid
pub mod clock;
mod direct;
pub mod disk;
mod flights;
pub mod keys;
mod lru;
mod mapped;
mod named;
mod options;
mod record;
mod statistics;
mod table;
pub use options::{Options, Scope};
pub use statistics::{Bucket, Statistics};
