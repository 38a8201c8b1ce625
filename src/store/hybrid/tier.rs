//! The resident tier: which entries have a copy in memory, and which copy goes when there is no room. Knows nothing of disks.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::clock::{Clock, Ticking};
use super::keys::SHARDS;
use super::lru::{Limits, Lru, Member};
use super::options::{Options, Scope};
use super::state::Slot;
use super::sync::Mutex;
use crate::store::StoreError;

pub(super) struct Tier {
    /// One, or one per shard.
    lists: Box<[Mutex<Lru>]>,
    /// Those of each list, which never change, to be seen without its lock.
    limits: Box<[Limits]>,
    scope: Scope,
    interval_ms: u64,
    pub clock: Arc<dyn Clock>,
}

impl fmt::Debug for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} with {} resident", self.scope, self.totals().0)
    }
}

impl Tier {
    pub fn new(options: &Options) -> Result<Self, StoreError> {
        let clock = match &options.clock {
            Some(clock) => clock.clone(),
            None => Arc::new(Ticking::start().map_err(|cause| StoreError::Io {
                doing: "starting the thread that keeps the clock".to_owned(),
                cause,
            })?),
        };
        let lists = match options.scope {
            Scope::PerShard => SHARDS,
            Scope::TimedGlobal | Scope::ExactGlobal => 1,
        };
        let bytes = options.resident_bytes.unwrap_or(u64::MAX);
        // What the division leaves over goes to the first lists, an entry each.
        let part = |list: usize| Limits {
            items: options.resident_items / lists + usize::from(list < options.resident_items % lists),
            bytes: bytes / lists as u64,
        };
        let limits: Box<[Limits]> = (0..lists).map(part).collect();
        Ok(Self {
            lists: limits.iter().map(|limits| Mutex::new(Lru::new(*limits))).collect(),
            limits,
            scope: options.scope,
            interval_ms: options.touch_interval.as_millis() as u64,
            clock,
        })
    }

    /// The list that a shard's entries stand in.
    pub fn list(&self, shard: u8) -> &Mutex<Lru> {
        &self.lists[usize::from(shard) % self.lists.len()]
    }

    /// Whether an entry of this size could stay in the list of this shard at all.
    pub fn has_room_for(&self, shard: u8, bytes: u64) -> bool {
        let limits = self.limits[usize::from(shard) % self.limits.len()];
        limits.items > 0 && bytes <= limits.bytes
    }

    /// Notes a use. Called under the shard's read lock; takes no other lock unless the entry is to move.
    #[inline]
    pub fn touch(&self, shard: u8, slot: &Slot) {
        let now = self.clock.now_ms();
        let last = slot.touched_ms.load(Relaxed);
        if self.scope == Scope::TimedGlobal {
            // Of the threads that see the interval over, one moves the entry.
            if now.saturating_sub(last) < self.interval_ms
                || slot.touched_ms.compare_exchange(last, now, Relaxed, Relaxed).is_err()
            {
                return;
            }
        } else if now != last {
            slot.touched_ms.store(now, Relaxed);
        }
        self.list(shard).lock().touch(slot.handle);
    }

    /// Entries that have a copy, and the bytes of their blocks.
    pub fn totals(&self) -> (u64, u64) {
        let total = |(items, bytes): (u64, u64), list: &Mutex<Lru>| {
            let list = list.lock();
            (items + list.items() as u64, bytes + list.bytes())
        };
        self.lists.iter().fold((0, 0), total)
    }

    /// Bytes of the lists themselves.
    pub fn allocation_size(&self) -> usize {
        size_of_val(&*self.lists)
            + size_of_val(&*self.limits)
            + self.lists.iter().map(|list| list.lock().allocation_size()).sum::<usize>()
    }

    /// The members of all lists, each list with the least recently used first.
    pub fn members(&self) -> Vec<Member> {
        self.lists.iter().flat_map(|list| list.lock().iter().collect::<Vec<_>>()).collect()
    }
}
