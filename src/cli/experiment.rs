//! `larder experiment`: plan, run, report.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use time::OffsetDateTime;
use time::macros::format_description;

use super::Ended;
use super::progress::Bar;
use crate::experiment::catalogue;
use crate::experiment::file::{Experiment, Scale};
use crate::experiment::plan::{self, Plan, Wishes};
use crate::measure::alloc::Allocator;
use crate::report;
use crate::runner::files::Files;
use crate::runner::manifest::Manifest;
use crate::runner::{self, INTERRUPTED, Outcome, Settings};
use crate::workload::{self, DataSpec, Survey};

#[derive(clap::Args)]
pub struct Arguments {
    /// Experiments by name, a family by its first word (`uber`), a TOML file, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// How much: smoke for a trial in seconds, quick about 20 s, standard about 3 minutes, article the published size
    #[arg(long, value_enum, default_value = "quick")]
    scale: Scale,
    /// Stores: names, @tag for all of a tag, -name to leave one out; separated by commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    stores: Option<Vec<String>>,
    /// synthetic, json:PATH, csv:PATH or mo:DIR; `json:-` reads from stdin
    #[arg(long, default_value = "synthetic")]
    data: String,
    /// Column of the keys, for csv
    #[arg(long)]
    key_column: Option<String>,
    /// Column of the values, for csv
    #[arg(long)]
    value_column: Option<String>,
    /// Entries, instead of the scale's sizes; separated by commas
    #[arg(long, value_delimiter = ',')]
    entries: Option<Vec<u64>>,
    /// Reading threads of the timed cells; separated by commas
    #[arg(long, value_delimiter = ',')]
    threads: Option<Vec<u32>>,
    /// Skew of the requests, 0 to 2; separated by commas
    #[arg(long, value_delimiter = ',')]
    zipf: Option<Vec<f64>>,
    /// Rounds of every cell
    #[arg(long)]
    rounds: Option<u32>,
    /// Seed of data, requests and order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Allocators; separated by commas. dhat leaves a heap profile of each store and measures nothing else
    #[arg(long, value_enum, value_delimiter = ',')]
    allocator: Option<Vec<Allocator>>,
    /// Folder for the results (DIR/EXPERIMENT) instead of reports/EXPERIMENT/RUN
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with an earlier run: the one in --out, or the latest of the experiment
    #[arg(long)]
    resume: bool,
    /// Only show the cells, with their estimated time and memory
    #[arg(long)]
    dry_run: bool,
    /// Kill a cell after so many seconds
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<f64>,
    /// Kill a cell that takes more memory, in MB
    #[arg(long, value_name = "MB")]
    memory_cap: Option<u64>,
}

