//! Documents by URL: exactly the items of the document, or an error that names the URL and says what to do.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use larder::items::{Items, SourceError};
use larder::store::hybrid::Hybrid;
use larder::store::swapped::Swapped;
use larder::store::{Config, Reader, Store};
use larder::workload::source::blob::{Address, Blob, Patience};
use larder::workload::source::json::Json;
use larder::workload::{self, DataSpec};

use crate::flaky::{Act, Flaky, Manner};

type Pair = (String, String);

/// As the program has it, but for the waits.
fn patience() -> Patience {
    let wait = Duration::from_millis(1);
    Patience { first_wait: wait, longest_wait: wait, ..Patience::default() }
}

fn address(url: &str) -> Address {
    Address::parse(url).expect("a URL").expect("a good one")
}

/// Large enough that its gzip is many times what network and decoder hold at a time.
fn document() -> (Vec<Pair>, Vec<u8>) {
    let noise =
        |n: u64| (0..4).map(move |part| n.wrapping_add(part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23));
    let text = |n: u64| noise(n).map(|word| format!("{word:016x}")).collect::<Vec<_>>().join(" ");
    let pairs: Vec<Pair> = (0..40_000).map(|n| (format!("key {n} ü-de"), text(n))).collect();
    let members: Vec<_> = pairs.iter().map(|(key, value)| format!("\"{key}\":\"{value}\"")).collect();
    (pairs, format!("{{{}}}", members.join(",\n")).into_bytes())
}

fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(contents).and_then(|()| encoder.finish()).expect("gzip")
}

fn read(url: &str) -> Result<Vec<Pair>, SourceError> {
    drain(&mut Json::fetch(&address(url), &patience())?)
}

fn drain(items: &mut dyn Items) -> Result<Vec<Pair>, SourceError> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let mut pairs = Vec::new();
    while let Some(item) = items.next_item()? {
        pairs.push((text(item.key), text(item.value)));
    }
    Ok(pairs)
}

/// What reading `url` complains of. It names the URL.
fn complaint(url: &str) -> String {
    let error = read(url).expect_err("it can't be read").to_string();
    assert!(error.starts_with(url) && !error.contains('\n'), "{error}");
    error
}

#[test]
fn a_url_gives_the_items_of_the_document_packed_or_not() {
    let (pairs, plain) = document();
    for packed in [plain.clone(), gzip(&plain), zstd::encode_all(&plain[..], 1).expect("zstd")] {
        let server = Flaky::start(packed, Manner::ETag, vec![]);
        assert!(read(&server.url("a.json")).expect("items") == pairs);
        assert_eq!(server.asked(), ["GET /a.json"]);
    }
}

#[test]
fn a_url_is_asked_for_as_it_was_typed() {
    let server = Flaky::start(b"{\"a\":\"b\"}".to_vec(), Manner::ETag, vec![]);
    for path in ["a%20b/%7Eme/~you/100%25.json?sign=a%2Fb&c", "?only=query", "a//b/", "%C3%BC.json"] {
        assert_eq!(read(&server.url(path)).expect(path), [("a".to_owned(), "b".to_owned())]);
        assert_eq!(server.asked().pop(), Some(format!("GET /{path}")));
    }
}

#[test]
fn a_server_in_trouble_is_asked_again_and_the_items_are_the_same() {
    let (pairs, plain) = document();
    for failures in [vec![Act::Fail(500), Act::Fail(503)], vec![Act::Fail(429)], vec![Act::HangUp, Act::Fail(502)]] {
        let asked = failures.len() + 1;
        let server = Flaky::start(gzip(&plain), Manner::ETag, failures);
        assert!(read(&server.url("a.json.gz")).expect("items") == pairs);
        assert_eq!(server.asked().len(), asked);
    }
}

#[test]
fn a_server_that_stays_in_trouble_is_given_up_after_a_bounded_number_of_requests() {
    let server = Flaky::start(vec![], Manner::ETag, vec![Act::Fail(503); 100]);
    let error = complaint(&server.url("a.json"));
    assert!(error.contains("503") && error.contains("load it again later"), "{error}");
    assert_eq!(server.asked().len(), patience().retries + 1);
}

