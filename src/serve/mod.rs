//! `larder serve`: one store behind a small HTTP service, as a person would try it and as an end-to-end measurement drives it. Knows every
//! store by its traits alone.
//!
//! As many threads as the settings say answer requests. A get that has to read from disk keeps its thread for that long: the reads
//! are short, and a second pool for them would cost each resident get a hand-over.

mod metrics;
mod refresh;
mod requests;
mod server;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use self::metrics::Counted;
use crate::registry::{Row, Visitor};
use crate::store::swapped::Swapped;
use crate::store::{Config, Store};
use crate::workload::{self, DataSpec};

/// What is served, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    pub data: DataSpec,
    /// Items that are read, at most.
    pub entries: Option<u64>,
    pub listen: SocketAddr,
    /// Between the end of one refresh and the start of the next; `None`: on SIGHUP alone.
    pub refresh_every: Option<Duration>,
    /// Threads that answer requests.
    pub threads: usize,
    /// Of synthetic data.
    pub seed: u64,
    pub config: Config,
}

/// Serves the store of the row it is visited with, until SIGINT or SIGTERM.
pub struct Serve(pub Settings);

impl Visitor for Serve {
    type Output = Result<()>;

    fn visit<S: Store>(self, row: &'static Row) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(self.0.threads)
            .thread_name("larder-serve")
            .enable_all()
            .build()
            .context("starting the threads that answer requests")?;
        let ended = runtime.block_on(server::run::<S>(row, self.0));
        // A load or refresh that is under way serves nobody any more, and can't be called off.
        runtime.shutdown_background();
        ended
    }
}

/// The contents, what they are loaded from, and what happened to them.
struct Service<S> {
    row: &'static Row,
    settings: Settings,
    store: Swapped<S>,
    counted: Counted,
}

impl<S: Store> Service<S> {
    /// Loads the contents.
    fn load(row: &'static Row, settings: Settings) -> Result<Arc<Self>> {
        let counted = Counted::new();
        let timer = counted.timer();
        let store = guarded(|| {
            let mut items = workload::open(&settings.data, settings.entries, settings.seed)?;
            Ok(Swapped::load(&mut items, &settings.config)?)
        })?;
        counted.loaded(timer);
        Ok(Arc::new(Self { row, settings, store, counted }))
    }

    /// Loads the contents again. What was served before goes on if that fails.
    fn refresh(&self) -> Result<()> {
        let timer = self.counted.timer();
        let refreshed = guarded(|| {
            let Settings { data, entries, seed, config, .. } = &self.settings;
            let mut items = workload::open(data, *entries, *seed)?;
            Ok(self.store.refresh(&mut items, config)?)
        });
        self.counted.refreshed(timer, refreshed.is_ok());
        refreshed
    }
}

/// A store that panics failed in this one thing: neither the thread that refreshes nor a connection may end with it.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(anyhow!("the store panicked")))
}

/// Tells the person at the terminal, who may have closed it.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "larder serve: {line}");
}
