//! Reports from made-up rows: expressions, verdicts, figures and documents, without measuring anything.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use larder::experiment::catalogue;
use larder::experiment::file::{Experiment, Scale};
use larder::record::{LatencyRow, Phase, Row, Status, TimelineRow, Verdict, find_metric};
use larder::report::expression::{Evaluated, evaluate, validate};
use larder::report::rows::Rows;
use larder::report::{render, validate as validate_experiment};

fn row(store: &str, kind: &str, entries: u64, round: u32, phase: Phase, metric: &str, value: f64) -> Row {
    Row {
        experiment: "made-up".to_owned(),
        cell: format!("{kind}/{store}/n{entries}/system/t1/z0.99/s0/r{round}"),
        round,
        phase,
        store: store.to_owned(),
        data: "synthetic".to_owned(),
        entries,
        threads: 1,
        zipf: 0.99,
        allocator: "system".to_owned(),
        metric: metric.to_owned(),
        unit: find_metric(metric).unwrap().unit.to_owned(),
        value,
        status: Status::Ok,
        reason: String::new(),
    }
}

/// Two stores at three sizes; a get takes 100 and 120 ns with a little noise over six rounds.
fn made_up() -> Rows {
    let mut good = Vec::new();
    for (store, blocks, ns) in [("flat-map", 2.0, 100.0), ("sync-map", 6.0, 120.0), ("flat-map+twin", 2.0, 100.4)] {
        for entries in [1000, 2000, 4000] {
            let total = blocks * entries as f64 + 10.0;
            good.push(row(store, "memory", entries, 0, Phase::Steady, "live_blocks", total));
            good.push(row(store, "memory", entries, 0, Phase::Purged, "live_blocks", total));
            good.push(row(store, "memory", entries, 0, Phase::Steady, "blocks_per_entry", total / entries as f64));
        }
        for round in 0..6 {
            let noise = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5][round as usize];
            good.push(row(store, "time", 4000, round, Phase::Read, "get_ns", ns + noise));
        }
    }
    Rows { good, failures: Vec::new(), latency: Vec::new(), timeline: Vec::new() }
}

fn figure(text: &str, rows: &Rows) -> (f64, f64, f64) {
    match evaluate(text, rows, 1).unwrap() {
        Evaluated::Figure(interval) => (interval.low, interval.mid, interval.high),
        Evaluated::Missing(why) => panic!("{text}: {why}"),
    }
}

#[test]
fn arithmetic_follows_the_usual_order() {
    let rows = made_up();
    for (text, value) in [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("10 - 4 - 3", 3.0),
        ("2_000 / 1e3 / 2", 1.0),
        ("-2 + 1.5", -0.5),
        ("max(1, min(5, 3)) * 2", 6.0),
    ] {
        assert_eq!(figure(text, &rows).1, value, "{text}");
    }
}

