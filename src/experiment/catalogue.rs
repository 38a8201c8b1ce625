//! The experiments that travel in the binary, and those in a file that the user names. Knows nothing of how they run.

use std::path::Path;

use anyhow::{Context, Result, bail};
use include_dir::{Dir, include_dir};

use super::file::{Experiment, Grid};
use crate::cell::spec::Kind;
use crate::registry;

static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/experiments");

/// Every built-in experiment, by name.
///
/// # Errors
/// An experiment file that can't be read; the message names the file and the place in it.
pub fn all() -> Result<Vec<Experiment>> {
    let mut experiments = BUILT_IN
        .files()
        .filter(|file| file.path().extension().is_some_and(|ending| ending == "toml"))
        .map(|file| {
            let text = file.contents_utf8().context("not UTF-8");
            text.and_then(|text| parse(text, &file.path().display().to_string()))
        })
        .collect::<Result<Vec<_>>>()?;
    experiments.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(experiments)
}

/// The experiments that the user's words name: a name, a family (`uber` for every `uber-…`), `all`, or the path of a TOML file.
///
/// # Errors
/// An unknown name, with the nearest known one; a file that can't be read.
pub fn select(names: &[String]) -> Result<Vec<Experiment>> {
    let known = all()?;
    let mut chosen: Vec<Experiment> = Vec::new();
    for name in names {
        let found = if name.ends_with(".toml") {
            let text = std::fs::read_to_string(name).with_context(|| format!("experiment file {name}"))?;
            vec![parse(&text, name)?]
        } else {
            named(&known, name)?
        };
        for experiment in found {
            if !chosen.iter().any(|earlier| earlier.name == experiment.name) {
                chosen.push(experiment);
            }
        }
    }
    Ok(chosen)
}

fn named(known: &[Experiment], name: &str) -> Result<Vec<Experiment>> {
    let family = format!("{name}-");
    let found: Vec<Experiment> = known
        .iter()
        .filter(|experiment| name == "all" || experiment.name == name || experiment.name.starts_with(&family))
        .cloned()
        .collect();
    if found.is_empty() {
        let nearest = registry::nearest(name, known.iter().map(|experiment| experiment.name.as_str()));
        let hint = nearest.map(|nearest| format!(" (did you mean {nearest}?)")).unwrap_or_default();
        bail!("no experiment is called {name:?}{hint}; `larder list` names them all");
    }
    Ok(found)
}

/// Reads one experiment file; the text is strict: an unknown key is an error.
///
/// # Errors
/// Names the file and, for a fault of the text, the line.
pub fn parse(text: &str, path: &str) -> Result<Experiment> {
    let experiment: Experiment = toml::from_str(text).with_context(|| format!("experiment file {path}"))?;
    validate(&experiment).with_context(|| format!("experiment file {path}"))?;
    Ok(experiment)
}

fn validate(experiment: &Experiment) -> Result<()> {
    let name = Path::new(&experiment.name);
    let plain = experiment.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !plain || name.components().count() != 1 {
        bail!("name {:?}: use letters, digits and hyphens; it becomes a folder", experiment.name);
    }
    if experiment.scales.is_empty() || experiment.grids.is_empty() {
        bail!("{}: at least one [scales.…] and one [[grids]] are needed", experiment.name);
    }
    for (scale, settings) in &experiment.scales {
        let ascending = settings.entries.windows(2).all(|pair| pair[0] < pair[1]);
        if settings.entries.is_empty() || !ascending || settings.rounds == 0 {
            bail!("scales.{scale:?}: entries must be ascending and not empty, rounds at least 1");
        }
    }
    for (number, grid) in experiment.grids.iter().enumerate() {
        let number = number + 1;
        check_skews(&grid.zipf).with_context(|| format!("grid {number}"))?;
        check_threads(&grid.threads).with_context(|| format!("grid {number}"))?;
        if grid.allocators.is_empty() {
            bail!("grid {number}: allocators is empty");
        }
        if !(0.0..=100.0).contains(&grid.service_blocks_per_entry) {
            bail!("grid {number}: service_blocks_per_entry must be between 0 and 100");
        }
        if grid.entries.as_ref().is_some_and(|sizes| sizes.is_empty() || sizes.contains(&0)) {
            bail!("grid {number}: entries must not be empty, nor hold a 0");
        }
        check_tier(grid).with_context(|| format!("grid {number}"))?;
        registry::select(grid.stores.as_ref().unwrap_or(&experiment.stores))
            .with_context(|| format!("grid {number}"))?;
    }
    if let Some(twin) = &experiment.twin {
        registry::select(std::slice::from_ref(twin)).context("twin")?;
    }
    Ok(())
}

fn check_tier(grid: &Grid) -> Result<()> {
    let is_share = |share: Option<f64>| share.is_none_or(|share| share > 0.0 && share <= 1.0);
    if !is_share(grid.resident_share) || !is_share(grid.target_hit_ratio) {
        bail!("resident_share and target_hit_ratio are shares: above 0, at most 1");
    }
    if grid.target_hit_ratio.is_some() && grid.resident_share.is_none() {
        bail!("target_hit_ratio needs resident_share: a skew is found for a tier of some size");
    }
    let rate = grid.requests_per_second.unwrap_or(0.0);
    if grid.kind == Kind::Http && !(rate > 0.0 && rate <= 1e6) {
        bail!("an http grid needs requests_per_second, above 0 and at most a million");
    }
    let Some(day) = grid.day else {
        anyhow::ensure!(grid.kind != Kind::Serving, "a serving grid needs `day`");
        return Ok(());
    };
    let fits = (1..=24 * 7).contains(&day.hours)
        && day.refresh_every_minutes > 0
        && day.peak_gets_per_minute_per_entry > 0.0
        && (0.0..=1.0).contains(&day.trough)
        && day.other_bytes_per_entry >= 0.0;
    anyhow::ensure!(
        fits,
        "day: 1 to 168 hours, refresh_every_minutes and peak_gets_per_minute_per_entry above 0, trough from 0 to 1"
    );
    Ok(())
}

/// Exponents of the popularity law that the workload can draw.
pub(super) fn check_skews(skews: &[f64]) -> Result<()> {
    match skews.iter().find(|skew| !(0.0..=2.0).contains(*skew)) {
        Some(skew) => bail!("zipf exponent {skew} is out of range; use 0 (all keys alike) to 2"),
        None if skews.is_empty() => bail!("zipf is empty"),
        None => Ok(()),
    }
}

pub(super) fn check_threads(threads: &[u32]) -> Result<()> {
    match threads.iter().find(|count| !(1..=1024).contains(*count)) {
        Some(count) => bail!("{count} threads: use 1 to 1024"),
        None if threads.is_empty() => bail!("threads is empty"),
        None => Ok(()),
    }
}