#[test]
fn a_body_that_breaks_off_is_taken_up_where_it_broke() {
    let (pairs, plain) = document();
    let packed = gzip(&plain);
    for manner in [Manner::ETag, Manner::LastModified] {
        let cuts = vec![Act::Cut(0), Act::Fail(500), Act::Cut(packed.len() / 3), Act::Cut(1), Act::Cut(100_000)];
        let server = Flaky::start(packed.clone(), manner, cuts);
        assert!(read(&server.url("a.json.gz")).expect("items") == pairs, "{manner:?}");
        let asked = server.asked();
        assert_eq!(asked.len(), 6, "{asked:?}");
        let third = format!("GET /a.json.gz {}-", packed.len() / 3);
        assert!(asked[3].starts_with(&third), "{asked:?} after {} bytes", packed.len() / 3);
    }
}

#[test]
fn a_body_that_breaks_off_without_end_is_given_up() {
    let (_, plain) = document();
    for (manner, most) in [(Manner::LastModified, 6), (Manner::ETag, 36)] {
        let server = Flaky::start(gzip(&plain), manner, vec![Act::Cut(1000); 1000]);
        let error = complaint(&server.url("a.json.gz"));
        assert!(error.contains("broke off at byte") && error.contains("taken up again 5 times"), "{error}");
        assert!(!error.contains("the file is damaged"), "{error}");
        assert!(server.asked().len() <= most, "{} requests", server.asked().len());
    }
}

#[test]
fn a_body_is_taken_up_only_where_the_rest_is_surely_of_the_same_document() {
    let (_, plain) = document();
    let packed = gzip(&plain);
    // As long as the first, so that nothing but its version tells.
    let changed = || Act::Changed(packed.iter().rev().copied().collect());
    for (manner, second, words) in [
        (Manner::ETag, changed(), "another document in its place"),
        (Manner::LastModified, changed(), "another document in its place"),
        (Manner::NoVersion, Act::Serve, "without an ETag or Last-Modified"),
        (Manner::NoRanges, Act::Serve, "can't send the rest"),
    ] {
        let server = Flaky::start(packed.clone(), manner, vec![Act::Cut(5000), second.clone(), second]);
        let error = complaint(&server.url("a.json.gz"));
        assert!(error.contains(words), "{manner:?}: {error}");
    }
}

#[test]
fn what_is_not_there_or_not_allowed_is_told_at_once() {
    for (status, words) in
        [(404, "not there"), (403, "may not be read"), (401, "may not be read"), (400, "check the URL")]
    {
        let server = Flaky::start(vec![], Manner::ETag, vec![Act::Fail(status); 9]);
        let error = complaint(&server.url("a.json"));
        assert!(error.contains(words), "{status}: {error}");
        assert_eq!(server.asked().len(), 1, "{status} is not asked for again");
    }
}

#[test]
fn a_server_that_says_no_length_is_refused() {
    let server = Flaky::start(b"{\"a\":\"b\"}".to_vec(), Manner::NoLength, vec![]);
    let error = complaint(&server.url("a.json"));
    assert!(error.contains("Content-Length") && error.contains("fetch it to a file first"), "{error}");
}

#[test]
fn a_server_that_is_not_running_is_told_with_what_to_look_at() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let error = complaint(&format!("http://{free}/a.json"));
    assert!(error.contains("refused") && error.contains("is a server running there?"), "{error}");
}

#[test]
fn a_server_that_hangs_is_given_up_after_the_silence_that_is_allowed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/a.json", listener.local_addr().expect("its address"));
    let patience = Patience { silence: Duration::from_millis(50), retries: 1, ..patience() };
    let error = Blob::open(&address(&url), &patience).err().expect("no answer").to_string();
    assert!(error.starts_with(&url) && error.contains("too slow or hangs"), "{error}");
}

