//! Files that were cut short, damaged, or made to harm; and sources that are typed wrongly.

use std::io::Read;

use larder::workload::{self, DataSpec};

use crate::kit::{complaint, file, folder, gzip, read, spec, zstd};

fn document() -> Vec<u8> {
    let members: Vec<_> = (0..3000).map(|n| format!("\"key-{n}\":\"value {}\"", n * n % 977)).collect();
    format!("{{{}}}", members.join(",\n")).into_bytes()
}

#[test]
fn a_compressed_file_cut_short_anywhere_is_refused_with_its_name() {
    let folder = folder();
    for whole in [gzip(&document()), zstd(&document())] {
        let points = (0..24).chain((24..whole.len()).step_by(whole.len() / 40)).chain(whole.len() - 9..whole.len());
        for cut in points {
            let path = file(&folder, "cut.json.gz", &whole[..cut]);
            let error = complaint(&spec("json", &path));
            assert!(error.starts_with(&path.display().to_string()), "cut at {cut}: {error}");
            if cut >= 4 {
                let says = format!("break off in the first {cut} bytes of the file");
                assert!(error.contains(&says) && error.contains("fetch or write it again"), "cut at {cut}: {error}");
            }
        }
        file(&folder, "whole", &whole);
        assert_eq!(read(&spec("json", &folder.path().join("whole"))).expect("whole").len(), 3000);
    }
}

#[test]
fn a_flipped_byte_in_a_gzip_file_is_refused() {
    let folder = folder();
    let whole = gzip(&document());
    // Bytes 3 to 9 of the header (flags, time, system) tell of the file, and are not under the checksum.
    for at in (10..whole.len()).step_by(97).chain(whole.len() - 8..whole.len()) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        let path = file(&folder, "flipped", &flipped);
        let error = complaint(&spec("json", &path));
        assert!(error.starts_with(&path.display().to_string()), "flipped at {at}: {error}");
    }
}

#[test]
fn something_behind_the_compressed_data_is_refused() {
    let folder = folder();
    for whole in [gzip(&document()), zstd(&document())] {
        let path = file(&folder, "more", &[&whole[..], b"more"].concat());
        let error = complaint(&spec("json", &path));
        assert!(error.contains("break off") || error.contains("something else follows"), "{error}");
    }
}

#[test]
fn a_bomb_is_refused_before_it_has_inflated() {
    let folder = folder();
    let blank = |bytes: u64| b"{\"a\":\"b\"".chain(std::io::repeat(b' ').take(bytes)).chain(&b"}"[..]);
    let mut gzip = Vec::new();
    let mut packed = flate2::read::GzEncoder::new(blank(80 << 20), flate2::Compression::best());
    packed.read_to_end(&mut gzip).expect("gzip");
    for (name, bomb) in [("gzip", gzip), ("zstd", zstd::encode_all(blank(80 << 20), 3).expect("zstd"))] {
        let error = complaint(&spec("json", &file(&folder, name, &bomb)));
        assert!(error.contains(name) && error.contains("decompression bomb"), "{error}");
    }
}

#[test]
fn other_packings_empty_files_and_no_files_are_refused() {
    let folder = folder();
    for (name, contents, words) in [
        ("empty.json", &b""[..], "the file is empty"),
        ("a.xz", b"\xfd7zXZ\0\0", "the file is xz"),
        ("a.zip", b"PK\x03\x04....", "the file is zip"),
        ("a.bz2", b"BZh91AY", "the file is bzip2"),
        ("inside.gz", &gzip(b""), "expected a JSON object"),
    ] {
        let error = complaint(&spec("json", &file(&folder, name, contents)));
        assert!(error.contains(name) && error.contains(words), "{error}");
    }
    let check = |kind: &str, path: &str| {
        workload::check(&spec(kind, &folder.path().join(path))).map_err(|error| error.to_string())
    };
    assert_eq!(check("json", "a.xz"), Ok(()), "a check reads no contents");
    assert!(check("json", "not-there.json").is_err_and(|error| error.contains("not-there.json: No such file")));
    assert!(check("json", "").is_err_and(|error| error.contains("is a folder")));
    assert!(check("mo", "a.xz").is_err_and(|error| error.contains("is not a folder")));
    assert!(workload::check(&DataSpec { source: "json:/dev/null".into(), ..DataSpec::default() }).is_err());
}

#[test]
fn a_source_typed_wrongly_is_refused_and_the_nearest_is_suggested() {
    let folder = folder();
    let there = file(&folder, "mine.csv.gz", b"").display().to_string();
    let check = |source: &str, key_column: Option<&str>| {
        let key_column = key_column.map(str::to_owned);
        workload::check(&DataSpec { source: source.to_owned(), key_column, ..DataSpec::default() })
            .map_err(|error| error.to_string())
    };
    assert_eq!(check("synthetic", None), Ok(()));
    for (source, words) in [
        ("jsn:a.json", "did you mean `json`?"),
        ("sythetic", "did you mean `synthetic`?"),
        ("CSV:a", "did you mean `csv`?"),
        ("json", "lacks a path"),
        ("mo:", "lacks a path"),
        ("synthetic:9", "takes no path"),
        ("", "use one of synthetic, json:PATH, csv:PATH, mo:DIR"),
        (&there, "did you mean `csv:"),
    ] {
        let error = check(source, None).expect_err(source);
        assert!(error.contains(words), "{source}: {error}");
    }
    assert!(check("synthetic", Some("key")).is_err_and(|error| error.contains("belong to csv:PATH")));
    let unlimited = DataSpec { source: "synthetic".into(), ..DataSpec::default() };
    assert!(workload::open(&unlimited, None, 0).is_err_and(|error| error.message.contains("how many entries")));
}
