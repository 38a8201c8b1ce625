//! `larder serve`: a store as a service.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Ended;
use crate::registry;
use crate::serve::{Serve, Settings};
use crate::store::{Config, hybrid};
use crate::workload::{self, DataSpec};

/// What `--help` tells behind the options.
pub const SERVICE: &str = "\
Loads the data, says so on one line, and answers until SIGINT or SIGTERM:
  GET /translate?key=KEY   the value of a percent-encoded key (a + is a +); 404 if it is not held
  GET /metrics             what happened so far, for Prometheus
  GET /healthz             200 once the data is loaded
SIGHUP loads the data again. Until that is done, and if it fails, the old contents are served.

Example: larder serve --store hybrid --data json:https://example.com/a.json.gz --refresh-every 600";

#[derive(clap::Args)]
pub struct Arguments {
    /// json:PATH, json:URL (file, http, https, s3; with the usual AWS_* variables), csv:PATH, mo:DIR, or synthetic
    #[arg(long, value_name = "SOURCE")]
    data: String,
    /// Column of the keys, for csv
    #[arg(long)]
    key_column: Option<String>,
    /// Column of the values, for csv
    #[arg(long)]
    value_column: Option<String>,
    /// The store, by its name in `larder list stores`
    #[arg(long, value_name = "NAME")]
    store: String,
    /// Read at most so many items; synthetic data need a number
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    entries: Option<u64>,
    /// Address and port to listen on; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = address)]
    listen: SocketAddr,
    /// Load the data again so many seconds after the load before
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    refresh_every: Option<u64>,
    /// Folder for the files of a store that keeps some, instead of the system's temporary one
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Entries that a hybrid store keeps in memory at most, instead of 50000
    #[arg(long, value_name = "N")]
    resident_items: Option<usize>,
    /// Megabytes that these entries may take
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    resident_mb: Option<u64>,
    /// Threads that answer requests, instead of one for each CPU
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Seed of synthetic data (otherwise 1) and of the store's hash (otherwise drawn at random)
    #[arg(long)]
    seed: Option<u64>,
}

pub fn run(arguments: &Arguments) -> Result<Ended> {
    let name = single_store(&arguments.store)?;
    let settings = settings(arguments)?;
    // A client that closes its connection must not end the service.
    super::end_quietly_on_closed_pipe(false);
    registry::visit(name, Serve(settings)).context("a row that can't be visited")??;
    Ok(Ended::Well)
}

fn single_store(typed: &str) -> Result<&'static str> {
    if let Some(row) = registry::find(typed) {
        return Ok(row.name);
    }
    // An unknown name is refused here, with the nearest known one.
    registry::select(&[typed.to_owned()])?;
    bail!("--store {typed}: one store is served; name it (`larder list stores` names them all)")
}

fn settings(arguments: &Arguments) -> Result<Settings> {
    if arguments.data == "json:-" {
        bail!("--data json:-: stdin can be read only once, and a refresh reads again; write it to a file");
    }
    let data = DataSpec {
        source: arguments.data.clone(),
        key_column: arguments.key_column.clone(),
        value_column: arguments.value_column.clone(),
        from_stdin: false,
    };
    workload::check(&data)?;
    if data.source == "synthetic" && arguments.entries.is_none() {
        bail!("--data synthetic has no end of its own; say how many with --entries");
    }
    if let Some(directory) = arguments.directory.as_deref().filter(|directory| !directory.is_dir()) {
        bail!("--directory {}: no such folder; make it first", directory.display());
    }
    let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Ok(Settings {
        data,
        entries: arguments.entries,
        listen: arguments.listen,
        refresh_every: arguments.refresh_every.map(Duration::from_secs),
        threads: arguments.threads.map_or(cpus, usize::from),
        seed: arguments.seed.unwrap_or(1),
        config: config(arguments),
    })
}

/// Whoever can ask may choose the keys, so that the hashes are secret unless a seed is given.
fn config(arguments: &Arguments) -> Config {
    let hash_key = arguments.seed.is_none().then(|| [random(), random()]);
    let usual = hybrid::Options::default();
    let hybrid = hybrid::Options {
        hash_key,
        resident_items: arguments.resident_items.unwrap_or(usual.resident_items),
        resident_bytes: arguments.resident_mb.map(|megabytes| megabytes * 1_000_000),
        ..usual
    };
    Config { seed: arguments.seed.unwrap_or_else(random), directory: arguments.directory.clone(), hybrid }
}

/// The standard library seeds its hashes from the system, and has no plainer way to say so.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn address(typed: &str) -> Result<SocketAddr, String> {
    let found = typed.to_socket_addrs().map_err(|error| error.to_string());
    let first = found.and_then(|mut found| found.next().ok_or_else(|| "no address of that name".to_owned()));
    first.map_err(|error| format!("{error}; write ADDRESS:PORT"))
}
