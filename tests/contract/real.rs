//! Real translations, from the folder that the environment names.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use larder::registry::Row;
use larder::store::Store;

use crate::{Model, Pairs, assert_holds, for_each_store, load};

#[test]
fn every_store_holds_the_real_translations() {
    fn check<S: Store>(row: &Row) {
        for sample in samples() {
            let pairs = read(&sample);
            let store: S = load(&pairs);
            let model: Model = pairs.into_iter().collect();
            assert_holds(&store, &model);
            if row.has_tag("memory") {
                assert_eq!(store.footprint().keys, model.keys().map(|key| key.len() as u64).sum::<u64>());
            }
        }
    }
    if samples().is_empty() {
        eprintln!("skipped: LARDER_TEST_DATA names no folder with translations/translations-*.json.gz");
        return;
    }
    for_each_store!(check);
}

fn samples() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("LARDER_TEST_DATA") else { return Vec::new() };
    let Ok(files) = fs::read_dir(Path::new(&folder).join("translations")) else { return Vec::new() };
    let is_sample = |path: &PathBuf| path.to_string_lossy().ends_with(".json.gz");
    files.filter_map(|file| Some(file.ok()?.path())).filter(is_sample).collect()
}

fn read(sample: &Path) -> Pairs {
    let document = MultiGzDecoder::new(File::open(sample).unwrap());
    let pairs: BTreeMap<String, String> = serde_json::from_reader(std::io::BufReader::new(document)).unwrap();
    assert!(!pairs.is_empty());
    pairs.into_iter().map(|(key, value)| (key.into_bytes(), value.into_bytes())).collect()
}
