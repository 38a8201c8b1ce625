//! The hybrid store under other settings, as stores of their own: what an experiment compares. Knows nothing of experiments.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::clock::{Coarse, Counter, Manual, System};
use super::disk::Access;
use super::{Hybrid, HybridReader, Options, Scope, Statistics};
use crate::items::Items;
use crate::store::{Config, Footprint, Store, StoreError, Update};

/// Changes what the user left to choose.
pub trait Preset: Send + Sync + 'static {
    fn apply(options: &mut Options);
}

/// Declares a preset as an empty type: a name, and what it sets.
macro_rules! presets {
    ($($(#[$doc:meta])* $name:ident => |$options:ident| $set:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl Preset for $name {
            fn apply($options: &mut Options) {
                $set;
            }
        }
    )*};
}

presets! {
    /// Nothing resident: every get of a held key is a read from disk.
    MetadataOnly => |options| options.resident_items = 0;
    /// Reads out of a mapping of the file.
    Mmap => |options| options.access = Access::Mmap;
    /// A mapping, and nothing resident.
    MmapMetadataOnly => |options| {
        options.access = Access::Mmap;
        options.resident_items = 0;
    };
    /// Reads past the page cache.
    Direct => |options| options.access = Access::Direct;
    /// One list of use for all shards, in the exact order of use.
    Exact => |options| options.scope = Scope::ExactGlobal;
    /// A list of use for each shard.
    Sharded => |options| options.scope = Scope::PerShard;
    /// A refresh starts with nothing resident.
    NoPreload => |options| options.preload_window = Duration::ZERO;
    /// Every get reads the time through the standard library.
    SystemClock => |options| options.clock = Some(Arc::new(System::start()));
    /// Every get reads the processor's counter.
    CounterClock => |options| options.clock = Some(Arc::new(Counter::start()));
    /// Every get reads the system's coarse clock.
    CoarseClock => |options| options.clock = Some(Arc::new(Coarse));
    /// No get reads the time: the clock stands, so that the list of use never changes.
    NoClock => |options| options.clock = Some(Arc::new(Manual::at(0)));
}

/// A [`Hybrid`] with the settings of `P`. A clock that the configuration brings stays, whatever `P` says of it.
pub struct With<P> {
    store: Hybrid,
    preset: PhantomData<P>,
}

impl<P: Preset> With<P> {
    fn config(config: &Config) -> Config {
        let mut config = config.clone();
        let clock = config.hybrid.clock.take();
        P::apply(&mut config.hybrid);
        config.hybrid.clock = clock.or(config.hybrid.clock);
        config
    }

    fn of(store: Hybrid) -> Self {
        Self { store, preset: PhantomData }
    }
}

impl<P: Preset> Store for With<P> {
    type Reader<'a> = HybridReader<'a>;

    const TAKES_UPDATES: bool = Hybrid::TAKES_UPDATES;
    const HAS_TIER: bool = Hybrid::HAS_TIER;

    fn load(items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        Hybrid::load(items, &Self::config(config)).map(Self::of)
    }

    fn load_successor(&self, items: &mut dyn Items, config: &Config) -> Result<Self, StoreError> {
        self.store.load_successor(items, &Self::config(config)).map(Self::of)
    }

    fn reader(&self) -> HybridReader<'_> {
        self.store.reader()
    }

    fn entries(&self) -> u64 {
        self.store.entries()
    }

    fn footprint(&self) -> Footprint {
        self.store.footprint()
    }

    fn check(&self) -> Result<(), StoreError> {
        self.store.check()
    }

    fn updates(&self) -> Option<&dyn Update> {
        self.store.updates()
    }

    fn statistics(&self) -> Option<Statistics> {
        Store::statistics(&self.store)
    }
}
