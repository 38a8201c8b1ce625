//! Allocator layer, memory readings, latency histograms, clocks, metrics as text. Knows nothing of stores and workloads.

pub mod alloc;
pub mod clock;
pub mod latency;
pub mod machine;
pub mod memory;
pub mod prometheus;
