//! README.md and report.html of a run: the answer in one sentence, the figure, the table; then everything else.

use std::path::Path;

use anyhow::{Context, Result};
use minijinja::{AutoEscape, Environment, Value, context};
use serde::Serialize;

use super::comparison;
use super::expression::{Evaluated, evaluate};
use super::figures::numbers;
use super::rows::Rows;
use crate::experiment::file::{Experiment, Scale};
use crate::record::{ClaimRow, Phase, Row, file};
use crate::stats;

/// Columns of the table of stores: metric, phase, heading, unit divisor.
const SUMMARY: &[(&str, Phase, &str, f64)] = &[
    ("blocks_per_entry", Phase::Steady, "blocks", 1.0),
    ("requested_bytes_per_entry", Phase::Steady, "requested B", 1.0),
    ("usable_bytes_per_entry", Phase::Steady, "usable B", 1.0),
    ("rss_growth_bytes_per_entry", Phase::Steady, "resident B", 1.0),
    ("rss_growth_bytes", Phase::Steady, "settled MB", 1e6),
    ("rss_growth_bytes", Phase::Purged, "purged MB", 1e6),
    ("refresh_extra_rss_bytes", Phase::Refresh, "refresh adds MB", 1e6),
    ("rss_growth_bytes", Phase::After, "after MB", 1e6),
    ("rss_growth_bytes", Phase::AfterPurged, "after, purged MB", 1e6),
    ("warm_rss_growth_bytes", Phase::Warm, "all asked for once MB", 1e6),
    ("load_seconds", Phase::Load, "load s", 1.0),
    ("load_extra_bytes", Phase::Load, "load adds MB", 1e6),
    ("load_extra_rss_bytes", Phase::Load, "load adds MB", 1e6),
    ("document_bytes", Phase::Load, "document MB", 1e6),
    ("compressed_bytes", Phase::Load, "compressed MB", 1e6),
    ("get_ns", Phase::Read, "get ns", 1.0),
    ("get_cpu_ns", Phase::Read, "get CPU ns", 1.0),
    ("hit_ratio", Phase::Read, "hit ratio", 1.0),
    ("predicted_hit_ratio", Phase::Read, "predicted", 1.0),
    ("miss_ns", Phase::Read, "miss ns", 1.0),
    ("bare_read_ns", Phase::Read, "bare read ns", 1.0),
    ("miss_over_bare_read", Phase::Read, "ratio", 1.0),
    ("miss_over_bare_read_cpu", Phase::Read, "ratio of CPU", 1.0),
    ("bytes_read_per_miss", Phase::Read, "bytes read", 1.0),
    ("instance_bytes", Phase::Read, "instance MB", 1e6),
    ("instance_peak_bytes", Phase::Read, "peak MB", 1e6),
    ("miss_p50_ns", Phase::Read, "miss p50 µs", 1e3),
    ("miss_p99_ns", Phase::Read, "miss p99 µs", 1e3),
    ("refresh_seconds", Phase::Refresh, "refresh s", 1.0),
    ("refresh_miss_factor", Phase::Refresh, "misses after a refresh, times before", 1.0),
    ("touched_share_15min", Phase::Read, "touched in 15 min", 1.0),
    ("time_compression", Phase::Read, "time compressed", 1.0),
    ("requests_per_second", Phase::Read, "requests/s", 1.0),
    ("due_p99_ns", Phase::Read, "p99 µs, from due", 1e3),
    ("sent_p99_ns", Phase::Read, "p99 µs, from sent", 1e3),
    ("collisions", Phase::Cell, "pairs found", 1.0),
    ("expected_collisions", Phase::Cell, "pairs expected", 1.0),
    ("collisions_over_expected", Phase::Cell, "shared prefixes, found over expected", 1.0),
    ("collision_probability", Phase::Cell, "probability of any", 1.0),
    ("trials_with_collision", Phase::Cell, "trials with any", 1.0),
];

