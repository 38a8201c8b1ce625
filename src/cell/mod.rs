//! The child process: one [`spec::Spec`] in, rows out. The only room that times work.

mod collisions;
mod emit;
mod heap;
mod hit_ratio;
mod http;
mod load;
mod memory;
mod miss;
mod refresh;
mod serving;
pub mod spec;
mod tier;
mod time;
mod verify;

use std::io::Write;

use anyhow::{Context, Result, bail};

use crate::measure::alloc::{self, Allocator};
use crate::registry;
use emit::Emitter;
use spec::{Kind, Spec};

/// Runs one cell in this process and writes its messages, one JSON line each.
///
/// # Errors
/// Broken data, a store's own error, an allocator other than the one asked for. What the cell found before stands in the messages.
pub fn run(spec: &Spec, out: &mut dyn Write) -> Result<()> {
    prefer_as_oom_victim();
    if alloc::active() != spec.allocator {
        bail!("this process runs on {}, the cell asks for {}", alloc::active().name(), spec.allocator.name());
    }
    let mut emitter = Emitter::new(spec);
    let result = measure(spec, &mut emitter);
    emitter.write(out, result.is_ok()).context("writing the cell's rows")?;
    result
}

fn measure(spec: &Spec, emitter: &mut Emitter) -> Result<()> {
    let known = match spec.kind {
        _ if spec.allocator == Allocator::Dhat => registry::visit(&spec.store, memory::Profile { spec, emitter }),
        Kind::Memory => registry::visit(&spec.store, memory::Memory { spec, emitter }),
        Kind::Refresh => registry::visit(&spec.store, refresh::Refresh { spec, emitter }),
        Kind::Time => registry::visit(&spec.store, time::Time { spec, emitter }),
        Kind::Miss => registry::visit(&spec.store, miss::Miss { spec, emitter }),
        Kind::Serving => registry::visit(&spec.store, serving::Serving { spec, emitter }),
        Kind::Http => Some(http::run(spec, emitter)),
        Kind::HitRatio => registry::visit(&spec.store, hit_ratio::HitRatio { spec, emitter }),
        Kind::Collisions | Kind::CollisionsFormula => Some(collisions::run(spec, emitter)),
        Kind::LoadBlob => registry::visit(&spec.store, load::Blob { spec, emitter }),
        Kind::LoadStreaming | Kind::LoadParseAll => registry::visit(&spec.store, load::Load { spec, emitter }),
    };
    known.with_context(|| format!("no store is called {:?}", spec.store))?
}

/// When memory runs out, the kernel is to end the cell, not the parent or a neighbour. Best effort: a system without it works too.
fn prefer_as_oom_victim() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}
