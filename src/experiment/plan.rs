//! From an experiment, a scale and the user's wishes to the list of cells, in the order in which they will run.

use std::collections::HashSet;

use anyhow::{Context, Result, bail};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::catalogue::{check_skews, check_threads};
use super::estimate::{Estimate, estimate};
use super::file::{Experiment, Grid, Scale, ScaleSettings, Sizes};
use crate::cell::spec::{HASHES, Kind, Spec};
use crate::measure::alloc::Allocator;
use crate::registry;
use crate::workload::{DataSpec, Survey, popularity};

/// What the user asked for on the command line; `None` leaves the experiment's own setting.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    pub stores: Option<Vec<String>>,
    pub entries: Option<Vec<u64>>,
    pub threads: Option<Vec<u32>>,
    pub zipf: Option<Vec<f64>>,
    pub rounds: Option<u32>,
    pub allocator: Option<Vec<Allocator>>,
}

/// Everything a run will do.
#[derive(Debug, Clone)]
pub struct Plan {
    pub experiment: Experiment,
    pub scale: Scale,
    pub data: DataSpec,
    pub seed: u64,
    /// In the order of running: shuffled within each round.
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone)]
pub struct Cell {
    pub spec: Spec,
    pub estimate: Estimate,
}

/// The data of a run, surveyed beforehand.
pub struct Data<'a> {
    pub spec: &'a DataSpec,
    pub survey: &'a Survey,
    /// Made at any size, rather than read from files.
    pub synthetic: bool,
}

/// Plans a run. Nothing has run when this fails.
///
/// # Errors
/// A scale that the experiment does not have, a store that can't do what a grid asks, wishes out of range, an empty plan.
pub fn plan(experiment: &Experiment, scale: Scale, data: &Data, wishes: &Wishes, seed: u64) -> Result<Plan> {
    check_wishes(wishes)?;
    let settings = experiment.scales.get(&scale).with_context(|| {
        let known: Vec<String> = experiment.scales.keys().map(|scale| format!("{scale:?}").to_lowercase()).collect();
        format!("{} has no scale {scale:?}; it has {}", experiment.name, known.join(", "))
    })?;
    let request = Request { experiment, settings, data, wishes, seed };
    let mut rounds: Vec<Vec<Spec>> = Vec::new();
    for grid in &experiment.grids {
        let count = wishes.rounds.or(grid.rounds).unwrap_or(settings.rounds);
        for round in 0..count {
            if rounds.len() <= round as usize {
                rounds.push(Vec::new());
            }
            rounds[round as usize].extend(request.cells(grid, round)?);
        }
    }
    // Two grids may ask for the same cell, and do so where the user's wishes take the place of what set them apart.
    let mut planned = HashSet::new();
    for round in &mut rounds {
        round.retain(|spec| planned.insert(spec.cell.clone()));
    }
    let mut shuffler = StdRng::seed_from_u64(seed);
    for round in &mut rounds {
        round.shuffle(&mut shuffler);
    }
    let cells: Vec<Cell> =
        rounds.into_iter().flatten().map(|spec| Cell { estimate: estimate(&spec, data.survey), spec }).collect();
    if cells.is_empty() {
        bail!("{}: nothing is left to run; `larder list` names the stores", experiment.name);
    }
    Ok(Plan { experiment: experiment.clone(), scale, data: data.spec.clone(), seed, cells })
}

fn check_wishes(wishes: &Wishes) -> Result<()> {
    if let Some(skews) = &wishes.zipf {
        check_skews(skews).context("--zipf")?;
    }
    if let Some(threads) = &wishes.threads {
        check_threads(threads).context("--threads")?;
    }
    if let Some(entries) = &wishes.entries
        && (entries.is_empty() || entries.iter().any(|&count| count == 0 || count > 1 << 32))
    {
        bail!("--entries: use 1 to {}", 1u64 << 32);
    }
    if wishes.rounds == Some(0) {
        bail!("--rounds: at least 1");
    }
    Ok(())
}

/// Sizes of a grid, ascending. Files are read whole, and at the same fractions of the whole as the scale's sizes have of their largest; a grid of
/// sizes of its own keeps them, as far as a file has so many.
fn sizes(settings: &ScaleSettings, data: &Data, wishes: &Wishes, grid: &Grid) -> Vec<u64> {
    let own = grid.entries.as_ref().or(wishes.entries.as_ref());
    let mut all = own.unwrap_or(&settings.entries).clone();
    all.sort_unstable();
    if !data.synthetic && !grid.kind.hashes() {
        let largest = *all.last().expect("validated: not empty") as f64;
        let items = data.survey.items;
        all = match own {
            Some(_) => all.iter().map(|&count| count.min(items)).collect(),
            None => all.iter().map(|&count| (count as f64 / largest * items as f64).round().max(1.0) as u64).collect(),
        };
    }
    all.dedup();
    match grid.sizes {
        Sizes::All => all,
        Sizes::Largest => all.split_off(all.len() - 1),
        Sizes::Smallest => all.drain(..1).collect(),
    }
}

