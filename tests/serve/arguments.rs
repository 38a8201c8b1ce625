//! `larder serve` started wrongly: refused before it serves, with what to do.

use std::process::{Command, Output};

use crate::flaky::{Act, Flaky, Manner};

fn serve(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
    command.arg("serve").args(arguments).env_clear().output().expect("the program starts")
}

fn refusal(arguments: &[&str]) -> String {
    let output = serve(arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!said.contains("panicked"), "{said}");
    said
}

#[test]
fn wrong_arguments_are_refused_with_what_to_do() {
    let synthetic = ["--data", "synthetic", "--entries", "10", "--listen", "127.0.0.1:0"];
    for (store, words) in
        [("hybird", "did you mean `hybrid`?"), ("@uber", "one store is served"), ("", "leaves no store")]
    {
        let error = refusal(&[&synthetic[..], &["--store", store]].concat());
        assert!(error.contains(words), "{store}: {error}");
    }
    let hybrid = ["--store", "hybrid", "--listen", "127.0.0.1:0", "--data"];
    for (data, words) in [
        (&["synthetic"][..], "--entries"),
        (&["json:-"], "write it to a file"),
        (&["json:/not/there.json"], "No such file"),
        (&["jsn:a"], "did you mean `json`?"),
        (&["json:gs://bucket/a"], "a scheme that is known"),
        (&["json:http://"], "can't be read"),
        (&["json:file:///not/there.json"], "it is not there"),
        (&["synthetic", "--entries", "0"], "0 is not in 1.."),
        (&["synthetic", "--entries", "9", "--threads", "0"], "0 is not in 1.."),
        (&["synthetic", "--entries", "9", "--refresh-every", "0"], "0 is not in 1.."),
        (&["synthetic", "--entries", "9", "--directory", "/not/there"], "no such folder"),
        (&["synthetic", "--entries", "9", "--key-column", "a"], "belong to csv:PATH"),
    ] {
        let error = refusal(&[&hybrid[..], data].concat());
        assert!(error.contains(words), "{data:?}: {error}");
    }
    for (listen, words) in [("8080", "write ADDRESS:PORT"), ("127.0.0.1:99999", "write ADDRESS:PORT")] {
        let error = refusal(&["--store", "null", "--data", "synthetic", "--entries", "1", "--listen", listen]);
        assert!(error.contains(words), "{listen}: {error}");
    }
}

#[test]
fn an_address_in_use_is_told_before_the_load() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let server = Flaky::start(b"{\"a\":\"b\"}".to_vec(), Manner::ETag, vec![]);
    let data = format!("json:{}", server.url("a.json"));
    let error = refusal(&["--store", "hybrid", "--data", &data, "--listen", &address]);
    assert!(error.contains(&address) && error.contains("--listen"), "{error}");
    assert_eq!(server.asked(), [""; 0]);
}

#[test]
fn a_load_that_fails_ends_with_the_url_and_the_reason() {
    let server = Flaky::start(vec![], Manner::ETag, vec![Act::Fail(404)]);
    let url = server.url("a.json");
    let error = refusal(&["--store", "hybrid", "--data", &format!("json:{url}"), "--listen", "127.0.0.1:0"]);
    assert!(error.contains(&url) && error.contains("it is not there"), "{error}");
}

#[test]
fn a_bucket_is_asked_for_by_the_usual_variables() {
    let run = |server: &Flaky, more: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
        let listen = ["--listen", "127.0.0.1:0"];
        command.args(["serve", "--store", "flat-map", "--data", "json:s3://bucket/some/a%20b.json"]).args(listen);
        command.env_clear().env("AWS_ENDPOINT", server.url("").trim_end_matches('/')).envs(more.iter().copied());
        let output = command.output().expect("the program starts");
        assert!(!output.status.success());
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(error.contains("s3://bucket/some/a%20b.json") && !error.contains("panicked"), "{error}");
        error
    };
    let keys = [("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "hidden"), ("AWS_ALLOW_HTTP", "true")];
    for (status, words) in [(403, "set AWS_ACCESS_KEY_ID"), (404, "it is not there")] {
        let server = Flaky::start(vec![], Manner::ETag, vec![Act::Fail(status); 9]);
        let error = run(&server, &keys);
        assert!(error.contains(words) && !error.contains("hidden"), "{error}");
        assert_eq!(server.asked(), ["GET /bucket/some/a%20b.json"]);
    }
    let server = Flaky::start(b"{\"a\":7}".to_vec(), Manner::LastModified, vec![]);
    run(&server, &[&keys[..2], &[("AWS_ALLOW_HTTP", "false")]].concat());
    assert_eq!(server.asked(), [""; 0], "no plain http unless it is allowed");
    let error = run(&server, &[("AWS_ACCESS_KEY_ID", "me"), ("AWS_ALLOW_HTTP", "true")]);
    assert!(error.contains("SecretAccessKey") && error.contains("AWS_"), "{error}");
}

#[test]
fn the_help_names_the_paths_and_the_signals() {
    let output = serve(&["--help"]);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    for words in ["GET /translate?key=KEY", "GET /metrics", "GET /healthz", "SIGHUP", "json:URL", "127.0.0.1:8080"] {
        assert!(said.contains(words), "{words} in {said}");
    }
}
