//! JSON documents in both forms.

use std::collections::BTreeMap;
use std::io::Read;

use larder::items::Items;
use larder::workload::source::document::Document;
use larder::workload::source::json::Json;
use larder::workload::{self, DataSpec};
use proptest::prelude::*;

use crate::kit::{Pair, complaint, drain, file, folder, gunzip, gzip, pairs, read, spec, test_data, zstd};

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
