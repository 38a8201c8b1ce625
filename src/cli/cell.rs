//! `larder cell`: the child of a run.

use std::io::Read;

use anyhow::{Context, Result, anyhow};

use super::Ended;
use crate::cell::{self, spec::Spec};
use crate::measure::alloc;

pub fn run() -> Result<Ended> {
    alloc::chosen().map_err(|message| anyhow!(message))?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("reading the cell's spec")?;
    let spec: Spec = serde_json::from_str(&text)
        .context("the cell's spec on stdin (`larder cell` is started by `larder experiment`, not by hand)")?;
    drop(text);
    cell::run(&spec, &mut std::io::stdout().lock())?;
    Ok(Ended::Well)
}
