//! The experiments about the hybrid store, as a user runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::common::{assert_well, experiment, rows, stderr, stdout, values};
use larder::record::{Phase, Status, TimelineRow};

/// The verdicts of `claims.csv`, by claim, with what was measured.
fn claims(directory: &Path) -> BTreeMap<String, Vec<(String, String)>> {
    let mut reader = csv::Reader::from_path(directory.join("claims.csv")).unwrap();
    let mut claims: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for row in reader.records().map(Result::unwrap) {
        claims.entry(row[0].to_owned()).or_default().push((row[8].to_owned(), row[4].to_owned()));
    }
    claims
}

fn timeline(directory: &Path) -> Vec<TimelineRow> {
    let mut reader = csv::Reader::from_path(directory.join("timeline.csv")).unwrap();
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

#[test]
fn uber_memory_holds_every_entry_in_an_index_and_a_tier() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-memory", out.path(), &["--entries", "60000"]));
    let directory = out.path().join("uber-memory");
    let rows = rows(&directory);
    assert!(values(&rows, "hybrid", Phase::Warm, "resident_items").iter().all(|items| *items == 50_000.0));
    assert_eq!(values(&rows, "hybrid", Phase::Warm, "shards")[0], 256.0);
    let index = values(&rows, "hybrid", Phase::Steady, "index_bytes_per_entry");
    // Spare slots behind each of the 256 tables are still a byte an entry at this size.
    assert!(index.iter().all(|bytes| (11.4..13.0).contains(bytes)), "{index:?}");
    let (compressed, document) = ("compressed_bytes", "document_bytes");
    for store in ["flat-map", "hybrid"] {
        let ratio = values(&rows, store, Phase::Load, compressed)[0] / values(&rows, store, Phase::Load, document)[0];
        assert!((0.1..0.5).contains(&ratio), "{store}: compressed to {ratio}");
    }
    let claims = claims(&directory);
    assert_eq!(claims["U11"][0].0, "reproduced");
    assert_eq!(claims["U16"][0].0, "reproduced");
    assert!(["U9", "U15", "U17"].iter().all(|id| claims.contains_key(*id)), "{claims:?}");
}

#[test]
fn uber_refresh_adds_an_index_for_hybrid_and_a_copy_for_maps() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-refresh", out.path(), &["--entries", "300000", "--allocator", "system"]));
    let rows = rows(&out.path().join("uber-refresh"));
    let extra = |store| values(&rows, store, Phase::Refresh, "refresh_extra_requested_bytes")[0];
    // 300,000 entries: 12 bytes each, and the buffers of 256 files.
    assert!(extra("hybrid-no-preload") < 300_000.0 * 12.0 + 4e6, "{}", extra("hybrid-no-preload"));
    assert!(extra("hybrid") < 0.35 * extra("flat-map"), "{} and {}", extra("hybrid"), extra("flat-map"));
    assert_eq!(values(&rows, "hybrid", Phase::After, "resident_items"), [50_000.0]);
    let carried = values(&rows, "hybrid-no-preload", Phase::After, "resident_items")[0];
    assert!(carried < 5000.0, "{carried} entries resident right after a refresh without preloading");
}

#[test]
fn uber_collisions_gives_the_published_table_and_tries_the_hash() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-collisions", out.path(), &[]));
    let directory = out.path().join("uber-collisions");
    let claims = claims(&directory);
    let verdicts: Vec<&str> = claims["U10"].iter().map(|(verdict, _)| verdict.as_str()).collect();
    assert_eq!(verdicts[..6], ["reproduced"; 6]);
    let rows = rows(&directory);
    let tried: Vec<f64> = values(&rows, "8-bytes", Phase::Cell, "collisions");
    assert!(!tried.is_empty() && tried.iter().all(|pairs| *pairs == 0.0), "{tried:?}");
}

