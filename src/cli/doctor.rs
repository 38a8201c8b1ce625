//! `larder doctor`: what on this machine would spoil a measurement.

use anyhow::Result;

use super::Ended;
use crate::measure::machine;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print the readings as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<Ended> {
    let machine = machine::inspect();
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&machine)?);
        return Ok(Ended::Well);
    }
    for finding in machine::findings(&machine) {
        let mark = if finding.spoils.is_some() { "!" } else { "." };
        println!("{mark} {:<14} {}", finding.what, finding.state);
        if let Some(spoils) = finding.spoils {
            println!("{:17}{spoils}", "");
            println!("{:17}{}", "", finding.advice);
        }
    }
    Ok(Ended::Well)
}
