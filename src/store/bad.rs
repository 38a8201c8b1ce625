//! Bad actors: stores that break one promise each, so that every check of the harness can be seen to fail.
//!
//! All but one are a `flat-map` with one [`Vice`]. Vices are planted in exact amounts: what a check should find is known.

use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crate::items::{Item, Items, Slice, SourceError};
use crate::store::flat_map::{FlatMap, FlatMapReader};
use crate::store::null::NullReader;
use crate::store::{Config, Footprint, Reader, Store, StoreError, Update};

/// The liar and the loser spoil the first item of a load, and every item this far behind the one before.
pub const SPOILED_EVERY: u64 = 1000;

/// Blocks that the leaker leaves behind, and the bytes of each.
pub const LEAKED_BLOCKS: u64 = 100;
pub const LEAKED_BLOCK_BYTES: u64 = 64;

/// Gets that the panicker answers before it panics.
pub const GETS_BEFORE_PANIC: u64 = 1000;

/// The slow one looks up twice in one get of this many. The second lookup goes to a copy of the map, because the same lookup
/// repeated would find everything in the processor's caches and cost next to nothing. With its bookkeeping, and because the
/// copy is read less often and so is colder, one in eight made gets slower by 16-28% in CPU time (1,000 to 500,000
/// entries, six runs, median 21%); one in five made it 31-35%.
pub const TWICE_EVERY: u64 = 8;

/// Bytes of the double's one block for each item.
pub const DOUBLE_BYTES_PER_ENTRY: u64 = 1024;

/// The eater takes this much at a time, and pauses in between so that a watcher can act before the machine is full.
const MOUTHFUL_BYTES: usize = 16 << 20;
const PAUSE: Duration = Duration::from_millis(10);

/// No page is smaller; a byte written every so often makes a block resident.
const PAGE_BYTES: usize = 4096;

/// A `flat-map` with one fault.
pub struct Bad<V: Vice> {
    store: FlatMap,
    /// The same contents once more, for a vice that looks up twice.
    copy: Option<FlatMap>,
    /// Gets of all readers; counted only by a vice that asks for it.
    gets: AtomicU64,
    vice: PhantomData<V>,
}

/// What is wrong with a store. Whatever a vice leaves alone works.
pub trait Vice: Send + Sync + 'static {
    /// Whether the contents are held twice.
    const KEEPS_COPY: bool = false;

    /// What becomes of the item at this place of the load; `value` may be changed. `false` loses the item.
    fn keeps(_place: u64, _value: &mut Vec<u8>) -> bool {
        true
    }

    /// Runs in a load after the last item.
    fn after_load() {}

    /// Runs in each get, with the number of this reader's gets before it.
    fn before_get(_bad: &Bad<Self>, _gets: u64, _key: &[u8])
    where
        Self: Sized,
    {
    }

    fn at_drop() {}
}

/// Returns a wrong value for one key in [`SPOILED_EVERY`].
pub struct Liar;

impl Vice for Liar {
    fn keeps(place: u64, value: &mut Vec<u8>) -> bool {
        if place.is_multiple_of(SPOILED_EVERY) {
            match value.first_mut() {
                Some(byte) => *byte ^= 1,
                None => value.push(b'!'),
            }
        }
        true
    }
}

/// Does not find one key in [`SPOILED_EVERY`].
pub struct Loser;

impl Vice for Loser {
    fn keeps(place: u64, _value: &mut Vec<u8>) -> bool {
        !place.is_multiple_of(SPOILED_EVERY)
    }
}

/// Leaves [`LEAKED_BLOCKS`] blocks behind when it is dropped.
pub struct Leaker;

impl Vice for Leaker {
    fn at_drop() {
        for _ in 0..LEAKED_BLOCKS {
            black_box(Box::leak(Box::new([0_u8; LEAKED_BLOCK_BYTES as usize])));
        }
    }
}

/// Panics in a get after [`GETS_BEFORE_PANIC`] gets.
pub struct Panicker;

impl Vice for Panicker {
    fn before_get(bad: &Bad<Self>, _gets: u64, _key: &[u8]) {
        let gets = bad.gets.fetch_add(1, Relaxed);
        assert!(gets < GETS_BEFORE_PANIC, "bad-panicker panics, as planted, after {GETS_BEFORE_PANIC} gets");
    }
}

/// Never returns from its load.
pub struct Hanger;

impl Vice for Hanger {
    fn after_load() {
        loop {
            thread::park();
        }
    }
}

/// Takes memory without end in its load, and touches it.
pub struct Eater;

impl Vice for Eater {
    fn after_load() {
        let mut eaten = Vec::new();
        loop {
            eaten.push(touched(MOUTHFUL_BYTES));
            thread::sleep(PAUSE);
        }
    }
}