#[test]
fn uber_serving_has_a_series_for_each_figure_of_the_article() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-serving", out.path(), &["--entries", "6000"]));
    let directory = out.path().join("uber-serving");
    let series = timeline(&directory);
    for metric in [
        "shard_items",
        "resident_items",
        "hit_ratio",
        "hits_per_minute",
        "misses_per_minute",
        "miss_p50_ns",
        "instance_bytes",
    ] {
        let points = series.iter().filter(|row| row.metric == metric && row.store == "hybrid-no-preload").count();
        assert!(points > 40, "{points} points of {metric}");
    }
    let rows = rows(&directory);
    let factor = |store| values(&rows, store, Phase::Refresh, "refresh_miss_factor")[0];
    assert!(factor("hybrid-no-preload") > factor("hybrid"), "preloading makes refreshes worse");
    let (hits, predicted) = ("hit_ratio", "predicted_hit_ratio");
    let of = |metric| values(&rows, "hybrid", Phase::Read, metric)[0];
    assert!((of(hits) - of(predicted)).abs() < 0.03, "{} and {}", of(hits), of(predicted));
    for store in ["flat-map", "hybrid"] {
        // The service was started, asked, refreshed and ended; every answer was compared.
        assert_eq!(
            values(&rows, store, Phase::Refresh, "refresh_seconds").len(),
            2,
            "{store}: the day's, and the service's"
        );
        let rates = values(&rows, store, Phase::Read, "requests_per_second");
        assert!(rates.len() == 1 && rates[0] > 0.0, "{store} was not asked over http: {rates:?}");
    }
    let claims = claims(&directory);
    assert!(["U7", "U14", "U19", "U20", "U21", "U22"].iter().all(|id| claims.contains_key(*id)), "{claims:?}");
    let figures = fs::read_dir(directory.join("figures")).unwrap().count();
    assert!(figures >= 2 * 8, "{figures} files");
}

#[test]
fn the_same_seed_gives_the_same_hits() {
    let ratios = || {
        let out = tempfile::tempdir().unwrap();
        assert_well(&experiment("uber-lru", out.path(), &["--threads", "1"]));
        let rows = rows(&out.path().join("uber-lru"));
        let cells = rows.iter().filter(|row| row.metric == "hit_ratio" && row.cell.starts_with("hit-ratio/"));
        cells.map(|row| (row.cell.clone(), row.value)).collect::<BTreeMap<_, _>>()
    };
    let first = ratios();
    assert!(first.len() >= 6, "{first:?}");
    assert_eq!(first, ratios());
}

#[test]
fn a_store_without_a_tier_has_no_cell_of_misses_and_is_timed_all_the_same() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-gets", out.path(), &["--stores", "flat-map,hybrid-metadata"]));
    let rows = rows(&out.path().join("uber-gets"));
    let kinds = |store: &str| {
        let cells = rows.iter().filter(|row| row.store == store).map(|row| row.cell.as_str());
        cells.map(|cell| cell.split('/').next().unwrap()).collect::<BTreeSet<_>>()
    };
    assert_eq!(kinds("flat-map"), BTreeSet::from(["time"]));
    assert_eq!(kinds("hybrid-metadata"), BTreeSet::from(["miss", "time"]));
    assert!(values(&rows, "hybrid-metadata", Phase::Read, "miss_over_bare_read")[0] > 0.0);
    let hits = values(&rows, "hybrid-metadata", Phase::Read, "hit_ratio");
    assert!(hits.iter().all(|ratio| *ratio == 0.0), "nothing is resident: {hits:?}");
}

#[test]
fn a_liar_is_caught_in_a_day_of_serving() {
    let out = tempfile::tempdir().unwrap();
    let output = experiment("uber-serving", out.path(), &["--stores", "bad-liar,flat-map"]);
    assert_eq!(output.status.code(), Some(1), "{}\n{}", stdout(&output), stderr(&output));
    let rows = rows(&out.path().join("uber-serving"));
    let failed: Vec<_> = rows.iter().filter(|row| row.metric == "failed").collect();
    assert!(failed.iter().all(|row| row.store == "bad-liar" && row.status == Status::WrongAnswer), "{failed:?}");
    assert_eq!(failed.len(), 1);
}

#[test]
fn a_day_that_makes_no_sense_is_refused_by_name() {
    let out = tempfile::tempdir().unwrap();
    let text = include_str!("../../experiments/uber-serving.toml");
    for (from, to, named) in [
        ("trough = 0.3", "trough = 3.0", "trough"),
        ("hours = 24,", "hours = 0,", "hours"),
        ("resident_share = 0.01087\n", "", "resident_share"),
        ("trough = 0.3", "through = 0.3", "through"),
    ] {
        let path = out.path().join("mine.toml");
        fs::write(&path, text.replace(from, to)).unwrap();
        let output = crate::common::larder().arg("experiment").arg(&path).arg("--dry-run").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(said.contains("mine.toml") && said.contains(named), "{said}");
    }
}
