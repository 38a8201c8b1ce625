//! Allocator layer, memory readings, latency histograms, clocks. Knows nothing of stores and workloads.

pub mod alloc;