/// Looks up twice in every get whose number is a multiple of [`TWICE_EVERY`].
pub struct Slow;

impl Vice for Slow {
    const KEEPS_COPY: bool = true;

    #[inline]
    fn before_get(bad: &Bad<Self>, gets: u64, key: &[u8]) {
        if gets.is_multiple_of(TWICE_EVERY)
            && let Some(copy) = &bad.copy
        {
            // The value is looked at so that the planted lookup goes as far as the real one.
            let ends = copy.reader().get(key, |value| (value.first().copied(), value.last().copied()));
            black_box(ends.ok());
        }
    }
}

impl<V: Vice> Store for Bad<V> {
    type Reader<'a> = BadReader<'a, V>;

    const TAKES_UPDATES: bool = true;

    fn load(items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        let copy = FlatMap::load(&mut Slice::<&[u8], &[u8]>::new(&[]), config)?;
        let store = FlatMap::load(&mut Spoiled::<V>::new(items, &copy), config)?;
        V::after_load();
        Ok(Self { store, copy: V::KEEPS_COPY.then_some(copy), gets: AtomicU64::new(0), vice: PhantomData })
    }

    fn reader(&self) -> BadReader<'_, V> {
        BadReader { bad: self, reader: self.store.reader(), gets: 0 }
    }

    fn entries(&self) -> u64 {
        self.store.entries()
    }

    fn footprint(&self) -> Footprint {
        let copy = self.copy.as_ref().map_or(0, |copy| copy.footprint().heap());
        Footprint { resident: copy, ..self.store.footprint() }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.store.check()
    }

    fn updates(&self) -> Option<&dyn Update> {
        self.store.updates()
    }
}

impl<V: Vice> Drop for Bad<V> {
    fn drop(&mut self) {
        V::at_drop();
    }
}

pub struct BadReader<'a, V: Vice> {
    bad: &'a Bad<V>,
    reader: FlatMapReader<'a>,
    gets: u64,
}

impl<V: Vice> Reader for BadReader<'_, V> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        V::before_get(self.bad, self.gets, key);
        self.gets += 1;
        self.reader.get(key, visit)
    }
}

/// A source's items, as a vice lets them through.
struct Spoiled<'a, V> {
    items: &'a mut dyn Items,
    copy: &'a FlatMap,
    place: u64,
    key: Vec<u8>,
    value: Vec<u8>,
    vice: PhantomData<V>,
}

impl<'a, V: Vice> Spoiled<'a, V> {
    fn new(items: &'a mut dyn Items, copy: &'a FlatMap) -> Self {
        Self { items, copy, place: 0, key: Vec::new(), value: Vec::new(), vice: PhantomData }
    }
}

impl<V: Vice> Items for Spoiled<'_, V> {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        loop {
            let Some(item) = self.items.next_item()? else { return Ok(None) };
            self.key.clear();
            self.key.extend_from_slice(item.key);
            self.value.clear();
            self.value.extend_from_slice(item.value);
            let kept = V::keeps(self.place, &mut self.value);
            self.place += 1;
            if kept {
                break;
            }
        }
        if V::KEEPS_COPY {
            self.copy.set(&self.key, &self.value);
        }
        Ok(Some(Item { key: &self.key, value: &self.value }))
    }

    fn expected(&self) -> Option<u64> {
        self.items.expected()
    }
}

/// Holds one touched block of [`DOUBLE_BYTES_PER_ENTRY`] for each item, and answers as `null` does. Nothing else is on its
/// heap, so that a refresh which builds a second copy has a peak of exactly twice the steady state.
pub struct Double {
    items: u64,
    block: Vec<u8>,
}

impl Store for Double {
    type Reader<'a> = NullReader;

    fn load(items: &mut dyn Items, _config: &Config) -> Result<Self, StoreError> {
        let mut count = 0;
        while items.next_item()?.is_some() {
            count += 1;
        }
        Ok(Self { items: count, block: touched((count * DOUBLE_BYTES_PER_ENTRY) as usize) })
    }

    fn reader(&self) -> NullReader {
        NullReader
    }

    fn entries(&self) -> u64 {
        self.items
    }

    fn footprint(&self) -> Footprint {
        Footprint { values: self.block.capacity() as u64, ..Footprint::default() }
    }

    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A block of this size with every page resident. A zeroed block alone would be a promise of the system's.
fn touched(bytes: usize) -> Vec<u8> {
    let mut block = vec![0_u8; bytes];
    for page in block.chunks_mut(PAGE_BYTES) {
        page[0] = 1;
    }
    black_box(block)
}
