//! Memory of a store by phase: load, steady, purged, dropped, end. The allocation counters are on, so nothing here is timed.

use anyhow::{Context, Result};

use super::emit::Emitter;
use super::heap::{Holding, ServiceHeap, Snapshot};
use super::spec::Spec;
use super::tier::Tier;
use super::verify;
use crate::items::{Items, Slice};
use crate::measure::alloc;
use crate::record::{Phase, Status};
use crate::registry::{Row, Visitor};
use crate::store::{Config, Reader, Store};
use crate::workload;
use crate::workload::keys::KeySet;

/// Blocks that may outlive a store without being a leak: made once per process by the runtime or a library, not once per entry.
const TOLERATED_BLOCKS: f64 = 16.0;

pub struct Memory<'a> {
    pub spec: &'a Spec,
    pub emitter: &'a mut Emitter,
}

impl Visitor for Memory<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self, row: &'static Row) -> Result<()> {
        let Memory { spec, emitter } = self;
        warm_up::<S>(spec)?;
        let entries = spec.entries.unwrap_or(0) as f64;
        let service = ServiceHeap::build((entries * spec.service_blocks_per_entry).round() as u64, spec.seed);
        let baseline = Snapshot::take()?;
        Snapshot::start_phase()?;
        let store: S = load(spec)?;
        let steady = Snapshot::take()?;
        let holding = Holding::of(&store);
        alloc::purge();
        let purged = Snapshot::take()?;
        let answers = verify::answers(&store, row, spec)?;
        let warm = Snapshot::take()?;
        let tier = Tier::of(&store);
        store.check().context("after the load")?;
        let ending = Ending::of(store)?;

        baseline.emit(Phase::Baseline, &baseline, emitter);
        emit_load_peak(&steady, &baseline, emitter);
        steady.emit(Phase::Steady, &baseline, emitter);
        holding.emit(Phase::Steady, &steady, &baseline, emitter);
        purged.emit(Phase::Purged, &baseline, emitter);
        emit_warm(&warm, &baseline, emitter);
        tier.emit(Phase::Warm, emitter);
        if service.len() > 0 {
            let own = steady.blocks(&baseline);
            emitter.row(Phase::Steady, "service_blocks", service.len() as f64);
            emitter.row(Phase::Steady, "store_share_of_live_blocks", own / (own + service.len() as f64));
        }
        ending.emit(&baseline, emitter);
        answers.emit(emitter);
        verify::entries(holding.entries, row, spec, emitter)
    }
}

/// A dhat profile of one load: where every block of the store was asked for.
pub struct Profile<'a> {
    pub spec: &'a Spec,
    pub emitter: &'a mut Emitter,
}

impl Visitor for Profile<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self, row: &'static Row) -> Result<()> {
        let directory = self.spec.directory.clone().unwrap_or_default();
        let path =
            directory.join(format!("dhat-heap-{}-n{}.json", self.spec.store_label(), self.spec.entries.unwrap_or(0)));
        let profiler = dhat::Profiler::builder().file_name(&path).build();
        let store: S = load(self.spec)?;
        let stats = dhat::HeapStats::get();
        // The profile is written while the store stands, so that its blocks count as live at the end.
        drop(profiler);
        let holding = Holding::of(&store);
        verify::answers(&store, row, self.spec)?.emit(self.emitter);
        self.emitter.row(Phase::Steady, "entries", holding.entries as f64);
        self.emitter.row(Phase::Steady, "live_blocks", stats.curr_blocks as f64);
        self.emitter.row(Phase::Steady, "live_requested_bytes", stats.curr_bytes as f64);
        Ok(())
    }
}

/// The process after the store is gone.
pub struct Ending {
    dropped: Snapshot,
    end: Snapshot,
}

impl Ending {
    pub fn of<S: Store>(store: S) -> Result<Self> {
        drop(store);
        let dropped = Snapshot::take()?;
        alloc::purge();
        Ok(Self { dropped, end: Snapshot::take()? })
    }

    /// Says what the store left behind; leaving more than a process-wide rest is a fault.
    pub fn emit(&self, baseline: &Snapshot, emitter: &mut Emitter) {
        self.dropped.emit(Phase::Dropped, baseline, emitter);
        self.end.emit(Phase::End, baseline, emitter);
        if !alloc::counting() {
            return;
        }
        let (blocks, bytes) = (self.end.blocks(baseline), self.end.requested(baseline));
        emitter.row(Phase::End, "leaked_blocks", blocks);
        emitter.row(Phase::End, "leaked_bytes", bytes);
        if blocks > TOLERATED_BLOCKS {
            emitter.fault(Status::Leaked, format!("{blocks} blocks of {bytes} bytes were left after the drop"));
        }
    }
}

/// Loads the cell's data; the source and its buffers are gone when this returns.
pub fn load<S: Store>(spec: &Spec) -> Result<S> {
    S::load(&mut *source(spec)?, &config(spec)).context("load")
}

pub fn source(spec: &Spec) -> Result<Box<dyn Items + Send>> {
    workload::open(&spec.data, spec.entries, spec.seed).context("data")
}

/// All keys of the cell's data, for the cells that ask for them.
pub fn keys(spec: &Spec) -> Result<KeySet> {
    let keys = KeySet::collect(&mut *source(spec)?, None).context("data")?;
    anyhow::ensure!(!keys.is_empty(), "{} holds no item; there is nothing to ask for", spec.data.source);
    Ok(keys)
}

pub fn config(spec: &Spec) -> Config {
    let mut config = Config { seed: spec.seed, directory: spec.directory.clone(), ..Config::default() };
    if let Some(items) = spec.resident_items {
        config.hybrid.resident_items = items as usize;
    }
    config
}

/// What lives once per process (a library's lazily made thread record, a decompressor's tables) belongs to the baseline.
pub fn warm_up<S: Store>(spec: &Spec) -> Result<()> {
    let store = S::load(&mut Slice::new(&[("warm", "up")]), &config(spec)).context("warm-up")?;
    store.reader().get(b"warm", |value| value.len()).context("warm-up")?;
    drop(store);
    source(spec)?.next_item().context("data")?;
    Ok(())
}

/// The verification asked for every entry, so that a resident tier is as full as it gets. Metrics of their own, so that a figure can set them
/// beside the steady ones.
fn emit_warm(warm: &Snapshot, baseline: &Snapshot, emitter: &mut Emitter) {
    emitter.row(Phase::Warm, "warm_rss_growth_bytes", warm.growth(baseline));
    if alloc::counting() {
        emitter.row(Phase::Warm, "warm_requested_bytes", warm.requested(baseline));
    }
}

pub fn emit_load_peak(loaded: &Snapshot, baseline: &Snapshot, emitter: &mut Emitter) {
    emitter.row(Phase::Load, "hwm_bytes", loaded.memory.hwm as f64);
    if alloc::counting() {
        let peak = loaded.peak_requested(baseline);
        emitter.row(Phase::Load, "peak_requested_bytes", peak);
        emitter.row(Phase::Load, "load_extra_bytes", peak - loaded.requested(baseline));
    }
}
