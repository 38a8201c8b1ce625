//! Every promise of the harness has a store that breaks it; each must be caught and named, and its neighbours be unharmed.

use std::fs;
use std::io::Write;

use crate::common::{experiment, larder, rows, stderr, stdout, values};
use larder::record::{Phase, Status};

/// Runs the bad store beside a good one, and expects the status for the bad one and right figures of the good one.
fn is_caught(store: &str, expected: Status, more: &[&str]) {
    let out = tempfile::tempdir().unwrap();
    let stores = format!("{store},packed");
    let mut arguments = vec!["--stores", &stores];
    arguments.extend(more);
    let output = experiment("uber-objects", out.path(), &arguments);
    assert_eq!(output.status.code(), Some(1), "{}\n{}", stdout(&output), stderr(&output));
    let rows = rows(&out.path().join("uber-objects"));
    let failed: Vec<_> = rows.iter().filter(|row| row.metric == "failed" && row.store == store).collect();
    assert!(!failed.is_empty(), "{store} was not caught");
    assert!(failed.iter().any(|row| row.status == expected), "{store}: {failed:?}");
    assert!(failed.iter().all(|row| !row.reason.is_empty()));
    assert!(rows.iter().all(|row| row.store != "packed" || row.status == Status::Ok), "a neighbour was harmed");
    let good = values(&rows, "packed", Phase::Steady, "blocks_per_entry");
    assert!(!good.is_empty() && good.iter().all(|blocks| (blocks - 1.0).abs() < 0.01), "{good:?}");
    let report = fs::read_to_string(out.path().join("uber-objects/README.md")).unwrap();
    assert!(report.contains(store), "the report does not name {store}");
}

#[test]
fn a_store_that_lies_is_caught() {
    is_caught("bad-liar", Status::WrongAnswer, &[]);
}

#[test]
fn a_store_that_loses_a_key_is_caught() {
    is_caught("bad-loser", Status::WrongAnswer, &[]);
}

#[test]
fn a_store_that_leaks_is_caught() {
    is_caught("bad-leaker", Status::Leaked, &[]);
}

#[test]
fn a_store_that_panics_is_caught() {
    is_caught("bad-panicker", Status::Panicked, &[]);
}

#[test]
fn a_store_that_hangs_is_caught() {
    is_caught("bad-hanger", Status::TimedOut, &["--deadline", "2"]);
}

#[test]
fn a_store_that_eats_memory_is_caught() {
    is_caught("bad-eater", Status::TooMuchMemory, &["--memory-cap", "400"]);
}

#[test]
fn a_cell_that_can_not_fit_is_skipped_and_said() {
    let out = tempfile::tempdir().unwrap();
    let output = experiment("uber-objects", out.path(), &["--stores", "packed", "--memory-cap", "10"]);
    assert_eq!(output.status.code(), Some(1));
    let rows = rows(&out.path().join("uber-objects"));
    assert!(rows.iter().any(|row| row.status == Status::Skipped && row.reason.contains("MB")), "{rows:?}");
}

#[test]
fn broken_data_is_refused_before_anything_runs() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("broken.json");
    fs::File::create(&path).unwrap().write_all(b"{\"a\": \"b\", \"c\": }").unwrap();
    let data = format!("json:{}", path.display());
    let output = larder()
        .args(["experiment", "uber-objects", "--scale", "smoke", "--data", &data, "--out"])
        .arg(out.path().join("runs"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("broken.json") && said.contains("16"), "file and place are not named: {said}");
    assert!(!out.path().join("runs").exists(), "something ran on broken data");
}
