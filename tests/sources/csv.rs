//! Tables.

use larder::items::Items;
use larder::workload::{self, DataSpec};

use crate::kit::{complaint, file, folder, gzip, pairs, read, spec, zstd};

#[test]
fn the_columns_asked_for_become_items_compressed_or_not() {
    let folder = folder();
    let table = b"\xef\xbb\xbfid,key,note,value\r\n1,a,,one\r\n2,\"b, \"\"b\"\"\",x,\"two\nlines\"\r\n\r\n3,,\"\",\"\"";
    for (name, contents) in [("plain", table.to_vec()), ("gz", gzip(table)), ("zst", zstd(table))] {
        let data = spec("csv", &file(&folder, name, &contents));
        assert_eq!(read(&data).expect(name), pairs(&[("a", "one"), ("b, \"b\"", "two\nlines"), ("", "")]), "{name}");
        let data = DataSpec { key_column: Some("id".into()), value_column: Some("key".into()), ..data };
        assert_eq!(read(&data).expect(name), pairs(&[("1", "a"), ("2", "b, \"b\""), ("3", "")]), "{name}");
    }
}

#[test]
fn the_last_record_is_whole_however_the_file_ends() {
    let folder = folder();
    for ending in ["", "\n", "\r\n", "\n\n"] {
        for last in ["x", "\"x\"", "\"x\n\"", "\".\""] {
            let path = file(&folder, "table", format!("key,value\na,{last}{ending}").as_bytes());
            assert_eq!(
                read(&spec("csv", &path)).expect(last),
                pairs(&[("a", last.trim_matches('"'))]),
                "{last:?}{ending:?}"
            );
        }
    }
    let header_only = spec("csv", &file(&folder, "table", b"key,value"));
    assert_eq!(read(&header_only).expect("no items"), pairs(&[]));
    let one_column = spec("csv", &file(&folder, "table", b"key\na\n.\n"));
    let one_column = DataSpec { value_column: Some("key".into()), ..one_column };
    assert_eq!(read(&one_column).expect("one column"), pairs(&[("a", "a"), (".", ".")]));
}

#[test]
fn a_broken_table_is_refused_with_its_line() {
    let folder = folder();
    for (table, words) in [
        ("key,value\na,1\nb,2,3\n", "line 3: a record of 3 fields under a header of 2"),
        ("\nkey,value\na,1\n\nb,2,3\n", "line 5: a record of 3 fields under a header of 2"),
        ("key,value\r\na,\"1\r\n\"\r\n\r\nb,2,3", "line 5: a record of 3 fields under a header of 2"),
        ("key,value\na,1\r\n\r\n\"b\r\nb\",2,3\r\n", "line 4: a record of 3 fields under a header of 2"),
        ("key,value\r\na,1\r\nb,2,3\r\n", "line 3: a record of 3 fields under a header of 2"),
        ("key,value\n\"a\nb\",1\nc", "line 4: a record of 1 fields"),
        ("key,value\na,1\nb,\"2\nc,3\nd,4\n", "line 3, byte 14: a quote is opened in this record and never closed"),
        ("key,value\na,1\n\"b,2\nc,3\nd,4", "line 3, byte 14: a quote is opened in this record and never closed"),
        ("key,\"value\na,1\n", "line 1, byte 0: a quote is opened in this record and never closed"),
        (
            "Key,text\na,1\n",
            "no column \"key\" in the header, which has \"Key\", \"text\"; name one with --key-column; did you mean \"Key\"?",
        ),
        (
            "key,values\na,1\n",
            "no column \"value\" in the header, which has \"key\", \"values\"; name one with --value-column; did you mean \"values\"?",
        ),
        ("\n\n", "no header"),
    ] {
        let path = file(&folder, "table.csv", table.as_bytes());
        let error = complaint(&spec("csv", &path));
        assert!(error.starts_with(&path.display().to_string()) && error.contains(words), "{table:?}: {error}");
    }
}

#[test]
fn a_quote_that_swallows_the_file_is_refused_before_it_fills_the_memory() {
    let folder = folder();
    let table = [b"key,value\na,1\nb,\"".to_vec(), b"1234567,\n".repeat(30_000_000)].concat();
    let data = spec("csv", &file(&folder, "table.csv.zst", &zstd::encode_all(&table[..], 1).expect("zstd")));
    let mut items = workload::open(&data, None, 0).expect("opens");
    assert!(items.next_item().expect("the first").is_some());
    let error = items.next_item().expect_err("a record without end").to_string();
    assert!(error.contains("table.csv.zst") && (error.contains("is longer than") || error.contains("bomb")), "{error}");
}
