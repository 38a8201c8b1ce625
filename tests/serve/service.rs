//! `larder serve`: what it answers, how it refreshes, what it counts, and how it ends.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use larder::items::Items;
use larder::workload::{self, DataSpec};

use crate::client::{Service, encoded};
use crate::flaky::{Act, Flaky, Manner};

type Pairs = BTreeMap<String, String>;

/// Keys that a careless decoder would take for something else, and many plain ones.
fn pairs(generation: &str) -> Pairs {
    let odd = ["ü ñ 漢字-de", "100%", "%41", "a+b", "a b", "a&key=b", "a=b?#c/d", "", "\"quoted\"\\", "emoji 🦀-fr"];
    let plain = (0..2000).map(|n| format!("key-{n}-de"));
    let pair = |key: String| (key.clone(), format!("{generation}: {key} ✓"));
    odd.map(str::to_owned).into_iter().chain(plain).map(pair).collect()
}

fn write(path: &Path, pairs: &Pairs) {
    std::fs::write(path, serde_json::to_vec(pairs).expect("JSON")).expect("a file");
}

struct Files {
    _folder: tempfile::TempDir,
    document: PathBuf,
    /// For the store's files.
    own: String,
}

fn files(pairs: &Pairs) -> Files {
    let folder = tempfile::tempdir().expect("a folder");
    let (document, own) = (folder.path().join("a.json"), folder.path().join("own"));
    write(&document, pairs);
    std::fs::create_dir(&own).expect("a folder");
    Files { document, own: own.display().to_string(), _folder: folder }
}

fn start(store: &str, files: &Files, more: &[&str]) -> Service {
    let data = format!("json:{}", files.document.display());
    let arguments = ["--data", &data, "--store", store, "--directory", &files.own, "--threads", "2"];
    Service::start(&[&arguments[..], more].concat())
}

fn assert_serves(service: &Service, pairs: &Pairs) {
    for (key, value) in pairs.iter().step_by(7).chain(pairs.iter().take(10)) {
        assert_eq!(service.translate(key).as_ref(), Some(value), "{key}");
    }
    for absent in ["key-2000-de", "KEY-1-de", "a%2Bb", "A", "key-1-de ", "漢"] {
        assert_eq!(service.translate(absent), None, "{absent}");
    }
}

#[test]
fn every_store_answers_what_its_source_holds_and_no_more() {
    let pairs = pairs("first");
    let files = files(&pairs);
    for store in ["sync-map", "flat-map", "packed", "hybrid"] {
        let service = start(store, &files, &[]);
        let expected = format!("larder serve: {} entries of {store}, http://{}\n", pairs.len(), service.address);
        assert_eq!(service.ready, expected);
        assert_serves(&service, &pairs);
        assert_eq!(service.metric("larder_entries"), pairs.len() as f64);
        let plus = service.get("/translate?key=a+b");
        assert_eq!(String::from_utf8(plus.body).as_ref(), Ok(&pairs["a+b"]), "a + is a +");
        assert!(plus.head.to_lowercase().contains("content-type: text/plain; charset=utf-8"), "{}", plus.head);
        assert_eq!(service.get("/healthz").code, 200);
    }
}

