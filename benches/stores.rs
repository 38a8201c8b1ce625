//! Single gets and puts of every store of the registry, by criterion: `cargo bench --bench stores [-- FILTER]`.
//!
//! A quick look while a store is being changed. Figures for reports come from cells, which have processes of their own,
//! controls, and data at scale; 100,000 entries here are just beyond a usual second-level cache.

use std::hint::black_box;

use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use larder::items::Slice;
use larder::registry::{self, Row, Visitor};
use larder::store::swapped::Swapped;
use larder::store::{Config, Reader, Store};

const ENTRIES: usize = 100_000;

/// Distance between the keys of two successive operations: a prime, so that all keys come round, far enough apart that
/// neighbours in load order are not neighbours in time.
const STRIDE: usize = 48_271;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Lengths of the article's translations, more or less: keys of about 35 bytes, values of 20 to 200.
fn pairs() -> Pairs {
    let key = |at: usize| format!("rider.checkout.button{at}.title-pt-BR").into_bytes();
    (0..ENTRIES).map(|at| (key(at), vec![b'a' + (at % 26) as u8; 20 + at * 7 % 180])).collect()
}

fn config() -> Config {
    Config { seed: 1, ..Config::default() }
}

/// Keys in the order of the operations.
struct Keys<'a> {
    pairs: &'a Pairs,
    at: usize,
}

impl<'a> Keys<'a> {
    fn next(&mut self) -> &'a [u8] {
        self.at = (self.at + STRIDE) % ENTRIES;
        &self.pairs[self.at].0
    }
}

fn bench_gets<S: Store>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, store: &S, pairs: &Pairs) {
    let (mut keys, mut reader) = (Keys { pairs, at: 0 }, store.reader());
    // Both ends of the value are looked at: a user reads what was asked for.
    let ends = |value: &[u8]| (value.first().copied(), value.last().copied());
    group.bench_function(name, |bencher| bencher.iter(|| black_box(reader.get(keys.next(), ends))));
}

struct Gets<'a, 'm>(&'a mut BenchmarkGroup<'m, WallTime>, &'a Pairs);

impl Visitor for Gets<'_, '_> {
    type Output = ();

    fn visit<S: Store>(self, row: &'static Row) {
        let store = S::load(&mut Slice::new(self.1), &config()).expect("pairs in memory load");
        bench_gets(self.0, row.name, &store, self.1);
    }
}

struct GetsSwapped<'a, 'm>(&'a mut BenchmarkGroup<'m, WallTime>, &'a Pairs);

impl Visitor for GetsSwapped<'_, '_> {
    type Output = ();

    fn visit<S: Store>(self, row: &'static Row) {
        let store = Swapped::<S>::load(&mut Slice::new(self.1), &config()).expect("pairs in memory load");
        bench_gets(self.0, row.name, &store, self.1);
    }
}

struct Puts<'a, 'm>(&'a mut BenchmarkGroup<'m, WallTime>, &'a Pairs);

impl Visitor for Puts<'_, '_> {
    type Output = ();

    fn visit<S: Store>(self, row: &'static Row) {
        let store = S::load(&mut Slice::new(self.1), &config()).expect("pairs in memory load");
        let Some(updates) = store.updates() else { return };
        let mut keys = Keys { pairs: self.1, at: 0 };
        let value = [7; 100];
        self.0.bench_function(row.name, |bencher| bencher.iter(|| updates.put(keys.next(), black_box(&value))));
    }
}

/// The visible rows, and the slow one: how far apart are it and the flat-map that it is made of?
fn rows() -> impl Iterator<Item = &'static Row> {
    registry::rows().iter().filter(|row| !row.is_hidden() || row.name == "bad-slow")
}

fn stores(criterion: &mut Criterion) {
    let pairs = pairs();
    let mut group = criterion.benchmark_group("get");
    for row in rows() {
        registry::visit(row.name, Gets(&mut group, &pairs));
    }
    group.finish();
    let mut group = criterion.benchmark_group("get through Swapped");
    for row in rows() {
        registry::visit(row.name, GetsSwapped(&mut group, &pairs));
    }
    group.finish();
    let mut group = criterion.benchmark_group("put");
    for row in rows() {
        registry::visit(row.name, Puts(&mut group, &pairs));
    }
    group.finish();
}

criterion_group!(benches, stores);
criterion_main!(benches);
