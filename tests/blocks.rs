//! Heap blocks and bytes of each store, counted to the block: what a design costs is an assertion here.
//!
//! The counters are the thread's own, so that tests may run side by side; each test builds and drops its stores on one
//! thread. What the process keeps for good (arc-swap's slot for the thread) is made before counting starts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use larder::items::{Item, Items, Slice, SourceError};
use larder::registry::{self, Row, Visitor};
use larder::store::bad::{Bad, DOUBLE_BYTES_PER_ENTRY, Double, LEAKED_BLOCK_BYTES, LEAKED_BLOCKS, Leaker};
use larder::store::flat_map::FlatMap;
use larder::store::hybrid::clock::Manual;
use larder::store::hybrid::preset::{MetadataOnly, With};
use larder::store::hybrid::{self, Hybrid};
use larder::store::null::Null;
use larder::store::packed::Packed;
use larder::store::swapped::{Swapped, prepare_thread};
use larder::store::sync_map::SyncMap;
use larder::store::{Config, Reader, Store, Update};

struct Counting;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Heap {
    blocks: i64,
    bytes: i64,
}

thread_local! {
    static HEAP: Cell<Heap> = const { Cell::new(Heap { blocks: 0, bytes: 0 }) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(blocks: i64, bytes: i64) {
    let heap = HEAP.get();
    HEAP.set(Heap { blocks: heap.blocks + blocks, bytes: heap.bytes + bytes });
    PEAK.set(PEAK.get().max(heap.bytes + bytes));
}

// SAFETY: every call is handed to the system's allocator unchanged; counting touches thread-locals that need neither
// memory nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-1, -(layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` left on the heap, with what it returns kept alive.
fn counted<T>(work: impl FnOnce() -> T) -> (T, Heap) {
    let before = HEAP.get();
    let made = work();
    let after = HEAP.get();
    (made, Heap { blocks: after.blocks - before.blocks, bytes: after.bytes - before.bytes })
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Keys of equal length and values of `value_bytes`, none of them empty: an empty string has no block.
fn pairs(count: usize, value_bytes: usize) -> Pairs {
    let key = |at: usize| format!("driver.screen.label-{at:05}-pt-BR").into_bytes();
    (0..count).map(|at| (key(at), vec![at as u8; value_bytes])).collect()
}

/// A clock without a thread: a thread frees what another allocated, and the counters are the thread's own.
fn config() -> Config {
    let hybrid = hybrid::Options { clock: Some(Arc::new(Manual::at(0))), ..hybrid::Options::default() };
    Config { seed: 7, hybrid, ..Config::default() }
}

fn load<S: Store>(pairs: &Pairs) -> S {
    S::load(&mut Slice::new(pairs), &config()).expect("nothing is wrong with the items")
}

/// Calls a generic function for every row that answers with what was loaded.
macro_rules! for_each_store {
    ($check:ident) => {{
        struct Each;
        impl Visitor for Each {
            type Output = ();
            fn visit<S: Store>(self, row: &'static Row) {
                eprintln!("checking {}", row.name);
                $check::<S>(row)
            }
        }
        for row in registry::rows().iter().filter(|row| !row.is_hidden() && row.answers()) {
            registry::visit(row.name, Each).expect("a row of the registry");
        }
    }};
}

/// Blocks per entry as a slope, so that tables and other fixed blocks drop out: they must be equally many at both sizes.
fn assert_blocks_per_entry<S: Store>(blocks: i64) {
    let (small, large) = (pairs(1000, 40), pairs(5000, 40));
    let (_small, few) = counted(|| load::<S>(&small));
    let (_large, many) = counted(|| load::<S>(&large));
    assert_eq!(many.blocks - few.blocks, 4000 * blocks);
}

#[test]
fn sync_map_has_six_blocks_per_entry() {
    assert_blocks_per_entry::<SyncMap>(6);
}

#[test]
fn flat_map_has_two_blocks_per_entry() {
    assert_blocks_per_entry::<FlatMap>(2);
}

#[test]
fn packed_has_one_block_per_entry() {
    assert_blocks_per_entry::<Packed>(1);
}

/// The article: about 15 bytes an entry with the map's own overhead.
#[test]
fn hybrid_without_copies_has_a_fixed_number_of_blocks_and_12_bytes_an_entry() {
    let fixed = counted(|| load::<With<MetadataOnly>>(&pairs(0, 0))).1;
    for count in [150_000, 300_000] {
        let pairs = pairs(count, 20);
        let (store, heap) = counted(|| load::<With<MetadataOnly>>(&pairs));
        // A table, a list of flights, a file and its maker's name for each shard.
        assert!(heap.blocks < 4 * 256 + 20, "{} blocks", heap.blocks);
        let index = store.footprint().index as f64 / count as f64;
        assert!((11.4..12.0).contains(&index), "{index} bytes of index an entry");
        let more = (heap.bytes - fixed.bytes) as f64 / count as f64;
        assert!(more < 12.0 + 256.0 * 200.0 / count as f64, "{more} bytes an entry beyond the empty store");
    }
}

#[test]
fn hybrid_keeps_one_block_for_each_copy() {
    let pairs = pairs(5_000, 150);
    let (without, with) = (load::<Hybrid>(&pairs), load::<Hybrid>(&pairs));
    let ((), heap) = counted(|| {
        for (key, value) in &pairs {
            assert_eq!(with.reader().get(key, |found| found == value).unwrap(), Some(true));
        }
    });
    assert_eq!(with.statistics().resident_items, 5_000);
    let tables = with.footprint().resident - without.footprint().resident;
    // The list of use, and two vectors of slots for each shard.
    assert!((5_000..5_000 + 3 * 256).contains(&heap.blocks), "{} blocks, {tables} bytes", heap.blocks);
}

#[test]
fn null_has_none() {
    let pairs = pairs(1000, 40);
    assert_eq!(counted(|| load::<Null>(&pairs)).1, Heap::default());
}

#[test]
fn the_footprint_is_what_the_allocator_handed_out() {
    fn check<S: Store>(row: &Row) {
        if row.has_tag("memory") || row.has_tag("hybrid") {
            let pairs = pairs(9000, 150);
            let (store, heap) = counted(|| load::<S>(&pairs));
            let account = store.footprint().heap() as i64;
            let unaccounted = heap.bytes - account;
            eprintln!("{}: {} of {} bytes not in the account", row.name, unaccounted, heap.bytes);
            let allowed = match row.name {
                "sync-map" => EPOCH_BYTES,
                name if name.starts_with("hybrid") => SHARED_BYTES,
                _ => 0,
            };
            assert!((0..=allowed).contains(&unaccounted), "{}: {account} of {}", row.name, heap.bytes);
        }
    }
    for_each_store!(check);
}

/// Bytes of what hybrid stores share and none of them accounts for: the clock, and the maker of files with its path.
const SHARED_BYTES: i64 = 200;

/// Bytes that sync-map may hold besides what it accounts for: its collector, one handle, and a bag or two on their way.
const EPOCH_BYTES: i64 = 10 << 10;

#[test]
fn what_sync_map_leaves_out_of_its_account_does_not_grow_with_its_entries() {
    for count in [0, 500, 9000, 40_000] {
        let pairs = pairs(count, 150);
        let (store, heap) = counted(|| load::<SyncMap>(&pairs));
        let unaccounted = heap.bytes - store.footprint().heap() as i64;
        assert!((0..=EPOCH_BYTES).contains(&unaccounted), "{unaccounted} bytes at {count} entries");
    }
}

#[test]
fn a_dropped_store_gives_back_every_block_and_byte() {
    fn check<S: Store>(row: &Row) {
        prepare_thread();
        let (pairs, other) = (pairs(3000, 40), pairs(2000, 60));
        let ((), left) = counted(|| {
            let store: Swapped<S> = load(&pairs);
            for _ in 0..3 {
                churn(&store, &other);
                store.refresh(&mut Slice::new(&pairs), &config()).unwrap();
            }
            churn(&store, &other);
        });
        assert_eq!(left, Heap::default(), "{}", row.name);
    }
    for_each_store!(check);
}

#[test]
fn keys_that_sync_map_forgets_in_a_promotion_are_freed_with_their_entries() {
    let pairs = pairs(1000, 40);
    let ((), left) = counted(|| {
        let store: SyncMap = load(&pairs);
        pairs.iter().for_each(|(key, _)| assert!(store.remove(key).unwrap()));
        store.put(b"new", b"begins a dirty map, which expunges the removed keys").unwrap();
        store.promote();
        assert_eq!((store.entries(), store.footprint().keys), (1, 3));
    });
    assert_eq!(left, Heap::default());
}

/// Replaces, removes, adds and reads, so that every way of getting rid of a block is gone.
fn churn<S: Store>(store: &S, pairs: &Pairs) {
    let mut reader = store.reader();
    let Some(updates) = store.updates() else { return };
    for (at, (key, value)) in pairs.iter().enumerate() {
        let new = [b"new.", &key[..]].concat();
        match at % 4 {
            0 => updates.put(key, value).unwrap(),
            1 => assert!(updates.remove(key).unwrap()),
            2 => updates.put(&new, value).unwrap(),
            _ => assert_eq!(reader.get(&new, <[u8]>::len).unwrap(), None),
        }
        if at % 16 == 14 {
            assert!(updates.remove(&new).unwrap());
        }
    }
}

#[test]
fn ten_times_putting_every_value_anew_does_not_grow_a_store() {
    fn check<S: Store>(row: &Row) {
        let pairs = pairs(5000, 150);
        let store: S = load(&pairs);
        let Some(updates) = store.updates() else { return };
        let ((), grown) = counted(|| {
            for _ in 0..10 {
                pairs.iter().for_each(|(key, value)| updates.put(key, value).unwrap());
            }
        });
        eprintln!("{}: {grown:?} after putting everything ten times", row.name);
        // Values on their way to being freed: sync-map's epochs hold back the bags of two epochs and those being filled,
        // at most eight bags of 64 values with their boxes. Putting everything once makes 78 bags.
        let allowed = if row.name == "sync-map" { 8 * 64 * (150 + 32) } else { 0 };
        assert!((0..=allowed).contains(&grown.bytes), "{}: {grown:?}", row.name);
    }
    for_each_store!(check);
}

/// Items that break off after some; what was built of them must not stay.
struct BreaksOff<'a>(Slice<'a, Vec<u8>, Vec<u8>>);

impl Items for BreaksOff<'_> {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        self.0.next_item()?.map(Some).ok_or_else(|| SourceError::new("broken off"))
    }
}