#[test]
fn requests_that_can_not_be_answered_are_refused_with_a_reason_and_counted() {
    let files = files(&pairs("first"));
    let service = start("hybrid", &files, &[]);
    for (path, code, words) in [
        ("/translate", 400, "no key"),
        ("/translate?kex=a", 400, "no key"),
        ("/translate?key=a&key=b", 400, "two keys"),
        ("/translate?key=%4", 400, "hexadecimal"),
        ("/translate?key=%FF%FE", 404, "no such key"),
        ("/", 404, "/translate?key="),
        ("/translate/key", 404, "/metrics"),
    ] {
        let answer = service.get(path);
        let body = String::from_utf8(answer.body).expect("words");
        assert!(answer.code == code && body.contains(words), "{path}: {} {body}", answer.code);
    }
    let posted =
        service.send(b"POST /translate?key=a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    assert!(posted.code == 405 && posted.head.to_lowercase().contains("allow: get"), "{}", posted.head);
    let head = service.send(b"HEAD /translate?key=key-1-de HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(head.code == 200 && head.body.is_empty());
    for garbage in
        [&b"\0\xff\xfe\r\n\r\n"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /a b c HTTP/1.1\r\n\r\n"]
    {
        assert_eq!(service.send(garbage).code, 400, "{garbage:?}");
    }
    let long = format!("GET /translate?key={} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "a".repeat(70_000));
    assert!(matches!(service.send(long.as_bytes()).code, 400 | 414 | 431));
    let metrics = service.metrics();
    assert_eq!(metrics["larder_http_requests_total{code=\"404\"}"], 3.0);
    assert_eq!(metrics["larder_http_requests_total{code=\"405\"}"], 1.0);
    assert_eq!(metrics["larder_http_requests_total{code=\"200\"}"], 1.0, "the HEAD; this reading is counted after it");
    assert!(metrics["larder_http_requests_total{code=\"400\"}"] >= 8.0);
}

#[test]
fn clients_that_go_away_in_the_middle_do_not_end_the_service() {
    let large = [("large".to_owned(), "x".repeat(8 << 20))].into_iter().collect();
    let files = files(&large);
    let service = start("hybrid", &files, &[]);
    for _ in 0..5 {
        let mut stream = TcpStream::connect(service.address).expect("a connection");
        stream.write_all(b"GET /translate?key=large HTTP/1.1\r\nHost: a\r\n\r\n").expect("it is taken");
        stream.read_exact(&mut [0; 100]).expect("a beginning");
        drop(stream);
        drop(TcpStream::connect(service.address).expect("a connection"));
    }
    assert_eq!(service.translate("large").map(|value| value.len()), Some(8 << 20));
}

#[test]
fn several_requests_go_over_one_connection() {
    let files = files(&pairs("first"));
    let service = start("flat-map", &files, &[]);
    let one = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    let last = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = service.send(format!("{one}{one}{last}").as_bytes());
    assert_eq!(String::from_utf8(answer.body).expect("text").matches("HTTP/1.1 200").count(), 2, "behind the first");
}

#[test]
fn a_hangup_brings_new_contents_and_a_broken_file_leaves_the_old() {
    let (first, second) = (pairs("first"), pairs("second"));
    for store in ["hybrid", "flat-map"] {
        let files = files(&first);
        let service = start(store, &files, &[]);
        assert_serves(&service, &first);
        write(&files.document, &second);
        assert_serves(&service, &first);
        let loaded = service.metric("larder_last_refresh_timestamp_seconds");
        service.signal(libc::SIGHUP);
        service.wait_for_refreshes(1.0);
        assert_serves(&service, &second);
        let refreshed = service.metric("larder_last_refresh_timestamp_seconds");
        assert!(refreshed >= loaded && loaded > 1.7e9);

        for (nth, broken) in [(2.0, "{\"a\":\"b\""), (3.0, "{\"a\":7}"), (4.0, "")] {
            std::fs::write(&files.document, broken).expect("a file");
            service.signal(libc::SIGHUP);
            service.wait_for_refreshes(nth);
            assert_serves(&service, &second);
        }
        std::fs::remove_file(&files.document).expect("a file");
        service.signal(libc::SIGHUP);
        service.wait_for_refreshes(5.0);
        assert_serves(&service, &second);
        let metrics = service.metrics();
        assert_eq!((metrics["larder_refreshes_total"], metrics["larder_refresh_failures_total"]), (5.0, 4.0));
        assert_eq!(metrics["larder_last_refresh_timestamp_seconds"], refreshed);
        let said = service.said();
        assert_eq!(said.matches("a refresh failed").count(), 4, "{said}");
        assert!(said.contains("a.json") && said.contains("is a number"), "{said}");

        write(&files.document, &first);
        service.signal(libc::SIGHUP);
        service.wait_for_refreshes(6.0);
        assert_serves(&service, &first);
    }
}

#[test]
fn refreshes_come_on_the_interval_from_a_server_with_faults() {
    let document = serde_json::to_vec(&pairs("served")).expect("JSON");
    let plan = vec![Act::Fail(503), Act::Serve, Act::Fail(404), Act::Cut(20_000), Act::Serve];
    let server = Flaky::start(document, Manner::ETag, plan);
    let data = format!("json:{}", server.url("a.json"));
    let service = Service::start(&["--data", &data, "--store", "hybrid", "--refresh-every", "1"]);
    service.wait_for_refreshes(2.0);
    let metrics = service.metrics();
    assert_eq!(metrics["larder_refresh_failures_total"], 1.0, "{}", service.said());
    assert_serves(&service, &pairs("served"));
    assert!(service.said().contains(&server.url("a.json")) && service.said().contains("not there"));
}

#[test]
fn the_metrics_of_hybrid_tell_what_was_asked() {
    let pairs = pairs("first");
    let files = files(&pairs);
    let service = start("hybrid", &files, &[]);
    for _ in 0..3 {
        assert_serves(&service, &pairs);
    }
    let metrics = service.metrics();
    let hybrid = |name: &str| metrics[&format!("larder_hybrid_{name}")];
    let asked = pairs.iter().step_by(7).map(|(key, _)| key).chain(pairs.keys().take(10)).collect::<Vec<_>>();
    let distinct = asked.iter().collect::<std::collections::BTreeSet<_>>().len() as f64;
    assert_eq!(hybrid("misses_total"), distinct, "each key is read once and resident from then on");
    assert_eq!(hybrid("hits_total"), 3.0 * asked.len() as f64 - distinct);
    assert_eq!(hybrid("negatives_total"), 3.0 * 6.0);
    assert_eq!(hybrid("resident_items"), distinct);
    assert_eq!(hybrid("errors_total"), 0.0);
    assert!(hybrid("read_bytes_total") > 0.0 && hybrid("disk_bytes") > 0.0 && hybrid("resident_bytes") > 0.0);
    let shards = (0..256).map(|shard| hybrid(&format!("disk_items{{shard=\"{shard}\"}}"))).sum::<f64>();
    assert_eq!(shards, pairs.len() as f64);

    let latency = "larder_hybrid_miss_latency_seconds";
    let bound = |name: &str| name.strip_prefix(&format!("{latency}_bucket{{le=\""))?.strip_suffix("\"}")?.parse().ok();
    let mut buckets: Vec<(f64, f64)> =
        metrics.iter().filter_map(|(name, count)| Some((bound(name)?, *count))).collect();
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(buckets.len() > 100 && buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{buckets:?}");
    assert_eq!(buckets.last(), Some(&(f64::INFINITY, distinct)));
    assert_eq!(metrics[&format!("{latency}_count")], distinct);
    let sum = metrics[&format!("{latency}_sum")];
    let least: f64 = buckets.windows(2).map(|pair| pair[0].0 * (pair[1].1 - pair[0].1)).sum();
    assert!(sum >= least && sum > 0.0, "{sum} s of misses, by their buckets at least {least}");
    assert!(metrics["process_resident_memory_bytes"] > 1e6);
    assert_eq!(metrics["larder_store_info{store=\"hybrid\"}"], 1.0);
}

#[test]
fn counts_go_on_through_a_refresh_and_hot_entries_stay_resident() {
    let files = files(&pairs("first"));
    let service = start("hybrid", &files, &[]);
    assert!(service.translate("key-7-de").is_some());
    service.signal(libc::SIGHUP);
    service.wait_for_refreshes(1.0);
    assert!(service.translate("key-7-de").is_some());
    let metrics = service.metrics();
    assert_eq!((metrics["larder_hybrid_misses_total"], metrics["larder_hybrid_hits_total"]), (1.0, 1.0));
}

#[test]
fn a_store_of_no_statistics_has_the_metrics_of_the_service_alone() {
    let files = files(&pairs("first"));
    let metrics = start("packed", &files, &[]).metrics();
    assert!(metrics.contains_key("larder_entries") && !metrics.keys().any(|name| name.contains("hybrid")));
}

#[test]
fn a_store_that_fails_is_told_and_the_others_are_served() {
    let files = files(&pairs("first"));
    let service = start("bad-panicker", &files, &[]);
    let ask = |key: &str| {
        let mut stream = TcpStream::connect(service.address).expect("a connection");
        let request = format!("GET /translate?key={} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", encoded(key));
        stream.write_all(request.as_bytes()).expect("it is taken");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let codes: Vec<bool> =
        (0..1100).map(|_| ask("key-1-de").is_ok_and(|answer| answer.starts_with("HTTP/1.1 500"))).collect();
    assert!(codes[..900].iter().all(|failed| !failed) && codes[1010..].iter().all(|failed| *failed));
    assert_eq!(service.get("/healthz").code, 200);
}

#[test]
fn a_signal_to_end_ends_it_well_and_leaves_no_file() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let files = files(&pairs("first"));
        let service = start("hybrid", &files, &[]);
        // An idle connection does not hold it up.
        let idle = TcpStream::connect(service.address).expect("a connection");
        assert_eq!(service.translate("a"), None);
        service.signal(signal);
        assert_eq!(service.wait().code(), Some(0));
        assert_eq!(std::fs::read_dir(&files.own).expect("the folder").count(), 0);
        drop(idle);
    }
}

#[test]
fn the_real_sample_is_served_as_its_file_has_it() {
    let folder = std::env::var_os("LARDER_TEST_DATA").unwrap_or_default();
    let path = Path::new(&folder).join("translations/translations-iso-sample.json.gz");
    if !path.exists() {
        eprintln!("skipped: LARDER_TEST_DATA/translations/translations-iso-sample.json.gz is not there");
        return;
    }
    let data = format!("json:{}", path.display());
    let service = Service::start(&["--data", &data, "--store", "hybrid"]);
    let spec = DataSpec { source: data.clone(), ..DataSpec::default() };
    let mut items = workload::open(&spec, None, 0).expect("items");
    let (mut number, mut asked) = (0, 0);
    while let Some(item) = items.next_item().expect("an item") {
        number += 1;
        if number % 41 == 0 {
            let key = std::str::from_utf8(item.key).expect("UTF-8");
            assert_eq!(service.translate(key).as_deref().map(str::as_bytes), Some(item.value), "{key}");
            asked += 1;
        }
    }
    assert!(asked > 400 && service.ready.contains(&format!(" {number} entries")), "{}", service.ready);
}

#[test]
fn no_more_entries_are_resident_than_the_command_line_allows() {
    let pairs = pairs("first");
    let service = start("hybrid", &files(&pairs), &["--resident-items", "5"]);
    assert_serves(&service, &pairs);
    let metrics = service.metrics();
    assert_eq!(metrics["larder_hybrid_resident_items"], 5.0);
    assert!(metrics["larder_hybrid_evictions_total"] > 0.0);
}
