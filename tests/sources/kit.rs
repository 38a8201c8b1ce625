//! What the tests of every source share: files, whole reads, errors.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use larder::items::{Items, SourceError};
use larder::workload::{self, DataSpec};

pub type Pair = (String, String);

pub fn spec(kind: &str, path: &Path) -> DataSpec {
    DataSpec { source: format!("{kind}:{}", path.display()), ..DataSpec::default() }
}

pub fn file(folder: &tempfile::TempDir, name: &str, contents: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    std::fs::write(&path, contents).expect("a file");
    path
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

pub fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(contents).and_then(|()| encoder.finish()).expect("gzip")
}

pub fn zstd(contents: &[u8]) -> Vec<u8> {
    zstd::encode_all(contents, 3).expect("zstd")
}

pub fn gunzip(contents: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    flate2::read::MultiGzDecoder::new(contents).read_to_end(&mut whole).expect("gzip");
    whole
}

/// Every item up to the end, or the first error.
pub fn drain(items: &mut dyn Items) -> Result<Vec<Pair>, SourceError> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let mut pairs = Vec::new();
    while let Some(item) = items.next_item()? {
        pairs.push((text(item.key), text(item.value)));
    }
    Ok(pairs)
}

pub fn read(spec: &DataSpec) -> Result<Vec<Pair>, SourceError> {
    drain(&mut *workload::open(spec, None, 0)?)
}

/// What is wrong with the data; fails if nothing is. A survey must find the same.
pub fn complaint(spec: &DataSpec) -> String {
    let error = read(spec).expect_err("broken data are refused").to_string();
    let surveyed = workload::survey(spec, None, 0).expect_err("a survey finds broken data").to_string();
    assert_eq!(error, surveyed);
    error
}

/// Pairs as the tests write them.
pub fn pairs(these: &[(&str, &str)]) -> Vec<Pair> {
    these.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A file of the real test data, if they are there.
pub fn test_data(name: &str) -> Option<PathBuf> {
    let path =
        std::env::var_os("LARDER_TEST_DATA").map(|folder| Path::new(&folder).join(name)).filter(|path| path.exists());
    if path.is_none() {
        eprintln!("skipped: LARDER_TEST_DATA/{name} is not there");
    }
    path
}
