//! hybrid
pub mod keys;
mod table;
