//! What a person sees while a run goes on: a bar on a terminal, a line per failure everywhere.

use indicatif::{ProgressBar, ProgressStyle};

use crate::cell::spec::Spec;
use crate::record::Status;
use crate::runner::Progress;

/// A bar that moves by estimated seconds, since cells differ a hundredfold in length.
pub struct Bar {
    bar: ProgressBar,
    costs: std::collections::HashMap<String, u64>,
}

impl Bar {
    /// `costs` are the cells' estimated milliseconds.
    pub fn new(name: &str, costs: Vec<(String, u64)>) -> Self {
        let bar = ProgressBar::new(costs.iter().map(|(_, cost)| cost).sum());
        let style = ProgressStyle::with_template(
            "{prefix} [{bar:30}] {percent:>3}%  {elapsed} of about {duration}  {wide_msg}",
        );
        bar.set_style(style.expect("a valid template").progress_chars("=> "));
        bar.set_prefix(name.to_owned());
        bar.enable_steady_tick(std::time::Duration::from_millis(500));
        Self { bar, costs: costs.into_iter().collect() }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn starts(&mut self, cell: &Spec) {
        self.bar.set_message(cell.cell.clone());
    }

    fn ended(&mut self, cell: &Spec, failure: Option<(Status, &str)>) {
        self.bar.inc(self.costs.get(&cell.cell).copied().unwrap_or(0));
        if let Some((status, reason)) = failure {
            self.bar.suspend(|| eprintln!("{} failed ({status:?}): {reason}", cell.cell));
        }
    }
}
