//! `larder report DIR`: the report once more, from the rows alone.

use std::path::PathBuf;

use anyhow::Result;

use super::Ended;
use crate::report;
use crate::runner::manifest::Manifest;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folder of a run: the one that holds measurements.csv and manifest.json
    directory: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<Ended> {
    let manifest = Manifest::read(&arguments.directory)?;
    let rendered = report::render(&arguments.directory, &manifest.experiment, manifest.scale)?;
    println!("{}", rendered.answer);
    println!("{}", arguments.directory.join(crate::record::file::REPORT).display());
    Ok(Ended::Well)
}