impl Arguments {
    fn wishes(&self) -> Wishes {
        Wishes {
            stores: self.stores.clone(),
            entries: self.entries.clone(),
            threads: self.threads.clone(),
            zipf: self.zipf.clone(),
            rounds: self.rounds,
            allocator: self.allocator.clone(),
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<Ended> {
    if let Some(seconds) = arguments.deadline
        && !(seconds > 0.0 && seconds.is_finite())
    {
        bail!("--deadline {seconds}: use a number of seconds above 0");
    }
    let experiments = catalogue::select(&arguments.names)?;
    let spool = Spool::of(&arguments.data)?;
    let data = DataSpec {
        source: spool.as_ref().map_or_else(|| arguments.data.clone(), |spool| spool.source()),
        key_column: arguments.key_column.clone(),
        value_column: arguments.value_column.clone(),
        from_stdin: spool.is_some(),
    };
    workload::check(&data)?;
    let surveyed = Surveyed::of(data, arguments)?;
    let plans =
        experiments.iter().map(|experiment| surveyed.plan(experiment, arguments)).collect::<Result<Vec<Plan>>>()?;
    if arguments.dry_run {
        plans.iter().for_each(show);
        return Ok(Ended::Well);
    }
    super::end_quietly_on_closed_pipe(false);
    ctrlc::set_handler(|| INTERRUPTED.store(true, std::sync::atomic::Ordering::Relaxed)).context("Ctrl-C")?;
    let mut failed = false;
    for plan in &plans {
        let outcome = carry_out(plan, &surveyed.survey, arguments)?;
        failed |= outcome.failed > 0;
        if outcome.interrupted {
            eprintln!("larder: interrupted; what is done is kept, and --resume goes on");
            return Ok(Ended::Interrupted);
        }
    }
    Ok(if failed { Ended::WithFailures } else { Ended::Well })
}

/// Data from stdin, kept in a file for as long as the run lasts: every cell reads it again.
struct Spool(tempfile::NamedTempFile);

impl Spool {
    fn of(source: &str) -> Result<Option<Self>> {
        if source != "json:-" {
            return Ok(None);
        }
        let mut file = tempfile::NamedTempFile::new().context("a temporary file for stdin")?;
        std::io::copy(&mut std::io::stdin().lock(), &mut file).context("reading data from stdin")?;
        Ok(Some(Self(file)))
    }

    fn source(&self) -> String {
        format!("json:{}", self.0.path().display())
    }
}

/// The data, read once from end to end before anything runs: broken input is found here.
struct Surveyed {
    data: DataSpec,
    survey: Survey,
    synthetic: bool,
}

/// Synthetic items are alike: so many tell their mean sizes.
const SYNTHETIC_SAMPLE: u64 = 20_000;

impl Surveyed {
    fn of(data: DataSpec, arguments: &Arguments) -> Result<Self> {
        let synthetic = data.source == "synthetic";
        let limit = synthetic.then_some(SYNTHETIC_SAMPLE);
        let survey = workload::survey(&data, limit, arguments.seed)?;
        anyhow::ensure!(survey.items > 0, "{} holds no item", data.label());
        Ok(Self { data, survey, synthetic })
    }

    fn plan(&self, experiment: &Experiment, arguments: &Arguments) -> Result<Plan> {
        let data = plan::Data { spec: &self.data, survey: &self.survey, synthetic: self.synthetic };
        let plan = plan::plan(experiment, arguments.scale, &data, &arguments.wishes(), arguments.seed)?;
        report::validate(experiment).with_context(|| format!("experiment {}", experiment.name))?;
        Ok(plan)
    }
}

fn show(plan: &Plan) {
    let seconds: f64 = plan.cells.iter().map(|cell| cell.estimate.seconds).sum();
    let bytes = plan.cells.iter().map(|cell| cell.estimate.bytes).max().unwrap_or(0);
    println!(
        "{}: {} cells, about {seconds:.0} s, at most {} MB at a time",
        plan.experiment.name,
        plan.cells.len(),
        bytes / 1_000_000
    );
    for cell in &plan.cells {
        let estimate = cell.estimate;
        println!("  {:<70} {:>7.1} s {:>7} MB", cell.spec.cell, estimate.seconds, estimate.bytes / 1_000_000);
    }
}

fn carry_out(plan: &Plan, survey: &Survey, arguments: &Arguments) -> Result<Outcome> {
    let directory = directory(plan, arguments)?;
    let settings = Settings {
        deadline: arguments.deadline,
        memory_cap: arguments.memory_cap.map(|megabytes| megabytes.saturating_mul(1_000_000)),
    };
    let mut manifest = Manifest::new(plan, survey, std::env::args().skip(1).collect(), now());
    if arguments.resume {
        let earlier = Manifest::read(&directory)?;
        if let Some(difference) = earlier.differs_from(plan, survey) {
            bail!("{}: can't go on with this run, {difference}", directory.display());
        }
        // The run is still the one that was started then, by that command.
        (manifest.argv, manifest.started) = (earlier.argv, earlier.started);
    }
    let costs = plan.cells.iter().map(|cell| (cell.spec.cell.clone(), (cell.estimate.seconds * 1e3) as u64));
    let mut bar = Bar::new(&plan.experiment.name, costs.collect());
    let files = Files::open(&directory, arguments.resume)?;
    manifest.write(&directory)?;
    let outcome = runner::run(plan, files, &directory, &settings, &mut bar)?;
    bar.finish();
    manifest.end(outcome, now());
    manifest.write(&directory)?;
    let rendered = report::render(&directory, &plan.experiment, plan.scale)?;
    tell(&directory, outcome, &rendered);
    Ok(outcome)
}

fn tell(directory: &Path, outcome: Outcome, rendered: &report::Rendered) {
    println!("{}", rendered.answer);
    println!();
    for claim in &rendered.claims {
        let measured = claim.measured.map_or_else(|| "-".to_owned(), report::figures::numbers::tidy);
        println!("  {:<4} {:<18} {:>12} {:<14} {}", claim.id, claim.verdict, measured, claim.unit, claim.claim);
    }
    println!();
    if outcome.failed > 0 {
        println!("{} cells failed; the report names them", outcome.failed);
    }
    println!("{}", directory.join(crate::record::file::REPORT).display());
}

/// `--out` holds one run per experiment; without it every run has a folder of its own.
fn directory(plan: &Plan, arguments: &Arguments) -> Result<PathBuf> {
    let name = &plan.experiment.name;
    if let Some(out) = &arguments.out {
        return Ok(out.join(name));
    }
    let all = Path::new("reports").join(name);
    if !arguments.resume {
        let scale = format!("{:?}", plan.scale).to_lowercase();
        return Ok(all.join(format!("{}-{scale}", now().replace([':', '-'], ""))));
    }
    let runs = std::fs::read_dir(&all).with_context(|| format!("no earlier run in {}", all.display()))?;
    let latest = runs.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).max();
    latest.with_context(|| format!("no earlier run in {}", all.display()))
}

fn now() -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
    OffsetDateTime::now_utc().format(format).expect("a fixed format")
}
