//! Experiments from the command line to the files, as a user runs them.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{assert_well, experiment, larder, rows, stderr, stdout, values};
use larder::record::Phase;

#[test]
fn uber_objects_counts_six_two_and_one_block_per_entry() {
    let out = tempfile::tempdir().unwrap();
    let output = experiment("uber-objects", out.path(), &[]);
    assert_well(&output);
    let directory = out.path().join("uber-objects");
    let rows = rows(&directory);
    for (store, blocks) in [("sync-map", 6.0), ("flat-map", 2.0), ("packed", 1.0)] {
        let measured = values(&rows, store, Phase::Steady, "blocks_per_entry");
        assert!(!measured.is_empty(), "no rows of {store}");
        for value in measured {
            // The tables themselves are a few blocks more.
            assert!((value - blocks).abs() < 0.01, "{store}: {value} blocks per entry, not {blocks}");
        }
    }
    for file in ["measurements.csv", "latency.csv", "claims.csv", "manifest.json", "README.md", "report.html"] {
        assert!(directory.join(file).metadata().unwrap().len() > 0, "{file} is empty");
    }
    let pictures: Vec<_> =
        fs::read_dir(directory.join("figures")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(pictures.iter().any(|path| path.extension().is_some_and(|ending| ending == "svg")));
    assert!(pictures.iter().any(|path| path.extension().is_some_and(|ending| ending == "png")));
    let claims = fs::read_to_string(directory.join("claims.csv")).unwrap();
    for id in ["U1,", "U2,", "U3,", "U8,"] {
        assert!(claims.lines().any(|line| line.starts_with(id)), "{id} is not judged:\n{claims}");
    }
}

#[test]
fn uber_refresh_finds_the_second_copy_of_every_store() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-refresh", out.path(), &[]));
    let directory = out.path().join("uber-refresh");
    let rows = rows(&directory);
    for store in ["sync-map", "flat-map", "packed"] {
        for ratio in values(&rows, store, Phase::Refresh, "refresh_requested_peak_ratio") {
            assert!(
                (1.9..2.3).contains(&ratio),
                "{store}: requested bytes at the peak are {ratio} times the steady ones"
            );
        }
    }
    let timeline = fs::read_to_string(directory.join("timeline.csv")).unwrap();
    assert!(timeline.lines().count() > 20, "{timeline}");
    let claims = fs::read_to_string(directory.join("claims.csv")).unwrap();
    for id in ["U6,", "U24,"] {
        assert!(claims.lines().any(|line| line.starts_with(id)), "{id} is not judged:\n{claims}");
    }
}

#[test]
fn a_planted_double_peak_is_found_within_two_percent() {
    let out = tempfile::tempdir().unwrap();
    let more = ["--stores", "bad-double", "--entries", "524288"];
    assert_well(&experiment("uber-refresh", out.path(), &more));
    let rows = rows(&out.path().join("uber-refresh"));
    for metric in ["refresh_requested_peak_ratio", "refresh_peak_ratio"] {
        let found = values(&rows, "bad-double", Phase::Refresh, metric);
        assert!(!found.is_empty(), "no {metric}");
        assert!(found.iter().all(|ratio| (ratio - 2.0).abs() < 0.04), "{metric}: {found:?}");
    }
}

#[test]
fn a_run_goes_on_by_whole_cells_and_measures_none_twice() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-objects", out.path(), &[]));
    let file = out.path().join("uber-objects/measurements.csv");
    let whole = fs::read_to_string(&file).unwrap();
    // As a crash would leave it: the last cells missing, and half a row.
    let kept = whole.len() * 2 / 3;
    fs::write(&file, &whole[..kept]).unwrap();
    assert!(!experiment("uber-objects", out.path(), &[]).status.success(), "an earlier run must not be overwritten");
    assert_well(&experiment("uber-objects", out.path(), &["--resume"]));
    let rows = rows(&out.path().join("uber-objects"));
    let ends: Vec<&str> = rows.iter().filter(|row| row.metric == "cell_seconds").map(|row| row.cell.as_str()).collect();
    let distinct: BTreeSet<&str> = ends.iter().copied().collect();
    assert_eq!(ends.len(), distinct.len(), "a cell ran twice");
    let before = whole.lines().filter(|line| line.contains("cell_seconds")).count();
    assert_eq!(ends.len(), before, "cells are missing after --resume");
    let first: Vec<&str> = whole.lines().skip(1).take(5).collect();
    let again = fs::read_to_string(&file).unwrap();
    assert!(first.iter().all(|line| again.contains(line)), "rows of the first run were lost");
}

