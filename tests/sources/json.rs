//! JSON documents in both forms.

use std::collections::BTreeMap;
use std::io::Read;

use larder::items::Items;
use larder::workload;
use larder::workload::source::document::Document;
use larder::workload::source::json::Json;
use proptest::prelude::*;

use crate::kit::{Pair, drain, file, folder, gunzip, gzip, pairs, read, spec, test_data, zstd};

fn parse(text: &[u8]) -> Result<Vec<Pair>, String> {
    let items = Document::new(text, "x.json".to_owned()).and_then(Json::new);
    items.and_then(|mut items| drain(&mut items)).map_err(|error| error.to_string())
}

#[test]
fn real_translations_are_read_as_serde_json_reads_them() {
    for name in ["translations/translations-ha-sample.json.gz", "translations/translations-iso-sample.json.gz"] {
        let Some(path) = test_data(name) else { return };
        let ours = read(&spec("json", &path)).expect(name);
        let whole: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&gunzip(&std::fs::read(&path).expect(name))).expect(name);
        assert_eq!(ours.len(), 20_000, "{name}");
        let ours: BTreeMap<_, _> = ours.into_iter().collect();
        let theirs: BTreeMap<_, _> =
            whole.into_iter().map(|(key, value)| (key, value.as_str().expect("a string").to_owned())).collect();
        assert!(ours == theirs, "{name}");
    }
}

