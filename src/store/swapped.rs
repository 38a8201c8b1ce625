//! `Swapped<S>`: makes any store refreshable. A second copy is built aside and published at once with one pointer swap.
//!
//! This is the refresh of a snapshot store: readers never wait and never see a mix, and for as long as both copies are
//! alive memory holds both. A reader takes the current copy for each get and gives it back, so an idle reader keeps no
//! old copy alive; the old copy is freed when the last get on it ends, or by the refresh itself when none is under way.

use std::alloc::Layout;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::items::Items;
use crate::store::hybrid::Statistics;
use crate::store::{Config, Footprint, Reader, Store, StoreError, Update};

/// See the module's documentation. A [`Store`] itself, so that whatever drives stores drives it too.
pub struct Swapped<S> {
    current: ArcSwap<S>,
    /// Held for the whole of a refresh: two at once would build three copies, and the slower would undo the newer.
    refreshing: Mutex<()>,
}

impl<S: Store> Swapped<S> {
    /// Serves what is already built.
    pub fn new(store: S) -> Self {
        Self { current: ArcSwap::from_pointee(store), refreshing: Mutex::new(()) }
    }

    /// Replaces the whole contents. Readers go on meanwhile with the old contents; a refresh that is under way is waited
    /// for. Updates made to the old contents while the new ones are built go with them.
    ///
    /// # Errors
    /// As [`Store::load_successor`]; the old contents then go on being served.
    pub fn refresh(&self, items: &mut dyn Items, config: &Config) -> Result<(), StoreError> {
        let _one_at_a_time = self.refreshing.lock();
        let successor = self.current.load().load_successor(items, config)?;
        self.current.store(Arc::new(successor));
        Ok(())
    }

    /// The copy that is served now. Holding it keeps it alive through refreshes.
    pub fn current(&self) -> Arc<S> {
        self.current.load_full()
    }
}

/// Bytes of a block that holds an `S` behind two reference counts.
fn counted_block<S>() -> u64 {
    let counts = Layout::new::<[usize; 2]>();
    counts.extend(Layout::new::<S>()).map_or(0, |(block, _)| block.pad_to_align().size() as u64)
}

/// Makes the calling thread's slot in arc-swap's process-wide list, a block that lives until the process ends. A caller
/// that counts blocks calls it before its baseline.
pub fn prepare_thread() {
    drop(ArcSwap::from_pointee(()).load());
}

impl<S: Store> Store for Swapped<S> {
    type Reader<'a> = SwappedReader<'a, S>;

    const TAKES_UPDATES: bool = S::TAKES_UPDATES;

    fn load(items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        S::load(items, config).map(Self::new)
    }

    fn load_successor(&self, items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        self.current.load().load_successor(items, config).map(Self::new)
    }

    fn reader(&self) -> SwappedReader<'_, S> {
        SwappedReader { current: &self.current }
    }

    fn entries(&self) -> u64 {
        self.current.load().entries()
    }

    /// That of the current copy, and the block that holds the copy with its two reference counts.
    fn footprint(&self) -> Footprint {
        let mut footprint = self.current.load().footprint();
        footprint.overhead += counted_block::<S>();
        footprint
    }

    fn check(&self) -> Result<(), StoreError> {
        self.current.load().check()
    }

    fn updates(&self) -> Option<&dyn Update> {
        S::TAKES_UPDATES.then_some(self)
    }

    fn counted(&self) -> Option<Statistics> {
        self.current.load().counted()
    }
}

/// An update goes to the copy that is current when it starts. One that overlaps the publication of a refresh counts as
/// made before it, and is replaced with the rest of the old contents.
impl<S: Store> Update for Swapped<S> {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        updates(&**self.current.load())?.put(key, value)
    }

    fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        updates(&**self.current.load())?.remove(key)
    }
}

/// The updates of a store that says it takes them.
fn updates<S: Store>(store: &S) -> Result<&dyn Update, StoreError> {
    store
        .updates()
        .ok_or_else(|| StoreError::Damaged("the store says that it takes updates, and takes none".to_owned()))
}

/// Takes the current copy for each get.
pub struct SwappedReader<'a, S> {
    current: &'a ArcSwap<S>,
}

impl<S: Store> Reader for SwappedReader<'_, S> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        self.current.load().reader().get(key, visit)
    }
}