/// Writes both documents and returns the answer.
pub fn write(
    directory: &Path,
    experiment: &Experiment,
    scale: Scale,
    rows: &Rows,
    claims: &[ClaimRow],
    seed: u64,
) -> Result<String> {
    let manifest = read_manifest(directory)?;
    let answer = answer(experiment, rows, &manifest, seed);
    let figures: Vec<FigureView> = experiment
        .figures
        .iter()
        .map(|figure| FigureView::read(directory, &figure.file, &figure.title, &figure.caption))
        .collect::<Result<_>>()?;
    let claims: Vec<ClaimView> = claims.iter().map(ClaimView::of).collect();
    let values = context! {
        answer => &answer,
        experiment => served(experiment),
        figures => served(&figures),
        claims => served(&claims),
        manifest => served(&manifest),
        scale => format!("{scale:?}").to_lowercase(),
        tables => served(tables(experiment, rows)),
        lines => served(line_table(experiment, rows)),
        compared => served(experiment.twin.as_deref().map(|twin| comparison::with_twin(twin, rows)).unwrap_or_default()),
        failures => served(&rows.failures),
        analysis_html => markdown(&experiment.analysis),
    };
    for (template, text, name) in [
        ("readme", include_str!("templates/README.md"), file::README),
        ("html", include_str!("templates/report.html"), file::REPORT),
    ] {
        let mut environment = Environment::new();
        let escape = if template == "html" { AutoEscape::Html } else { AutoEscape::None };
        environment.set_auto_escape_callback(move |_| escape.clone());
        environment.add_filter("cell", |text: String| text.replace('|', "\\|").replace('\n', " "));
        let rendered = environment.render_str(text, &values).with_context(|| format!("rendering {name}"))?;
        let path = directory.join(name);
        std::fs::write(&path, rendered).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(answer)
}

/// Plain data as a value of the templates.
fn served(data: impl Serialize) -> Value {
    Value::from(minijinja::value::Serde(data))
}

fn read_manifest(directory: &Path) -> Result<serde_json::Value> {
    let path = directory.join(file::MANIFEST);
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: not JSON", path.display()))
}

/// The experiment's sentence with its figures filled in; where figures are missing, a sentence that says so.
fn answer(experiment: &Experiment, rows: &Rows, manifest: &serde_json::Value, seed: u64) -> String {
    let data = manifest.pointer("/data/source").and_then(|source| source.as_str()).unwrap_or("the data").to_owned();
    let data = if data == "synthetic" { "synthetic translations".to_owned() } else { data };
    let outcome = fill_in(&experiment.answer, rows, &data, seed);
    outcome.unwrap_or_else(|error| {
        let why = error.chain().last().map(ToString::to_string).unwrap_or_default();
        format!("This run can't answer \"{}\": {why}.", experiment.question)
    })
}

fn fill_in(template: &str, rows: &Rows, data: &str, seed: u64) -> Result<String> {
    use minijinja::{Error, ErrorKind};
    let measured = |expression: &str| match evaluate(expression, rows, seed) {
        Ok(Evaluated::Figure(interval)) => Ok(interval.mid),
        Ok(Evaluated::Missing(why)) => Err(Error::new(ErrorKind::InvalidOperation, why)),
        Err(error) => Err(Error::new(ErrorKind::InvalidOperation, format!("{error:#}"))),
    };
    // The environment wants functions that own what they use; figures are looked up first, so that they can be.
    let mut figures = std::collections::BTreeMap::new();
    for expression in expressions(template) {
        let figure = measured(&expression)?;
        figures.insert(expression, figure);
    }
    let mut environment = Environment::new();
    environment.add_function("measured", move |expression: String| figures.get(&expression).copied());
    environment.add_filter("tidy", numbers::tidy);
    environment.add_filter("mb", |bytes: f64| numbers::tidy(bytes / 1e6));
    environment.add_filter("round", |value: f64, digits: usize| format!("{value:.digits$}"));
    Ok(environment.render_str(template, context! { data })?.trim().to_owned())
}

/// The expressions of `measured('…')` in a template.
pub fn expressions(template: &str) -> Vec<String> {
    let calls = template.split("measured(").skip(1);
    calls
        .filter_map(|call| {
            let call = call.trim_start();
            let quote = call.chars().next()?;
            let rest = &call[quote.len_utf8()..];
            Some(rest[..rest.find(quote)?].to_owned())
        })
        .collect()
}

#[derive(Serialize)]
struct FigureView {
    file: String,
    title: String,
    caption: String,
    svg: Value,
}

impl FigureView {
    fn read(directory: &Path, file: &str, title: &str, caption: &str) -> Result<Self> {
        let path = directory.join(file::FIGURES).join(format!("{file}.svg"));
        let svg = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let svg = svg.find("<svg").map_or(svg.as_str(), |start| &svg[start..]).to_owned();
        let svg = Value::from_safe_string(svg);
        Ok(Self { file: file.to_owned(), title: title.to_owned(), caption: caption.to_owned(), svg })
    }
}

#[derive(Serialize)]
struct ClaimView {
    id: String,
    claim: String,
    published: String,
    measured: String,
    interval: String,
    unit: String,
    verdict: String,
    differs: String,
    class: String,
}

impl ClaimView {
    fn of(claim: &ClaimRow) -> Self {
        let interval = match (claim.low, claim.high) {
            (Some(low), Some(high)) if low == high => "no spread".to_owned(),
            (Some(low), Some(high)) => format!("{} to {}", numbers::tidy(low), numbers::tidy(high)),
            _ => "-".to_owned(),
        };
        Self {
            id: claim.id.clone(),
            claim: claim.claim.clone(),
            published: claim.published.clone(),
            measured: claim.measured.map_or_else(|| "-".to_owned(), numbers::tidy),
            interval,
            unit: claim.unit.clone(),
            verdict: claim.verdict.to_string(),
            differs: claim.differs.clone(),
            class: claim.verdict.to_string().replace(' ', "-"),
        }
    }
}

/// A table of stores, for one allocator and thread count.
#[derive(Serialize)]
struct Table {
    title: String,
    headings: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

/// Tables, each at its largest size: memory by allocator, time by threads.
fn tables(experiment: &Experiment, rows: &Rows) -> Vec<Table> {
    let order: Vec<&str> = experiment.stores.iter().map(String::as_str).collect();
    let stores = rows.stores(&order);
    // A modelled service around the store changes nothing per entry, and its cells would stand here twice.
    let plain = |row: &&Row| row.cell.contains("/s0/");
    let shown: Vec<&Row> = rows.good.iter().filter(plain).collect();
    let mut settings: Vec<(String, u32, &str)> =
        shown.iter().map(|row| (row.allocator.clone(), row.threads, kind(row))).collect();
    settings.sort();
    settings.dedup();
    let table = |(allocator, threads, kind): &(String, u32, &str)| {
        let of_setting =
            |row: &&&Row| row.allocator == *allocator && row.threads == *threads && self::kind(row) == *kind;
        let largest = shown.iter().filter(of_setting).map(|row| row.entries).max().unwrap_or(0);
        let chosen: Vec<&Row> = shown.iter().filter(of_setting).filter(|row| row.entries == largest).copied().collect();
        let used: Vec<_> = SUMMARY
            .iter()
            .filter(|(metric, phase, ..)| chosen.iter().any(|row| row.metric == *metric && row.phase == *phase))
            .collect();
        let cells = |store: &String| used.iter().map(|column| summary_cell(&chosen, store, column)).collect();
        let table_rows: Vec<(String, Vec<String>)> = stores
            .iter()
            .filter(|store| chosen.iter().any(|row| row.store == **store))
            .map(|store| (store.clone(), cells(store)))
            .collect();
        let plural = if *threads == 1 { "" } else { "s" };
        let threads = if *kind == "time" { format!(", {threads} thread{plural}") } else { String::new() };
        Table {
            title: format!("{kind} on {allocator}{threads}, {} entries", numbers::fixed(largest as f64, 0)),
            headings: used.iter().map(|(_, _, heading, _)| (*heading).to_owned()).collect(),
            rows: table_rows,
        }
    };
    settings.iter().map(table).filter(|table| !table.headings.is_empty()).collect()
}

fn kind(row: &Row) -> &str {
    row.cell.split('/').next().unwrap_or_default()
}

fn summary_cell(rows: &[&Row], store: &str, (metric, phase, _, per): &(&str, Phase, &str, f64)) -> String {
    let wanted = |row: &&&Row| row.store == store && row.metric == *metric && row.phase == *phase;
    let values: Vec<f64> = rows.iter().filter(wanted).map(|row| row.value / per).collect();
    let Some(interval) = stats::bootstrap_median(&values, super::SEED) else { return "-".to_owned() };
    let [low, mid, high] = [interval.low, interval.mid, interval.high].map(numbers::tidy);
    if low == high { mid } else { format!("{mid} ({low} to {high})") }
}

/// Bytes per entry as a line over sizes: what each further entry costs, and what is paid once.
fn line_table(experiment: &Experiment, rows: &Rows) -> Vec<(String, String, String, String, String)> {
    let order: Vec<&str> = experiment.stores.iter().map(String::as_str).collect();
    let of = |store: &String, metric: &str, phase: Phase| {
        let wanted = |row: &&Row| {
            row.store == *store
                && row.metric == metric
                && row.phase == phase
                && row.allocator == "system"
                && kind(row) == "memory"
                && row.cell.contains("/s0/")
        };
        let points: Vec<(f64, f64)> =
            rows.good.iter().filter(wanted).map(|row| (row.entries as f64, row.value)).collect();
        stats::linear_fit(&points)
    };
    let row = |store: &String| {
        let requested = of(store, "live_requested_bytes", Phase::Steady)?;
        let resident = of(store, "rss_growth_bytes", Phase::Steady)?;
        let bytes = |bytes: f64| numbers::tidy(bytes / 1e3);
        Some((
            store.clone(),
            numbers::tidy(requested.slope),
            bytes(requested.intercept),
            numbers::tidy(resident.slope),
            bytes(resident.intercept),
        ))
    };
    rows.stores(&order).iter().filter(|store| !store.ends_with("+twin")).filter_map(row).collect()
}

fn markdown(text: &str) -> Value {
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, pulldown_cmark::Parser::new(text));
    Value::from_safe_string(html)
}