#[test]
fn a_load_that_fails_leaves_nothing_on_the_heap() {
    fn check<S: Store>(row: &Row) {
        let pairs = pairs(1000, 40);
        let (failed, left) = counted(|| S::load(&mut BreaksOff(Slice::new(&pairs)), &config()).is_err());
        assert_eq!((failed, left), (true, Heap::default()), "{}", row.name);
    }
    for_each_store!(check);
}

#[test]
fn the_leaker_leaves_what_it_is_there_to_leave() {
    let pairs = pairs(1000, 40);
    let ((), left) = counted(|| drop(load::<Bad<Leaker>>(&pairs)));
    let planted = (LEAKED_BLOCKS as i64, (LEAKED_BLOCKS * LEAKED_BLOCK_BYTES) as i64);
    assert_eq!((left.blocks, left.bytes), planted);
}

#[test]
fn a_refresh_of_the_double_has_a_peak_of_twice_its_one_block() {
    prepare_thread();
    let pairs = pairs(2000, 40);
    let before = HEAP.get().bytes;
    let (store, steady) = counted(|| load::<Swapped<Double>>(&pairs));
    let block = 2000 * DOUBLE_BYTES_PER_ENTRY as i64;
    assert_eq!(steady.blocks, 2, "the one block, and the one that counts the copy's users");
    PEAK.set(0);
    store.refresh(&mut Slice::new(&pairs), &config()).unwrap();
    let peak = PEAK.get() - before;
    assert!((2 * block..2 * block + 200).contains(&peak), "{peak} bytes at the peak, {block} in the block");
}
