//! How a service embeds the hybrid store: it loads a document, reads on many threads, refreshes beside them, and looks at what
//! the store counted.
//!
//!     cargo run --release --example embed_hybrid -- translations.json.gz

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use anyhow::{Context, Result, ensure};
use larder::items::Items;
use larder::store::hybrid::{Hybrid, Options};
use larder::store::swapped::Swapped;
use larder::store::{Config, Reader, Store};
use larder::workload::source::json::Json;

const THREADS: usize = 2;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    match std::env::args().nth(1) {
        Some(path) => run(Path::new(&path)),
        None => run(&sample(folder.path())?),
    }
}

/// A small document, for want of a real one.
pub fn sample(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("translations.json");
    let pairs: std::collections::BTreeMap<_, _> =
        (0..1000).map(|n| (format!("key-{n}-de"), format!("Wert {n}"))).collect();
    std::fs::write(&path, serde_json::to_vec(&pairs)?)?;
    Ok(path)
}

pub fn run(document: &Path) -> Result<()> {
    // Where the values lie. A service whose keys come from strangers also sets `hybrid.hash_key`, drawn at random.
    let directory = tempfile::tempdir()?;
    let config = Config {
        directory: Some(directory.path().to_owned()),
        hybrid: Options { resident_items: 500, ..Options::default() },
        ..Config::default()
    };
    // `Swapped` makes the store refreshable: readers see the old contents until the new ones are whole.
    let store = Swapped::<Hybrid>::load(&mut Json::open(document)?, &config).context("the first load")?;
    let keys = keys(document)?;
    let stop = AtomicBool::new(false);

    thread::scope(|scope| -> Result<()> {
        let readers: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| read(&store, &keys, &stop))).collect();
        // A service does this on a timer or a signal. If it fails, the old contents go on being served.
        let refreshed = Json::open(document)
            .map_err(anyhow::Error::from)
            .and_then(|mut items| store.refresh(&mut items, &config).context("a refresh"));
        stop.store(true, Relaxed);
        for reader in readers {
            let found = reader.join().map_err(|_| anyhow::anyhow!("a reader panicked"))??;
            ensure!(found >= keys.len(), "each reader went through all keys at least once, not {found}");
        }
        refreshed
    })?;

    let statistics = store.current().statistics();
    println!(
        "{} entries, {} of them resident in {} bytes; {} hits, {} misses, {} errors",
        store.entries(),
        statistics.resident_items,
        statistics.resident_bytes,
        statistics.hits,
        statistics.misses,
        statistics.errors
    );
    ensure!(statistics.errors == 0 && statistics.misses > 0, "{statistics:?}");
    ensure!(statistics.resident_items <= 500, "the tier keeps to its bound");
    Ok(())
}

/// Asks for every key, again and again until it is told to stop. Each thread has a reader of its own.
fn read(store: &Swapped<Hybrid>, keys: &[Vec<u8>], stop: &AtomicBool) -> Result<usize> {
    let mut reader = store.reader();
    let mut found = 0;
    loop {
        for key in keys {
            // The value is lent for as long as the closure runs; nothing is copied.
            let length = reader.get(key, |value| value.len())?;
            ensure!(
                length.is_some(),
                "{:?} is served before, during and after a refresh",
                String::from_utf8_lossy(key)
            );
            found += 1;
        }
        if stop.load(Relaxed) {
            return Ok(found);
        }
    }
}

fn keys(document: &Path) -> Result<Vec<Vec<u8>>> {
    let mut items = Json::open(document)?;
    let mut keys = Vec::new();
    while let Some(item) = items.next_item()? {
        keys.push(item.key.to_vec());
    }
    Ok(keys)
}