#[test]
fn both_forms_are_told_apart_by_the_first_object() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (r#"{"a":"1", "b" : "2"}"#, &[("a", "1"), ("b", "2")]),
        ("{}", &[]),
        (r#"{"key":"a","lang":"de","value":"x"}"#, &[("a-de", "x")]),
        (r#"{"value":"x","key":"a"}"#, &[("a", "x")]),
        (
            "{\"key\":\"a\",\"value\":\"x\"}\n\n{\"lang\":\"fr\",\"value\":\"y\",\"key\":\"b\"}\r\n",
            &[("a", "x"), ("b-fr", "y")],
        ),
        (r#"{"key":"a"}"#, &[("key", "a")]),
        (r#"{"lang":"a","key":"b"}"#, &[("lang", "a"), ("key", "b")]),
        (r#"{"key":"a","value":"b","other":"c","d":"e"}"#, &[("key", "a"), ("value", "b"), ("other", "c"), ("d", "e")]),
        (r#"{"key":"a","value":"b","key":"c"}"#, &[("key", "a"), ("value", "b"), ("key", "c")]),
        ("\u{feff} {\"a\":\"1\",\"a\":\"2\"}", &[("a", "1"), ("a", "2")]),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text.as_bytes()).as_ref(), Ok(&pairs(expected)), "{text}");
    }
}

/// Every text is broken at its `@`, which is taken out; the message must hold that byte and the words.
#[test]
fn broken_json_is_refused_with_its_byte_and_the_reason() {
    for (text, words) in [
        ("@[1]", "expected a JSON object"),
        ("@\"a\"", "expected a JSON object"),
        ("  @", "the end of the document"),
        (r#"{@a:"1"}"#, "a key in double quotes"),
        (r#"{"a"@ "1"}"#, "`:` after the key \"a\""),
        (r#"{"a":@x}"#, "a string for \"a\""),
        (r#"{"a":"1"@ "b":"2"}"#, "after the value of \"a\""),
        (r#"{"a":"1",@}"#, "a key in double quotes after `,`"),
        (r#"{"a":"1"@"#, "found the end of the document"),
        (r#"{"a":@{"b":"c"}}"#, "the value of \"a\" is an object"),
        (r#"{"a":@["b"]}"#, "the value of \"a\" is an array"),
        (r#"{"a":"1","deep key":@12}"#, "the value of \"deep key\" is a number"),
        (r#"{"a":@null}"#, "the value of \"a\" is null"),
        (r#"{"a":@true}"#, "is true or false"),
        (r#"{"a":"1"}@ {"b":"2"}"#, "the end of the document after the closing"),
        (r#"{"a":"1"}@}"#, "the end of the document after the closing"),
        (r#"{}@ x"#, "the end of the document after the closing"),
        (r#"{"a":"1@"#, "the document ends inside the string that begins at byte 6"),
        ("{\"a\":\"1@\n\"}", "control character 0x0a"),
        (r#"{"a":"x\@q"}"#, "after a backslash"),
        (r#"{"a":"\u12@g4"}"#, "four hexadecimal digits"),
        (r#"{"a":"@\ud800x"}"#, "half of a surrogate pair"),
        (r#"{"a":"@\udc00"}"#, "half of a surrogate pair"),
        (r#"{"a":"@\ud800\ud800"}"#, "half of a surrogate pair"),
        (r#"{"key":"a","value":"b","kind":"c"}@ {"key":"d","value":"e"}"#, "the first object also has \"kind\""),
        (r#"{"key":"a","value":"b"} @{"key":"c","value":"d","kind":"e"}"#, "unknown member \"kind\""),
        (r#"{"key":"a","value":"b"} @{"key":"c"}"#, "without \"value\""),
        (r#"@{"lang":"a","value":"b"} {"key":"c","value":"d"}"#, "without \"key\""),
        (r#"{"key":"a","value":"b"} @{"key":"c","key":"d"}"#, "two members \"key\""),
        (r#"{"key":"a","value":"b"} @]"#, "another JSON line"),
        ("{\"key\":\"a\",\"value\":\"b\"}\n{\"key\":\"c\",\n\"value\":@1}", "the value of \"value\" is a number"),
    ] {
        let byte = text.find('@').expect("a mark");
        let (before, after) = (&text[..byte], text[byte + 1..].trim_start_matches(' '));
        // Space after the mark is there for the eye; what is wrong comes behind it.
        let spaces = text.len() - byte - 1 - after.len();
        let (byte, line) = (byte + spaces, 1 + before.matches('\n').count());
        let error = parse(text.replace('@', "").as_bytes()).expect_err(text);
        assert!(error.starts_with(&format!("x.json: line {line}, byte {byte}: ")), "{text}\n{error}");
        assert!(error.contains(words), "{text}\n{error}");
    }
}

#[test]
fn text_in_another_encoding_is_refused() {
    let error = parse(b"{\"a\":\"caf\xe9\"}").expect_err("Latin-1");
    assert!(error.contains("byte 6") && error.contains("not UTF-8 after its first 3 bytes"), "{error}");
    let error = parse(b"\xff\xfe{\0").expect_err("UTF-16");
    assert!(error.contains("UTF-16"), "{error}");
}

#[test]
fn compression_is_told_by_the_first_bytes_and_not_by_the_name() {
    let folder = folder();
    let text = br#"{"a":"1","b":"2"}"#;
    let (first, second) = text.split_at(7);
    for (name, contents) in [
        ("plain.json.gz", text.to_vec()),
        ("gzip.json", gzip(text)),
        ("zstd.txt", zstd(text)),
        ("two-members", [gzip(first), gzip(second)].concat()),
        ("two-frames", [zstd(first), zstd(second)].concat()),
    ] {
        let path = file(&folder, name, &contents);
        assert_eq!(read(&spec("json", &path)).expect(name), pairs(&[("a", "1"), ("b", "2")]), "{name}");
    }
}

#[test]
fn a_limit_ends_the_stream_and_a_survey_counts_what_is_there() {
    let folder = folder();
    let path = file(&folder, "a.json", br#"{"a":"1","bb":"2","a":"three"}"#);
    let data = spec("json", &path);
    let two = drain(&mut *workload::open(&data, Some(2), 0).expect("opens")).expect("reads");
    assert_eq!(two, pairs(&[("a", "1"), ("bb", "2")]));
    let survey = workload::survey(&data, None, 0).expect("a survey");
    assert_eq!((survey.items, survey.distinct, survey.key_bytes, survey.value_bytes), (3, 2, 4, 7));
    assert_eq!((survey.longest_key, survey.longest_value, survey.document_bytes), (2, 5, 30));
    assert_eq!(survey.checksum, CHECKSUM);
    let other = file(&folder, "b.json", br#"{"a":"1","bb":"2","a":"thre e"}"#);
    assert_ne!(workload::survey(&spec("json", &other), None, 0).expect("a survey").checksum, survey.checksum);
}

/// Computed with Python's hashlib and struct.pack("<Q", length).
const CHECKSUM: &str = "6bbf5f504e54fb53d2c4ca4e26e98e3f6828a5755f171b344a799aec7453f2f6";

/// Makes `{"0":"...","1":"...",...}` as it is read.
struct Generated {
    next: u64,
    entries: u64,
    ready: Vec<u8>,
}

impl Read for Generated {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.ready.is_empty() && self.next <= self.entries {
            self.ready = match self.next {
                0 => b"{\"key-0\":\"".to_vec(),
                last if last == self.entries => b"\"}".to_vec(),
                entry => format!("{}\",\"key-{entry}\":\"", "v".repeat(4000)).into_bytes(),
            };
            self.next += 1;
        }
        let bytes = self.ready.len().min(into.len());
        into[..bytes].copy_from_slice(&self.ready[..bytes]);
        self.ready.drain(..bytes);
        Ok(bytes)
    }
}

#[test]
fn a_document_of_100_mb_is_read_without_ever_being_held() {
    // In a process of its own: the tests that run beside this one hold large documents.
    const CHILD: &str = "LARDER_TEST_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "json::a_document_of_100_mb_is_read_without_ever_being_held", "--nocapture"]);
        let output = command.env(CHILD, "1").output().expect("this program starts");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let entries = 25_000;
    let before = most_resident();
    let generated = Generated { next: 0, entries, ready: Vec::new() };
    let mut items = Document::new(generated, "generated".to_owned()).and_then(Json::new).expect("opens");
    let (mut count, mut bytes) = (0, 0);
    while let Some(item) = items.next_item().expect("well-formed") {
        assert_eq!(item.key, format!("key-{count}").as_bytes());
        count += 1;
        bytes += item.value.len();
    }
    assert_eq!(count, entries);
    assert!(bytes >= 99_000_000, "{bytes}");
    let grown = most_resident() - before;
    assert!(grown < 10_000_000, "{grown} bytes more in memory");
}

/// The most memory this process ever had resident, in bytes.
fn most_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

#[test]
fn a_string_that_never_ends_is_refused_before_it_fills_the_memory() {
    let endless = b"{\"a\":\"".chain(std::io::repeat(b'x'));
    let mut items = Document::new(endless, "endless".to_owned()).and_then(Json::new);
    let error = match &mut items {
        Ok(items) => drain(items).expect_err("endless").to_string(),
        Err(error) => error.to_string(),
    };
    assert!(error.contains("endless: line 1, byte 6") && error.contains("longer than 67108864 bytes"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_serde_json_writes_is_read_back_identically(
        map in prop::collection::btree_map(any::<String>(), any::<String>(), 0..40),
        pretty: bool,
    ) {
        let written = if pretty { serde_json::to_vec_pretty(&map) } else { serde_json::to_vec(&map) }.expect("JSON");
        let ours: BTreeMap<_, _> = parse(&written).map_err(TestCaseError::fail)?.into_iter().collect();
        prop_assert_eq!(ours, map);
    }

    #[test]
    fn every_way_to_escape_a_character_means_the_character(text: String) {
        let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        prop_assert_eq!(parse(format!("{{\"a\":\"{escaped}\"}}").as_bytes()), Ok(pairs(&[("a", &text)])));
    }

    #[test]
    fn bytes_that_are_refused_or_read_agree_with_serde_json(
        at: prop::sample::Index,
        byte: u8,
        map in prop::collection::btree_map("[a-z\"\\\\é€𝄞]{0,6}", "[a-z\\n\"é]{0,6}", 1..6),
    ) {
        let mut written = serde_json::to_vec(&map).expect("JSON");
        let at = at.index(written.len());
        written[at] = byte;
        let theirs = serde_json::from_slice::<BTreeMap<String, String>>(&written).ok();
        let ours = parse(&written).ok().map(|pairs| pairs.into_iter().collect::<BTreeMap<_, _>>());
        prop_assert_eq!(ours, theirs);
    }
}
