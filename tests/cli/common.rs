//! Driving the program as a user does.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use larder::record::{Phase, Row, Status};

pub fn larder() -> Command {
    Command::cargo_bin("larder").expect("the binary is built with the tests")
}

/// Runs `larder experiment NAME --scale smoke --out OUT` with more arguments behind.
pub fn experiment(name: &str, out: &Path, more: &[&str]) -> Output {
    let mut command = larder();
    command.args(["experiment", name, "--scale", "smoke", "--out"]).arg(out).args(more);
    command.output().expect("the program starts")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn assert_well(output: &Output) {
    assert!(output.status.success(), "{}\n{}", stdout(output), stderr(output));
}

pub fn rows(directory: &Path) -> Vec<Row> {
    let path = directory.join("measurements.csv");
    let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    reader.deserialize().collect::<Result<_, _>>().expect("rows of the documented columns")
}

/// The values of one metric of one store in one phase, over cells and rounds.
pub fn values(rows: &[Row], store: &str, phase: Phase, metric: &str) -> Vec<f64> {
    let wanted =
        |row: &&Row| row.store == store && row.phase == phase && row.metric == metric && row.status == Status::Ok;
    rows.iter().filter(wanted).map(|row| row.value).collect()
}
