//! Readings of the process at the turns of a cell's life, and the modelled service around a store.

use anyhow::{Context, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::emit::Emitter;
use crate::measure::{alloc, memory};
use crate::record::Phase;
use crate::store::{Footprint, Store};

/// Everything that is known of the process's memory at one moment. Taking one allocates next to nothing.
#[derive(Clone, Copy)]
pub struct Snapshot {
    pub counters: alloc::Counters,
    pub memory: memory::Reading,
    jemalloc: Option<alloc::JemallocStats>,
}

impl Snapshot {
    pub fn take() -> Result<Self> {
        Ok(Self {
            counters: alloc::counters(),
            memory: memory::read().context("reading /proc/self")?,
            jemalloc: alloc::jemalloc_stats(),
        })
    }

    /// After this, peaks are those of the next phase.
    pub fn start_phase() -> Result<()> {
        alloc::reset_peak();
        memory::reset_hwm().context("resetting VmHWM through /proc/self/clear_refs")
    }

    pub fn emit(&self, phase: Phase, baseline: &Snapshot, emitter: &mut Emitter) {
        if alloc::counting() {
            let (now, then) = (&self.counters, &baseline.counters);
            emitter.row(phase, "live_blocks", (now.live_blocks - then.live_blocks) as f64);
            emitter.row(phase, "live_requested_bytes", (now.live_requested - then.live_requested) as f64);
            emitter.row(phase, "live_usable_bytes", (now.live_usable - then.live_usable) as f64);
            emitter.row(phase, "total_allocations", (now.total_allocations - then.total_allocations) as f64);
            emitter.row(phase, "peak_requested_bytes", (now.peak_requested - then.live_requested) as f64);
        }
        if let Some(stats) = self.jemalloc {
            emitter.row(phase, "allocator_active_bytes", stats.active as f64);
            emitter.row(phase, "allocator_resident_bytes", stats.resident as f64);
        }
        emitter.row(phase, "rss_bytes", self.memory.rss as f64);
        emitter.row(phase, "rss_growth_bytes", self.growth(baseline));
        emitter.row(phase, "pss_bytes", self.memory.pss as f64);
        emitter.row(phase, "anonymous_bytes", self.memory.anonymous as f64);
        emitter.row(phase, "file_bytes", self.memory.file as f64);
        emitter.row(phase, "huge_page_bytes", self.memory.huge_pages as f64);
        emitter.row(phase, "hwm_bytes", self.memory.hwm as f64);
    }

    /// Resident bytes above the baseline.
    pub fn growth(&self, baseline: &Snapshot) -> f64 {
        self.memory.rss as f64 - baseline.memory.rss as f64
    }

    /// Highest resident bytes of the phase above the baseline.
    pub fn peak_growth(&self, baseline: &Snapshot) -> f64 {
        self.memory.hwm as f64 - baseline.memory.rss as f64
    }

    pub fn requested(&self, baseline: &Snapshot) -> f64 {
        (self.counters.live_requested - baseline.counters.live_requested) as f64
    }

    pub fn peak_requested(&self, baseline: &Snapshot) -> f64 {
        (self.counters.peak_requested - baseline.counters.live_requested) as f64
    }

    pub fn blocks(&self, baseline: &Snapshot) -> f64 {
        (self.counters.live_blocks - baseline.counters.live_blocks) as f64
    }
}

/// What a store is known to hold once it is loaded.
#[derive(Clone, Copy)]
pub struct Holding {
    pub entries: u64,
    pub footprint: Footprint,
}

impl Holding {
    pub fn of(store: &impl Store) -> Self {
        Self { entries: store.entries(), footprint: store.footprint() }
    }

    /// The figures per entry, for a phase in which nothing but the store was added to the baseline.
    pub fn emit(&self, phase: Phase, now: &Snapshot, baseline: &Snapshot, emitter: &mut Emitter) {
        emitter.row(phase, "entries", self.entries as f64);
        if self.entries == 0 {
            return;
        }
        let per_entry = |total: f64| total / self.entries as f64;
        emitter.row(phase, "rss_growth_bytes_per_entry", per_entry(now.growth(baseline)));
        if alloc::counting() {
            let usable = (now.counters.live_usable - baseline.counters.live_usable) as f64;
            emitter.row(phase, "blocks_per_entry", per_entry(now.blocks(baseline)));
            emitter.row(phase, "requested_bytes_per_entry", per_entry(now.requested(baseline)));
            emitter.row(phase, "usable_bytes_per_entry", per_entry(usable));
            if now.requested(baseline) > 0.0 {
                let gap = self.footprint.heap() as f64 / now.requested(baseline) - 1.0;
                emitter.row(phase, "footprint_gap", gap);
            }
        }
        emitter.row(phase, "index_bytes_per_entry", per_entry(self.footprint.index as f64));
        emitter.row(phase, "key_bytes_per_entry", per_entry(self.footprint.keys as f64));
        emitter.row(phase, "value_bytes_per_entry", per_entry(self.footprint.values as f64));
        emitter.row(phase, "overhead_bytes_per_entry", per_entry(self.footprint.overhead as f64));
    }
}

/// The rest of a service's heap: blocks of the sizes that requests, sessions and configuration leave behind. A model: its number of
/// blocks is stated by the experiment, its sizes (16 to 256 bytes, small ones more often) are an assumption.
pub struct ServiceHeap {
    blocks: Vec<Box<[u8]>>,
}

impl ServiceHeap {
    pub fn build(blocks: u64, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ 0x5e71_1ce0);
        let size = |rng: &mut StdRng| 16usize << rng.random_range(0..5u32).min(rng.random_range(0..5u32));
        Self { blocks: (0..blocks).map(|_| vec![1u8; size(&mut rng)].into_boxed_slice()).collect() }
    }

    /// Blocks of the model, its own list of them included.
    pub fn len(&self) -> u64 {
        self.blocks.len() as u64 + u64::from(!self.blocks.is_empty())
    }
}