#[test]
fn a_run_of_other_settings_is_not_mixed_in_by_resume() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-objects", out.path(), &["--stores", "null"]));
    let output = experiment("uber-objects", out.path(), &["--stores", "null", "--resume", "--seed", "2"]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("seed"), "{}", stderr(&output));
}

#[test]
fn a_report_is_rendered_again_from_its_rows_alone() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-objects", out.path(), &[]));
    let directory = out.path().join("uber-objects");
    let report = fs::read_to_string(directory.join("report.html")).unwrap();
    for file in ["report.html", "README.md", "claims.csv"] {
        fs::remove_file(directory.join(file)).unwrap();
    }
    fs::remove_dir_all(directory.join("figures")).unwrap();
    let output = larder().arg("report").arg(&directory).output().unwrap();
    assert_well(&output);
    assert_eq!(fs::read_to_string(directory.join("report.html")).unwrap(), report);
}

#[test]
fn a_dry_run_shows_cells_with_time_and_memory_and_writes_nothing() {
    let out = tempfile::tempdir().unwrap();
    let output = experiment("uber-objects", out.path(), &["--dry-run"]);
    assert_well(&output);
    let text = stdout(&output);
    assert!(text.contains("memory/sync-map/") && text.contains(" MB") && text.contains(" s "), "{text}");
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn unknown_names_suggest_the_nearest() {
    for (arguments, suggestion) in [
        (vec!["experiment", "uber-object"], "uber-objects"),
        (vec!["experiment", "uber-objects", "--stores", "flatmap"], "flat-map"),
        (vec!["experiment", "uber-objects", "--data", "jsn:x"], "json"),
    ] {
        let output = larder().args(&arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(stderr(&output).contains(suggestion), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn every_allocator_counts_the_same_blocks_and_bytes() {
    let out = tempfile::tempdir().unwrap();
    let more = ["--stores", "flat-map,packed", "--allocator", "system,jemalloc,mimalloc"];
    assert_well(&experiment("uber-objects", out.path(), &more));
    let rows = rows(&out.path().join("uber-objects"));
    for store in ["flat-map", "packed"] {
        let largest = rows.iter().map(|row| row.entries).max().unwrap();
        let per_allocator: BTreeSet<String> = rows
            .iter()
            .filter(|row| row.store == store && row.metric == "live_requested_bytes" && row.phase == Phase::Steady)
            .filter(|row| row.entries == largest)
            .map(|row| format!("{}", row.value))
            .collect();
        assert_eq!(per_allocator.len(), 1, "{store}: requested bytes depend on the allocator: {per_allocator:?}");
    }
    let active = rows.iter().filter(|row| row.metric == "allocator_active_bytes");
    assert!(active.clone().count() > 0 && active.clone().all(|row| row.allocator == "jemalloc"));
}

#[test]
fn dhat_leaves_a_heap_profile_of_the_store() {
    let out = tempfile::tempdir().unwrap();
    assert_well(&experiment("uber-objects", out.path(), &["--stores", "packed", "--allocator", "dhat"]));
    let profile = fs::read_to_string(out.path().join("uber-objects/dhat-heap-packed-n4000.json")).unwrap();
    assert!(profile.contains("dhatFileVersion"));
}

#[test]
fn doctor_names_what_spoils_a_measurement_and_completions_complete() {
    let output = larder().arg("doctor").output().unwrap();
    assert_well(&output);
    assert!(stdout(&output).to_lowercase().contains("load"), "{}", stdout(&output));
    let output = larder().args(["completions", "bash"]).output().unwrap();
    assert_well(&output);
    assert!(stdout(&output).contains("experiment"));
    let output = larder().arg("list").output().unwrap();
    assert_well(&output);
    let text = stdout(&output);
    for name in
        ["uber-objects", "uber-refresh", "sync-map", "flat-map", "packed", "null", "synthetic", "json", "csv", "mo"]
    {
        assert!(text.contains(name), "{name} is not listed:\n{text}");
    }
    assert!(!text.contains("bad-"), "bad actors are not for users:\n{text}");
}

#[test]
fn ctrl_c_leaves_what_is_done_and_a_later_run_goes_on_with_it() {
    let out = tempfile::tempdir().unwrap();
    let arguments = ["experiment", "uber-objects", "--scale", "smoke", "--entries", "60000", "--rounds", "4"];
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("larder"))
        .args(arguments)
        .arg("--out")
        .arg(out.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let directory = out.path().join("uber-objects");
    let file = directory.join("measurements.csv");
    let done = || fs::read_to_string(&file).unwrap_or_default().matches(",cell_seconds,").count();
    while done() < 3 {
        assert!(child.try_wait().unwrap().is_none(), "the run was over before it could be interrupted");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // SAFETY: a signal to a child of ours that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let before = rows(&directory).len();
    assert!(fs::read_to_string(directory.join("README.md")).unwrap().contains("interrupted"));
    let mut command = larder();
    assert_well(&command.args(arguments).arg("--resume").arg("--out").arg(out.path()).output().unwrap());
    assert!(rows(&directory).len() > before);
    let report = fs::read_to_string(directory.join("README.md")).unwrap();
    assert!(!report.contains("interrupted") && !report.contains("--resume"), "{report}");
}

/// The one test that looks at times, since it tests that they are looked at rightly: in one of three tries the planted slowdown must be
/// found, and in one the twins must come out alike.
#[test]
fn a_planted_slowdown_is_told_from_noise_and_twins_are_not() {
    let (mut slow_found, mut twins_alike, mut seen) = (false, false, String::new());
    for _ in 0..3 {
        let out = tempfile::tempdir().unwrap();
        let output = larder().args(["experiment", "controls", "--out"]).arg(out.path()).output().unwrap();
        assert_well(&output);
        let report = fs::read_to_string(out.path().join("controls/README.md")).unwrap();
        let verdict = |store: &str| {
            report.lines().find(|line| line.contains(&format!("| {store} |")) && line.contains("threads"))
        };
        slow_found |= verdict("bad-slow").is_some_and(|line| line.contains("slower"));
        twins_alike |= verdict("flat-map+twin").is_some_and(|line| line.contains("no difference"));
        seen += &format!("{:?} {:?}\n", verdict("bad-slow"), verdict("flat-map+twin"));
        if slow_found && twins_alike {
            return;
        }
    }
    panic!("slowdown found: {slow_found}, twins alike: {twins_alike}\n{seen}");
}

#[test]
fn data_from_stdin_are_kept_for_every_cell_and_a_run_on_them_goes_on() {
    let out = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let mut command = larder();
        command.args([
            "experiment",
            "uber-objects",
            "--scale",
            "smoke",
            "--stores",
            "packed",
            "--data",
            "json:-",
            "--out",
        ]);
        command.arg(out.path()).args(more).write_stdin(r#"{"a-de":"eins","b-de":"zwei","a-de":"drei"}"#);
        command.output().unwrap()
    };
    assert_well(&run(&[]));
    let rows = rows(&out.path().join("uber-objects"));
    assert!(rows.iter().all(|row| row.data == "json:-"));
    let largest = rows.iter().map(|row| row.entries).max().unwrap();
    let held = rows.iter().filter(|row| row.metric == "entries" && row.entries == largest).map(|row| row.value);
    assert!(
        held.clone().count() > 0 && held.clone().all(|entries| entries == 2.0),
        "a key that comes twice counts once"
    );
    assert_well(&run(&["--resume"]));
}
