//! What a store with a resident tier and files says of itself.

use super::emit::Emitter;
use crate::record::Phase;
use crate::stats;
use crate::store::Store;
use crate::store::hybrid::Statistics;

/// The store's own statistics, if it keeps any.
pub struct Tier(pub Option<Statistics>);

impl Tier {
    pub fn of(store: &impl Store) -> Self {
        Self(store.statistics())
    }

    /// Share of the gets of held keys since an earlier reading that a copy answered, if there were any.
    pub fn emit_hit_ratio(&self, before: &Self, emitter: &mut Emitter) {
        let (Some(now), Some(before)) = (&self.0, &before.0) else { return };
        let (hits, misses) = ((now.hits - before.hits) as f64, (now.misses - before.misses) as f64);
        if hits + misses > 0.0 {
            emitter.row(Phase::Read, "hit_ratio", hits / (hits + misses));
        }
    }

    pub fn emit(&self, phase: Phase, emitter: &mut Emitter) {
        let Some(statistics) = &self.0 else { return };
        emitter.row(phase, "resident_items", statistics.resident_items as f64);
        emitter.row(phase, "resident_item_bytes", statistics.resident_bytes as f64);
        emitter.row(phase, "fallback_items", statistics.fallback_items as f64);
        emitter.row(phase, "disk_bytes", statistics.disk_bytes as f64);
        emitter.row(phase, "shards", statistics.disk_items.len() as f64);
        emitter.row(phase, "shard_reach_bytes", statistics.shard_limit as f64);
        let mut items: Vec<f64> = statistics.disk_items.iter().map(|&items| items as f64).collect();
        items.sort_by(f64::total_cmp);
        if let (Some(least), Some(most), Some(median)) = (items.first(), items.last(), stats::median(&items)) {
            emitter.row(phase, "shard_items_min", *least);
            emitter.row(phase, "shard_items", median);
            emitter.row(phase, "shard_items_max", *most);
        }
    }
}