/// What the cells of one grid have in common.
struct Request<'a> {
    experiment: &'a Experiment,
    settings: &'a ScaleSettings,
    data: &'a Data<'a>,
    wishes: &'a Wishes,
    seed: u64,
}

impl Request<'_> {
    fn cells(&self, grid: &Grid, round: u32) -> Result<Vec<Spec>> {
        let settings = self.combinations(grid, round);
        let stores = self.subjects(grid)?;
        let cells = stores.iter().flat_map(|(store, twin)| {
            settings.iter().map(|setting| {
                let mut spec = self.spec(grid, round, store, *twin, *setting);
                spec.cell = cell_id(&spec);
                spec
            })
        });
        Ok(cells.collect())
    }

    /// What a grid compares: its stores, the twin behind its store. A grid of readers keeps its own store, and one of hashes has none.
    fn subjects(&self, grid: &Grid) -> Result<Vec<(&'static str, bool)>> {
        if grid.kind.hashes() {
            return Ok(HASHES.map(|hash| (hash, false)).to_vec());
        }
        let loads = grid.kind.compares_readers();
        let patterns = match (&self.wishes.stores, &grid.stores) {
            (Some(wished), _) if !loads => wished,
            (_, Some(own)) => own,
            _ => &self.experiment.stores,
        };
        let mut stores = Vec::new();
        let suits = |row: &&registry::Row| row.has_tier || !grid.kind.needs_tier();
        for row in registry::select(patterns)?.into_iter().filter(suits) {
            stores.push((row.name, false));
            if grid.kind.has_twin() && self.experiment.twin.as_deref() == Some(row.name) {
                stores.push((row.name, true));
            }
        }
        Ok(stores)
    }

    /// Every size, allocator, thread count and skew of a grid.
    fn combinations(&self, grid: &Grid, round: u32) -> Vec<(u64, Allocator, u32, f64)> {
        let timed = grid.kind.reads();
        let threads = self.wishes.threads.as_ref().filter(|_| timed).unwrap_or(&grid.threads);
        let skews = self.wishes.zipf.as_ref().filter(|_| grid.kind.draws()).unwrap_or(&grid.zipf);
        let allocators = self.wishes.allocator.as_ref().unwrap_or(&grid.allocators);
        let mut combinations = Vec::new();
        for entries in sizes(self.settings, self.data, self.wishes, grid) {
            for &allocator in allocators.iter().filter(|allocator| profiles(**allocator, grid.kind, round)) {
                let pairs = threads.iter().flat_map(|&threads| skews.iter().map(move |&zipf| (threads, zipf)));
                combinations.extend(pairs.map(|(threads, zipf)| (entries, allocator, threads, zipf)));
            }
        }
        combinations
    }

    fn spec(
        &self,
        grid: &Grid,
        round: u32,
        store: &str,
        twin: bool,
        (entries, allocator, threads, zipf): (u64, Allocator, u32, f64),
    ) -> Spec {
        let resident_items = grid.resident_share.map(|share| ((share * entries as f64).round() as u64).max(1));
        let zipf = match (grid.target_hit_ratio, resident_items) {
            (Some(target), Some(items)) if self.wishes.zipf.is_none() => popularity::skew_for(entries, items, target),
            _ => zipf,
        };
        Spec {
            experiment: self.experiment.name.clone(),
            cell: String::new(),
            round,
            kind: grid.kind,
            store: store.to_owned(),
            twin,
            data: self.data.spec.clone(),
            entries: Some(entries),
            threads,
            zipf,
            allocator,
            seed: self.seed,
            service_blocks_per_entry: grid.service_blocks_per_entry,
            read_ms: if grid.kind.reads() { self.settings.read_ms } else { 0 },
            resident_items,
            day: grid.day,
            requests_per_second: grid.requests_per_second,
            directory: None,
        }
    }
}

/// A dhat profile is a file, not a measurement: one for each store and size, from a memory cell.
fn profiles(allocator: Allocator, kind: Kind, round: u32) -> bool {
    allocator != Allocator::Dhat || (kind == Kind::Memory && round == 0)
}

fn cell_id(spec: &Spec) -> String {
    let tier = spec.resident_items.map(|items| format!("m{items}/")).unwrap_or_default();
    format!(
        "{}/{}/n{}/{}/t{}/z{}/s{}/{tier}r{}",
        spec.kind.name(),
        spec.store_label(),
        spec.entries.unwrap_or(0),
        spec.allocator.name(),
        spec.threads,
        spec.zipf,
        spec.service_blocks_per_entry,
        spec.round
    )
}
