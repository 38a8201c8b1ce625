//! Epoch handles, lent to threads. Knows nothing of what is reclaimed.
//!
//! crossbeam's process-wide collector would do, but it keeps garbage in thread-local bags that outlive the store and that
//! only their thread can empty: a store's blocks would come back at some later time, or never. So each store has a
//! collector of its own, and lends its handles from here. When the store is dropped all handles are here, and with the
//! collector goes the last of the garbage, at once.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crossbeam_epoch::{Collector, Guard, LocalHandle};
use parking_lot::Mutex;

/// Threads beyond this number share a stripe, and with it a lock that is held for a push or a pop.
const STRIPES: usize = 16;

/// Every flush moves the epoch on by one at most and frees eight bags; garbage is two epochs old before it is freed.
const FLUSHES: usize = 16;

pub struct Handles {
    // Dropped in this order: handles first, so that the collector is the last to know of the garbage.
    idle: [Stripe; STRIPES],
    collector: Collector,
}

/// Two cache lines wide (processors fetch lines in pairs), so that threads on different stripes don't disturb each other.
#[repr(align(128))]
#[derive(Default)]
struct Stripe(Mutex<Vec<Idle>>);

/// A handle that no thread is using.
struct Idle(LocalHandle);

// SAFETY: a handle is a pointer to a participant whose fields are cells, not thread-locals: it must be used by one
// thread at a time, not by one thread for ever. An idle handle has no guard (`pinned` drops its guard before it returns), and
// passes from thread to thread through a mutex, which orders their uses. What its bag holds is Send: values and slots.
unsafe impl Send for Idle {}

impl Default for Handles {
    fn default() -> Self {
        Self { idle: Default::default(), collector: Collector::new() }
    }
}

impl Handles {
    /// A handle for the calling thread. Allocates only when more are out than ever before.
    pub fn lend(&self) -> Handle<'_> {
        let stripe = &self.idle[stripe_of_thread()];
        let idle = stripe.0.lock().pop();
        let handle = idle.map_or_else(|| self.collector.register(), |idle| idle.0);
        Handle { stripe, handle: ManuallyDrop::new(handle) }
    }
}

/// A handle on loan; goes back when dropped.
pub struct Handle<'a> {
    stripe: &'a Stripe,
    handle: ManuallyDrop<LocalHandle>,
}

impl Handle<'_> {
    /// Runs `work` under a guard: what it loads is not freed before it returns. A closure, because a guard that outlived
    /// the loan would pin a handle that another thread has by then.
    #[inline]
    pub fn pinned<R>(&self, work: impl FnOnce(&Guard) -> R) -> R {
        work(&self.handle.pin())
    }

    /// Frees what was retired so far, as far as other threads let it.
    pub fn reclaim(&self) {
        for _ in 0..FLUSHES {
            self.pinned(Guard::flush);
        }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: `self.handle` is not used again; `self` is being dropped.
        let handle = unsafe { ManuallyDrop::take(&mut self.handle) };
        self.stripe.0.lock().push(Idle(handle));
    }
}

/// Threads are numbered as they come, so that the first [`STRIPES`] of them have a stripe each.
fn stripe_of_thread() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static STRIPE: Cell<Option<usize>> = const { Cell::new(None) });
    STRIPE.with(|stripe| {
        let number = stripe.get().unwrap_or_else(|| THREADS.fetch_add(1, Relaxed) % STRIPES);
        stripe.set(Some(number));
        number
    })
}
