//! Rows and plan to verdicts, figures, Markdown and HTML. Data in, files out; measures nothing, and renders the same bytes from the
//! same rows.

mod comparison;
mod document;
pub mod expression;
mod figure_data;
pub mod figures;
pub mod rows;
mod verdict;

use std::path::Path;

use anyhow::{Context, Result};

use crate::experiment::file::{Experiment, Scale};
use crate::record::{ClaimRow, file, find_metric};
use rows::Rows;

/// Seeds the intervals of a report; a report has no other chance in it.
const SEED: u64 = 1;

/// What a report says, for the terminal.
pub struct Rendered {
    pub answer: String,
    pub claims: Vec<ClaimRow>,
    /// Cells that failed.
    pub failures: usize,
}

/// Whether an experiment's claims, figures and answer can be evaluated at all: names and syntax, before anything runs.
///
/// # Errors
/// Names the claim, figure or answer, and the place in it.
pub fn validate(experiment: &Experiment) -> Result<()> {
    for claim in &experiment.claims {
        match &claim.measure {
            Some(text) => expression::validate(text).with_context(|| format!("claim {}", claim.id))?,
            None => anyhow::ensure!(claim.cannot.is_some(), "claim {}: give `measure`, or `cannot` and why", claim.id),
        }
    }
    for figure in &experiment.figures {
        let context = || format!("figure {}", figure.file);
        rows::check(&figure.only).with_context(context)?;
        for metric in &figure.metrics {
            anyhow::ensure!(find_metric(metric).is_some(), "figure {}: no metric is called {metric:?}", figure.file);
        }
        anyhow::ensure!(figure.per > 0.0, "figure {}: `per` must be above 0", figure.file);
    }
    for text in document::expressions(&experiment.answer) {
        expression::validate(&text).context("answer")?;
    }
    Ok(())
}

/// Renders the report of the run in `directory`, from its rows and manifest.
///
/// # Errors
/// Missing or foreign files, a full disk. Missing rows are said in the report instead.
pub fn render(directory: &Path, experiment: &Experiment, scale: Scale) -> Result<Rendered> {
    let rows = Rows::read(directory)?;
    let claims: Vec<ClaimRow> =
        experiment.claims.iter().map(|claim| verdict::judge(claim, &experiment.source, scale, &rows, SEED)).collect();
    write_claims(&directory.join(file::CLAIMS), &claims)?;
    draw_figures(&directory.join(file::FIGURES), experiment, &rows)?;
    let answer = document::write(directory, experiment, scale, &rows, &claims, SEED)?;
    Ok(Rendered { answer, claims, failures: rows.failures.len() })
}

fn write_claims(path: &Path, claims: &[ClaimRow]) -> Result<()> {
    let mut writer = csv::Writer::from_path(path).with_context(|| format!("creating {}", path.display()))?;
    for claim in claims {
        writer.serialize(claim).with_context(|| format!("writing {}", path.display()))?;
    }
    writer.flush().with_context(|| format!("writing {}", path.display()))
}

fn draw_figures(directory: &Path, experiment: &Experiment, rows: &Rows) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("creating {}", directory.display()))?;
    let order: Vec<&str> = experiment.stores.iter().map(String::as_str).collect();
    for figure in &experiment.figures {
        let picture = figure_data::picture(figure, rows, &order, SEED);
        figures::draw(&picture, directory).with_context(|| format!("figure {}", figure.file))?;
    }
    Ok(())
}