#[test]
fn a_selector_means_the_largest_size_and_the_median_over_rounds() {
    let rows = made_up();
    let blocks = r#"blocks_per_entry{store="sync-map", phase="steady"}"#;
    assert_eq!(figure(blocks, &rows).1, 24_010.0 / 4000.0);
    assert_eq!(figure(&format!("{blocks} - 2"), &rows).1, 24_010.0 / 4000.0 - 2.0);
    let (low, mid, high) = figure(r#"get_ns{store="sync-map"} / get_ns{store="flat-map"}"#, &rows);
    assert!((mid - 1.2).abs() < 0.01 && low < mid && mid < high && high - low < 0.1, "{low} {mid} {high}");
    assert_eq!(figure(r#"blocks_per_entry{store="flat-map", entries="1000"}"#, &rows).1, 2.01);
}

#[test]
fn lines_over_sizes_have_a_slope_and_an_intercept_and_reach_beyond_them() {
    let rows = made_up();
    let selector = r#"live_blocks{store="sync-map", phase="steady"}"#;
    assert!((figure(&format!("slope({selector})"), &rows).1 - 6.0).abs() < 1e-9);
    assert!((figure(&format!("intercept({selector})"), &rows).1 - 10.0).abs() < 1e-6);
    assert_eq!(figure(&format!("at({selector}, 2000)"), &rows).1, 12_010.0);
    assert!((figure(&format!("at({selector}, 2_000_000)"), &rows).1 - 12_000_010.0).abs() < 1.0);
}

#[test]
fn what_is_missing_or_ambiguous_is_said_and_never_a_number() {
    let rows = made_up();
    let missing = evaluate(r#"get_ns{store="packed"}"#, &rows, 1).unwrap();
    assert!(matches!(&missing, Evaluated::Missing(why) if why.contains("packed")), "{missing:?}");
    let two_stores = evaluate("blocks_per_entry", &rows, 1).unwrap_err();
    assert!(format!("{two_stores:#}").contains("several figures"), "{two_stores:#}");
    // Phases that agree by chance are told apart all the same, by a line over sizes too.
    for text in [
        r#"live_blocks{store="sync-map"}"#,
        r#"slope(live_blocks{store="sync-map"})"#,
        "at(live_blocks{phase=\"steady\"}, 4000)",
    ] {
        let error = format!("{:#}", evaluate(text, &rows, 1).expect_err(text));
        assert!(error.contains("several figures"), "{text}: {error}");
    }
    assert!(matches!(evaluate("1 / 0", &rows, 1).unwrap(), Evaluated::Missing(_)));
}

#[test]
fn a_wrong_expression_names_its_place() {
    for (text, part) in [
        ("blocks_per_entri", "did you mean blocks_per_entry"),
        ("1 +", "column 4"),
        ("1 2", "column 3"),
        (r#"get_ns{shop="x"}"#, "no column \"shop\""),
        (r#"get_ns{store="x""#, "must stand here"),
        ("slope(get_ns", "must stand here"),
        ("at(get_ns{}, x)", "no number"),
        ("(1", "must stand here"),
        ("", "must stand here"),
        ("1e", "no number"),
    ] {
        let error = format!("{:#}", validate(text).expect_err(text));
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn every_built_in_experiment_has_claims_figures_and_an_answer_that_can_be_evaluated() {
    let experiments = catalogue::all().unwrap();
    assert!(experiments.len() >= 3);
    for experiment in &experiments {
        validate_experiment(experiment).unwrap_or_else(|error| panic!("{}: {error:#}", experiment.name));
    }
    let mut wrong = experiments[0].clone();
    wrong.answer = "{{ measured('get_nanos') }}".to_owned();
    assert!(format!("{:#}", validate_experiment(&wrong).unwrap_err()).contains("answer"));
    let mut wrong = experiments[0].clone();
    wrong.figures[0].metrics = vec!["blocks".to_owned()];
    assert!(format!("{:#}", validate_experiment(&wrong).unwrap_err()).contains("blocks"));
}

#[test]
fn an_unknown_key_of_an_experiment_file_is_an_error_that_names_it() {
    let text = include_str!("../experiments/uber-objects.toml").replace("[scales.smoke]", "[scales.smoke]\nrouns = 3");
    let error = format!("{:#}", catalogue::parse(&text, "mine.toml").unwrap_err());
    assert!(error.contains("mine.toml") && error.contains("rouns"), "{error}");
}

fn uber_objects() -> Experiment {
    catalogue::select(&["uber-objects".to_owned()]).unwrap().remove(0)
}

/// Writes a run's files as the runner does.
fn write_run(directory: &Path, rows: &Rows, interrupted: bool, source: &str) {
    let write = |name: &str, lines: Vec<Box<dyn erased::Line + '_>>| {
        let mut writer = csv::Writer::from_path(directory.join(name)).unwrap();
        lines.iter().for_each(|line| line.write(&mut writer));
        writer.flush().unwrap();
    };
    let all = rows.good.iter().chain(&rows.failures);
    write("measurements.csv", all.map(|row| Box::new(row) as Box<dyn erased::Line>).collect());
    write("latency.csv", rows.latency.iter().map(|row| Box::new(row) as Box<dyn erased::Line>).collect());
    write("timeline.csv", rows.timeline.iter().map(|row| Box::new(row) as Box<dyn erased::Line>).collect());
    let manifest = serde_json::json!({
        "interrupted": interrupted, "seed": 1, "argv": ["experiment", "uber-objects"],
        "data": { "source": source }, "survey": { "items": 4000, "checksum": "0123456789abcdef0123" },
        "commit": "0123456789abcdef", "machine": { "cpu": "made up", "cores": 2, "load": 0.0 }, "allocators": [],
    });
    fs::write(directory.join("manifest.json"), manifest.to_string()).unwrap();
}

mod erased {
    pub trait Line {
        fn write(&self, writer: &mut csv::Writer<std::fs::File>);
    }

    impl<T: serde::Serialize> Line for T {
        fn write(&self, writer: &mut csv::Writer<std::fs::File>) {
            writer.serialize(self).unwrap();
        }
    }
}

#[test]
fn a_run_with_failures_renders_names_them_and_keeps_them_out_of_the_figures() {
    let out = tempfile::tempdir().unwrap();
    let mut rows = made_up();
    let failed = row("packed", "memory", 4000, 0, Phase::Cell, "failed", 1.0);
    rows.failures.push(Row {
        status: Status::WrongAnswer,
        reason: "key \"a|b\" has <b>another</b> value".to_owned(),
        ..failed
    });
    write_run(out.path(), &rows, false, "synthetic");
    let rendered = render(out.path(), &uber_objects(), Scale::Quick).unwrap();
    assert_eq!(rendered.failures, 1);
    // packed has no rows, so the sentence that needs them says so.
    assert!(rendered.answer.contains("can't answer"), "{}", rendered.answer);
    let html = fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(html.contains("What failed") && html.contains("&lt;b&gt;another"), "not named or not escaped");
    assert!(!html.contains("<b>another"));
    let readme = fs::read_to_string(out.path().join("README.md")).unwrap();
    assert!(readme.contains("a\\|b"), "a bar in a reason would break the table");
    assert!(html.contains("flat-map+twin") && html.contains("no difference"), "twins are not compared");
    assert!(html.contains("slower"), "sync-map's 20% are not seen");
}

#[test]
fn hostile_names_are_escaped_and_an_interrupted_run_says_so() {
    let out = tempfile::tempdir().unwrap();
    write_run(out.path(), &made_up(), true, "json:mine/<script>alert(1)</script>.json");
    render(out.path(), &uber_objects(), Scale::Quick).unwrap();
    let html = fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(!html.contains("<script>"), "a name got into the page as code");
    assert!(html.contains("interrupted"));
    assert!(fs::read_to_string(out.path().join("README.md")).unwrap().contains("interrupted"));
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let read = |directory: &Path| -> BTreeMap<String, Vec<u8>> {
        let files = ["README.md", "report.html", "claims.csv", "figures/blocks.svg", "figures/blocks.png"];
        files.iter().map(|file| ((*file).to_owned(), fs::read(directory.join(file)).unwrap())).collect()
    };
    let out = tempfile::tempdir().unwrap();
    write_run(out.path(), &made_up(), false, "synthetic");
    render(out.path(), &uber_objects(), Scale::Quick).unwrap();
    let first = read(out.path());
    render(out.path(), &uber_objects(), Scale::Quick).unwrap();
    assert!(first == read(out.path()));
}

#[test]
fn claims_are_judged_from_rows_and_missing_rows_are_said() {
    let out = tempfile::tempdir().unwrap();
    write_run(out.path(), &made_up(), false, "synthetic");
    let rendered = render(out.path(), &uber_objects(), Scale::Quick).unwrap();
    let of = |id: &str| rendered.claims.iter().find(|claim| claim.id == id).unwrap();
    // 10 blocks beside 4000 entries are within the tolerance of a hundredth.
    assert_eq!(of("U1").verdict, Verdict::Reproduced);
    assert_eq!(of("U2").verdict, Verdict::Reproduced);
    assert_eq!(of("U3").verdict, Verdict::CannotTestHere);
    assert!(of("U3").differs.contains("store_share_of_live_blocks"), "{}", of("U3").differs);
}

#[test]
fn rows_of_latency_and_time_series_become_figures() {
    let out = tempfile::tempdir().unwrap();
    let mut rows = made_up();
    for percentile in [50.0, 90.0, 99.0, 100.0] {
        rows.latency.push(LatencyRow {
            experiment: "made-up".to_owned(),
            cell: "time/flat-map/n4000/system/t1/z0.99/s0/r0".to_owned(),
            round: 0,
            store: "flat-map".to_owned(),
            data: "synthetic".to_owned(),
            entries: 4000,
            threads: 1,
            zipf: 0.99,
            allocator: "system".to_owned(),
            operation: "get".to_owned(),
            percentile: Some(percentile),
            nanoseconds: (percentile * 10.0) as u64,
            samples: 10_000,
        });
    }
    for at in 0..10u64 {
        rows.timeline.push(TimelineRow {
            experiment: "made-up".to_owned(),
            cell: "refresh/flat-map/n4000/system/t1/z0.99/s0/r0".to_owned(),
            round: 0,
            store: "flat-map".to_owned(),
            data: "synthetic".to_owned(),
            entries: 4000,
            allocator: "system".to_owned(),
            at_ns: at * 1_000_000,
            phase: Phase::Refresh,
            metric: "rss_growth_bytes".to_owned(),
            unit: "bytes".to_owned(),
            value: 1e6 * at as f64,
        });
    }
    write_run(out.path(), &rows, false, "synthetic");
    let refresh = catalogue::select(&["uber-refresh".to_owned()]).unwrap().remove(0);
    render(out.path(), &refresh, Scale::Quick).unwrap();
    let timeline = fs::read_to_string(out.path().join("figures/timeline.svg")).unwrap();
    assert!(timeline.contains("flat-map") && !timeline.contains("no rows"));
    assert_eq!(figure("latency(99, {store=\"flat-map\"})", &rows).1, 990.0);
}
