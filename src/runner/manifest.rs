//! What a run was: program, machine, data, settings. Enough to judge the figures and to run it again.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Outcome;
use crate::experiment::file::{Experiment, Scale};
use crate::experiment::plan::Plan;
use crate::measure::{alloc, machine};
use crate::record::{self, file};
use crate::workload::{DataSpec, Survey};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the row formats, see [`record::FORMAT`].
    pub format: u32,
    pub larder: String,
    pub commit: String,
    /// The program was built from files that the commit does not hold.
    pub dirty: bool,
    pub rustc: String,
    pub profile: String,
    pub target: String,
    /// The command line, without the program's own path.
    pub argv: Vec<String>,
    pub started: String,
    pub ended: Option<String>,
    pub scale: Scale,
    pub seed: u64,
    pub data: DataSpec,
    pub survey: Survey,
    /// The experiment as it was planned; a report is rendered from it, so that a later edition does not change an old report.
    pub experiment: Experiment,
    pub experiment_sha256: String,
    pub cells_planned: usize,
    pub outcome: Option<RunOutcome>,
    pub interrupted: bool,
    /// One line per allocator of the plan: how it is set up in a child.
    pub allocators: Vec<String>,
    pub machine: serde_json::Value,
    /// Versions of the crates whose designs or figures a run depends on.
    pub libraries: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunOutcome {
    pub done: usize,
    pub failed: usize,
    pub kept: usize,
}

impl Manifest {
    /// Describes a run that is about to start.
    pub fn new(plan: &Plan, survey: &Survey, argv: Vec<String>, started: String) -> Self {
        let mut allocators: Vec<_> = plan.cells.iter().map(|cell| cell.spec.allocator).collect();
        allocators.sort_by_key(|allocator| allocator.name());
        allocators.dedup();
        let text = toml::to_string(&plan.experiment).unwrap_or_default();
        Self {
            format: record::FORMAT,
            larder: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env!("LARDER_COMMIT").to_owned(),
            dirty: env!("LARDER_DIRTY") == "true",
            rustc: env!("LARDER_RUSTC").to_owned(),
            profile: env!("LARDER_PROFILE").to_owned(),
            target: env!("LARDER_TARGET").to_owned(),
            argv,
            started,
            ended: None,
            scale: plan.scale,
            seed: plan.seed,
            data: DataSpec { source: plan.data.label().to_owned(), ..plan.data.clone() },
            survey: survey.clone(),
            experiment_sha256: hex(&Sha256::digest(text.as_bytes())),
            experiment: plan.experiment.clone(),
            cells_planned: plan.cells.len(),
            outcome: None,
            interrupted: false,
            allocators: allocators.into_iter().map(alloc::settings).collect(),
            machine: serde_json::to_value(machine::inspect()).unwrap_or_default(),
            libraries: libraries(),
        }
    }

    /// Notes how the run ended.
    pub fn end(&mut self, outcome: Outcome, ended: String) {
        self.ended = Some(ended);
        self.interrupted = outcome.interrupted;
        self.outcome = Some(RunOutcome { done: outcome.done, failed: outcome.failed, kept: outcome.kept });
    }

    /// # Errors
    /// A folder that can't be written.
    pub fn write(&self, directory: &Path) -> Result<()> {
        let path = directory.join(file::MANIFEST);
        let text = serde_json::to_string_pretty(self).context("the manifest as JSON")?;
        std::fs::write(&path, text + "\n").with_context(|| format!("writing {}", path.display()))
    }

    /// # Errors
    /// A missing or foreign manifest; the message names the file.
    pub fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(file::MANIFEST);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{}: no run of larder in this folder?", path.display()))?;
        let manifest: Self =
            serde_json::from_str(&text).with_context(|| format!("{}: not of this version", path.display()))?;
        anyhow::ensure!(
            manifest.format == record::FORMAT,
            "{}: rows of format {}, and this larder reads format {}",
            path.display(),
            manifest.format,
            record::FORMAT
        );
        Ok(manifest)
    }

    /// The first thing in which a planned run differs from this one, so that rows of two different runs are never mixed.
    pub fn differs_from(&self, plan: &Plan, survey: &Survey) -> Option<String> {
        let text = toml::to_string(&plan.experiment).unwrap_or_default();
        if self.experiment_sha256 != hex(&Sha256::digest(text.as_bytes())) {
            return Some("the experiment file has changed".to_owned());
        }
        if self.scale != plan.scale {
            return Some(format!("it ran at scale {:?}", self.scale));
        }
        if self.seed != plan.seed {
            return Some(format!("it ran with --seed {}", self.seed));
        }
        if self.data.label() != plan.data.label() || self.survey.checksum != survey.checksum {
            return Some(format!("it ran on other data ({})", self.data.label()));
        }
        (self.commit != env!("LARDER_COMMIT")).then(|| format!("it ran with larder of commit {}", self.commit))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Name and version of every locked crate that stores or measures.
fn libraries() -> Vec<String> {
    const TOLD: &[&str] = &[
        "arc-swap",
        "crossbeam-epoch",
        "dhat",
        "foldhash",
        "hashbrown",
        "hdrhistogram",
        "libmimalloc-sys",
        "parking_lot",
        "quanta",
        "rand",
        "rand_distr",
        "tikv-jemalloc-sys",
    ];
    let lock: toml::Table = toml::from_str(include_str!("../../Cargo.lock")).unwrap_or_default();
    let packages = lock.get("package").and_then(|list| list.as_array()).cloned().unwrap_or_default();
    packages
        .iter()
        .filter_map(|package| Some((package.get("name")?.as_str()?, package.get("version")?.as_str()?)))
        .filter(|(name, _)| TOLD.contains(name))
        .map(|(name, version)| format!("{name} {version}"))
        .collect()
}
