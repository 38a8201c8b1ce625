//! What a cell will probably take, so that a run that can't fit is refused before it starts. Rough on purpose: it errs on the high side.

use crate::cell::spec::{Day, Kind, Spec};
use crate::workload::Survey;

/// Expected cost of one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub seconds: f64,
    /// Highest resident memory of the child.
    pub bytes: u64,
}

/// Heap bytes per entry that the dearest design adds to keys and values: six blocks' rounding and headers, and a hash table that has
/// just doubled (measured: 210 for sync-map at its worst size).
const WORST_OVERHEAD: f64 = 260.0;
/// Bytes of a child that holds nothing.
const PROCESS: f64 = 48e6;
/// Seconds per entry for making or reading an item and storing it, counted, on a slow machine.
const LOAD: f64 = 2.5e-6;
const START: f64 = 0.02;

/// Expected cost of `spec` over data of which `survey` is known.
pub fn estimate(spec: &Spec, survey: &Survey) -> Estimate {
    let items = survey.items.max(1) as f64;
    let entries = spec.entries.map_or(items, |limit| limit as f64);
    let payload = (survey.key_bytes + survey.value_bytes) as f64 / items;
    let key = survey.key_bytes as f64 / items;
    let copy = entries * (payload + WORST_OVERHEAD);
    let keys = entries * (key + 24.0);
    let (copies, document, passes) = match spec.kind {
        Kind::Memory => (1.0, 0.0, 2.0),
        Kind::Time => (1.0, 0.0, 3.0),
        Kind::Refresh => (2.1, 0.0, 3.0),
        Kind::Miss | Kind::HitRatio => (1.0, 0.0, 4.0),
        // The service's memory is another process's, but the machine's all the same.
        Kind::Http => (2.1, 0.0, 4.0),
        // As many loads as the day has refreshes, and its gets at about a sixth of a load's entry each.
        Kind::Serving => (2.1, 0.0, spec.day.map_or(3.0, |day| passes_of(&day))),
        // Hashes, a word each, and their sorting.
        Kind::Collisions | Kind::CollisionsFormula => return collisions(spec),
        Kind::LoadStreaming => (1.0, 0.0, 2.0),
        Kind::LoadBlob => (1.0, 0.0, 5.0),
        Kind::LoadParseAll => (1.0, 2.2 * entries * (payload + 40.0), 3.0),
    };
    let service = entries * spec.service_blocks_per_entry * 96.0;
    let dhat = if spec.allocator == crate::measure::alloc::Allocator::Dhat { 25.0 } else { 1.0 };
    Estimate {
        seconds: START + entries * LOAD * passes * dhat + 2.0 * spec.read_ms as f64 / 1e3,
        bytes: (PROCESS + copy * copies + keys + document + service) as u64 * if dhat > 1.0 { 3 } else { 1 },
    }
}

fn passes_of(day: &Day) -> f64 {
    let minutes = f64::from(day.hours) * 60.0;
    let gets = minutes * day.peak_gets_per_minute_per_entry * (1.0 + day.trough) / 2.0;
    2.0 + minutes / f64::from(day.refresh_every_minutes) + gets / 6.0
}

fn collisions(spec: &Spec) -> Estimate {
    let tried = if spec.kind == Kind::Collisions { spec.entries.unwrap_or(0) as f64 } else { 0.0 };
    Estimate { seconds: START + tried * 0.8e-6, bytes: (PROCESS + tried * 8.0) as u64 }
}
