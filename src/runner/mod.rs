//! The parent: runs a plan's cells one after another, each in a fresh child, and keeps what they say. Knows no concrete store.

pub mod child;
pub mod files;
pub mod manifest;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

use crate::cell::spec::{Message, Spec};
use crate::experiment::plan::{Cell, Plan};
use crate::measure::memory;
use crate::record::Status;
use child::{Ending, Limits};
use files::Files;

/// Share of the free memory that one cell may take.
const MEMORY_SHARE: f64 = 0.85;
/// A cell is killed after this many times its estimate, but not before [`LEAST_SECONDS`].
const PATIENCE: f64 = 12.0;
const LEAST_SECONDS: f64 = 20.0;

/// Set by Ctrl-C: the running cell is killed, and what is done stays.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How a run is to be carried out.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Seconds after which a cell is killed, instead of a multiple of its estimate.
    pub deadline: Option<f64>,
    /// Bytes above which a cell is killed, instead of a share of the free memory.
    pub memory_cap: Option<u64>,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    pub done: usize,
    pub failed: usize,
    /// Cells of an earlier run that did not have to run again.
    pub kept: usize,
    pub interrupted: bool,
}

/// What a run tells while it goes on.
pub trait Progress {
    fn starts(&mut self, cell: &Spec);
    /// `failure` is `None` when the cell ended well.
    fn ended(&mut self, cell: &Spec, failure: Option<(Status, &str)>);
}

/// Runs every cell of `plan` that `files` do not hold yet; cells leave files of their own in `directory`.
///
/// # Errors
/// Files that can't be written, or a child that can't be started at all. A cell that fails is a row, not an error.
pub fn run(
    plan: &Plan,
    mut files: Files,
    directory: &Path,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for cell in &plan.cells {
        if INTERRUPTED.load(Ordering::Relaxed) {
            break;
        }
        if files.holds(&cell.spec.cell) {
            outcome.kept += 1;
            continue;
        }
        progress.starts(&cell.spec);
        let Some(report) = run_cell(cell, directory, settings)? else { break };
        let failure = report.failure.as_ref().map(|(status, reason)| (*status, reason.as_str()));
        progress.ended(&cell.spec, failure);
        if failure.is_some() {
            outcome.failed += 1
        } else {
            outcome.done += 1
        }
        files.append(&cell.spec, &report)?;
    }
    outcome.interrupted = INTERRUPTED.load(Ordering::Relaxed);
    Ok(outcome)
}

/// What a cell left: its rows, and why it failed where it did.
pub struct CellReport {
    pub messages: Vec<Message>,
    pub seconds: f64,
    pub failure: Option<(Status, String)>,
}

/// `None` when the run was interrupted while the cell ran.
fn run_cell(cell: &Cell, directory: &Path, settings: &Settings) -> Result<Option<CellReport>> {
    let free = memory::available().context("free memory")?;
    let cap = settings.memory_cap.unwrap_or((free as f64 * MEMORY_SHARE) as u64);
    if cell.estimate.bytes > cap {
        let reason = format!(
            "needs about {} MB, and {} MB may be used; free memory, choose fewer --entries, or raise --memory-cap",
            cell.estimate.bytes / 1_000_000,
            cap / 1_000_000
        );
        return Ok(Some(CellReport { messages: Vec::new(), seconds: 0.0, failure: Some((Status::Skipped, reason)) }));
    }
    let seconds = settings.deadline.unwrap_or((cell.estimate.seconds * PATIENCE).max(LEAST_SECONDS));
    let mut spec = cell.spec.clone();
    spec.directory = Some(std::path::absolute(directory).context("output folder")?);
    let result = child::run(&spec, Limits { seconds, bytes: cap }, &INTERRUPTED)?;
    let failure = match result.ending {
        Ending::Interrupted => return Ok(None),
        Ending::Well => None,
        Ending::Badly(status, reason) => Some((status, reason)),
    };
    Ok(Some(CellReport { messages: result.messages, seconds: result.seconds, failure }))
}
