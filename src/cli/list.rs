//! `larder list`: what there is to choose from.

use anyhow::Result;

use super::Ended;
use crate::experiment::catalogue;
use crate::registry;
use crate::workload;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only this part
    #[arg(value_enum)]
    what: Option<What>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Experiments,
    Stores,
    Data,
}

pub fn run(arguments: &Arguments) -> Result<Ended> {
    let wanted = |what| arguments.what.is_none_or(|only| only == what);
    if wanted(What::Experiments) {
        let experiments = catalogue::all()?;
        print("Experiments", experiments.iter().map(|one| (one.name.as_str(), one.about.clone())));
    }
    if wanted(What::Stores) {
        let shown = registry::rows().iter().filter(|row| !row.is_hidden());
        print("Stores", shown.map(|row| (row.name, format!("{} [@{}]", row.about, row.tags.join(" @")))));
    }
    if wanted(What::Data) {
        print("Data sources", workload::sources().iter().map(|(name, about)| (*name, (*about).to_owned())));
    }
    Ok(Ended::Well)
}

fn print<'a>(title: &str, rows: impl Iterator<Item = (&'a str, String)>) {
    println!("{title}");
    for (name, about) in rows {
        println!("  {name:<21} {about}");
    }
}