#[test]
fn a_reader_that_goes_away_leaves_no_thread_behind() {
    let (_, plain) = document();
    let server = Flaky::start(plain, Manner::ETag, vec![]);
    let mut blob = Blob::open(&address(&server.url("a.json")), &patience()).expect("a blob");
    let mut first = [0; 10];
    blob.read_exact(&mut first).expect("bytes");
    // Comes back only when the thread has ended, though nobody took the rest.
    drop(blob);
    assert_eq!(&first, b"{\"key 0 \xc3\xbc");
}

#[test]
fn broken_contents_are_told_with_the_url_and_the_place() {
    let (_, plain) = document();
    let packed = gzip(&plain);
    let server = Flaky::start(packed[..packed.len() / 2].to_vec(), Manner::ETag, vec![]);
    assert!(complaint(&server.url("cut.json.gz")).contains("the gzip data break off"));
    let server = Flaky::start(b"{\"a\":\n7}".to_vec(), Manner::ETag, vec![]);
    let error = complaint(&server.url("a.json"));
    assert!(error.contains("line 2") && error.contains("curl -sL 'http://"), "{error}");
    let server = Flaky::start(vec![], Manner::ETag, vec![]);
    assert!(complaint(&server.url("empty.json")).contains("empty"));
}

#[test]
fn a_file_by_url_gives_what_its_path_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("with space ü 100%.json.gz");
    let (pairs, plain) = document();
    std::fs::write(&path, gzip(&plain)).expect("a file");
    let url = url::Url::from_file_path(&path).expect("an absolute path").to_string();
    assert!(read(&url).expect("items") == pairs);
    let by_url = DataSpec { source: format!("json:{url}"), ..DataSpec::default() };
    let by_path = DataSpec { source: format!("json:{}", path.display()), ..DataSpec::default() };
    let survey = |spec| workload::survey(spec, None, 0).expect("a survey");
    assert_eq!(survey(&by_url), survey(&by_path));
    let gone = url::Url::from_file_path(folder.path().join("gone.json")).expect("an absolute path");
    assert!(complaint(gone.as_str()).contains("not there"));
    let folder = url::Url::from_file_path(folder.path()).expect("an absolute path");
    assert!(complaint(folder.as_str()).contains("is directory"));
}

#[test]
fn a_refresh_whose_document_breaks_off_leaves_the_old_contents_serving() {
    let (pairs, plain) = document();
    let server = Flaky::start(gzip(&plain), Manner::NoVersion, vec![Act::Serve, Act::Cut(300_000), Act::Fail(404)]);
    let config = Config::default();
    let fetch = || Json::fetch(&address(&server.url("a.json.gz")), &patience());
    let store = Swapped::<Hybrid>::load(&mut fetch().expect("a blob"), &config).expect("a load");
    let failed = store.refresh(&mut fetch().expect("its beginning"), &config).expect_err("a body cut").to_string();
    assert!(failed.contains(&server.url("a.json.gz")) && failed.contains("broke off at byte 300000"), "{failed}");
    fetch().map(drop).expect_err("not there");
    let mut reader = store.reader();
    for (key, value) in &pairs {
        let right = reader.get(key.as_bytes(), |found| found == value.as_bytes()).expect("a get");
        assert_eq!(right, Some(true), "{key}");
    }
    store.check().expect("sound contents");
    store.refresh(&mut fetch().expect("a blob"), &config).expect("a refresh that succeeds");
}

#[test]
fn the_real_sample_by_http_gives_what_its_file_gives() {
    let folder = std::env::var_os("LARDER_TEST_DATA").unwrap_or_default();
    let path = Path::new(&folder).join("translations/translations-ha-sample.json.gz");
    let Ok(contents) = std::fs::read(&path) else {
        eprintln!("skipped: LARDER_TEST_DATA/translations/translations-ha-sample.json.gz is not there");
        return;
    };
    let cut = Act::Cut(contents.len() / 2);
    let server = Flaky::start(contents, Manner::ETag, vec![Act::Fail(500), cut]);
    let pairs = read(&server.url("sample")).expect("items");
    assert!(pairs == drain(&mut Json::open(&path).expect("a file")).expect("items"));
    assert_eq!(pairs.len(), 20_000);
}
