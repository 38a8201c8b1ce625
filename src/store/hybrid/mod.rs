//! hybrid
mod direct;
pub mod disk;
pub mod keys;
mod mapped;
mod named;
mod record;
mod table;
