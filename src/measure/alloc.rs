//! One global allocator that hands every call to the allocator chosen for this process, and counts where asked to.
//!
//! The choice is made once, from the environment, on the first allocation: before `main`, and without allocating. Counting is a second
//! choice of the same kind, so that a process that is timed pays one predictable branch for it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

use mimalloc::MiMalloc;
use serde::{Deserialize, Serialize};
use tikv_jemallocator::Jemalloc;

/// Which allocator serves the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Allocator {
    /// The C library's malloc.
    System,
    Jemalloc,
    Mimalloc,
    /// dhat's profiler over the C library's malloc; leaves a heap profile and measures nothing else.
    Dhat,
}

impl Allocator {
    pub const ALL: [Self; 4] = [Self::System, Self::Jemalloc, Self::Mimalloc, Self::Dhat];

    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Jemalloc => "jemalloc",
            Self::Mimalloc => "mimalloc",
            Self::Dhat => "dhat",
        }
    }
}

/// Names the allocator of a process: one of [`Allocator::name`].
pub const ALLOCATOR_VARIABLE: &str = "LARDER_ALLOCATOR";
/// `1` switches counting on.
pub const COUNT_VARIABLE: &str = "LARDER_COUNT";

/// jemalloc returns freed pages at once: with its default decay, fresh processes differ by about a tenth.
const JEMALLOC_SETTINGS: &str = "dirty_decay_ms:0,muzzy_decay_ms:0";
/// jemalloc of this build is prefixed, and so is its variable.
const JEMALLOC_VARIABLE: &str = "_RJEM_MALLOC_CONF";
/// Variables that change an allocator behind our back.
const MEDDLING: [&str; 2] = ["MALLOC_", "MIMALLOC_"];
const MEDDLING_WHOLE: [&str; 2] = ["GLIBC_TUNABLES", "LD_PRELOAD"];

/// What the first allocation decided; the lowest bits are the allocator, [`COUNTING`] and [`UNKNOWN`] are flags.
static CHOICE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0xff;
const COUNTING: u8 = 0x10;
/// The variable names no allocator; the system's serves until `main` can complain.
const UNKNOWN: u8 = 0x20;
const WHICH: u8 = 0x0f;

#[inline(always)]
fn choice() -> u8 {
    let choice = CHOICE.load(Relaxed);
    if choice == UNDECIDED { decide() } else { choice }
}

/// Every thread that gets here decides alike: the environment is not written to by this program.
#[cold]
fn decide() -> u8 {
    let named = variable(c"LARDER_ALLOCATOR");
    let index = Allocator::ALL.iter().position(|allocator| named == Some(allocator.name().as_bytes()));
    let unknown = named.is_some_and(|name| !name.is_empty()) && index.is_none();
    let counts = variable(c"LARDER_COUNT") == Some(b"1") && index != Some(Allocator::Dhat as usize);
    let choice = index.unwrap_or(0) as u8 | if counts { COUNTING } else { 0 } | if unknown { UNKNOWN } else { 0 };
    CHOICE.store(choice, Relaxed);
    choice
}

/// `std::env::var` would allocate.
fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: `name` ends with a zero byte; the environment of this process is never changed, so the text stays.
    unsafe {
        let text = libc::getenv(name.as_ptr());
        (!text.is_null()).then(|| CStr::from_ptr(text).to_bytes())
    }
}

/// The allocator that serves this process.
pub fn active() -> Allocator {
    Allocator::ALL[usize::from(choice() & WHICH)]
}

/// The allocator that was asked for.
///
/// # Errors
/// The variable names none; the message lists those that there are.
pub fn chosen() -> Result<Allocator, String> {
    if choice() & UNKNOWN == 0 {
        return Ok(active());
    }
    let named = std::env::var_os(ALLOCATOR_VARIABLE).unwrap_or_default();
    Err(format!("{ALLOCATOR_VARIABLE}={}: use system, jemalloc, mimalloc or dhat", named.display()))
}

/// Whether allocations are counted in this process.
pub fn counting() -> bool {
    choice() & COUNTING != 0
}

/// Environment of a child: variables to set, and names to remove, so that nothing but the settings named here shapes its allocator.
pub fn child_environment(allocator: Allocator, count: bool) -> (Vec<(String, String)>, Vec<String>) {
    let mut set = vec![(ALLOCATOR_VARIABLE.to_owned(), allocator.name().to_owned())];
    set.push((COUNT_VARIABLE.to_owned(), u8::from(count).to_string()));
    if allocator == Allocator::Jemalloc {
        set.push((JEMALLOC_VARIABLE.to_owned(), JEMALLOC_SETTINGS.to_owned()));
    }
    let meddles = |name: &str| {
        MEDDLING.iter().any(|prefix| name.starts_with(prefix))
            || MEDDLING_WHOLE.contains(&name)
            || name == JEMALLOC_VARIABLE
    };
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    (set, names.filter(|name| meddles(name)).collect())
}

/// How an allocator is set up in a child, for the manifest.
pub fn settings(allocator: Allocator) -> String {
    match allocator {
        Allocator::System => "system: the C library's malloc, MALLOC_* and GLIBC_TUNABLES cleared".to_owned(),
        Allocator::Jemalloc => format!("jemalloc: {JEMALLOC_SETTINGS}, everything else its default"),
        Allocator::Mimalloc => "mimalloc: defaults, MIMALLOC_* cleared".to_owned(),
        Allocator::Dhat => "dhat: profiler over the C library's malloc; not a measurement of bytes or time".to_owned(),
    }
}

/// The dispatching allocator, to be declared `#[global_allocator]` by a program whose cells choose.
pub struct Dispatch;

// SAFETY: every call is handed on to one allocator, the same for the whole life of the process, with its arguments unchanged.
unsafe impl GlobalAlloc for Dispatch {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let choice = choice();
        let block = match choice & WHICH {
            0 => unsafe { System.alloc(layout) },
            1 => unsafe { Jemalloc.alloc(layout) },
            2 => unsafe { MiMalloc.alloc(layout) },
            _ => unsafe { dhat::Alloc.alloc(layout) },
        };
        if choice & COUNTING != 0 && !block.is_null() {
            count(1, layout.size() as i64, unsafe { usable(choice, block) }, 1);
        }
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let choice = choice();
        let block = match choice & WHICH {
            0 => unsafe { System.alloc_zeroed(layout) },
            1 => unsafe { Jemalloc.alloc_zeroed(layout) },
            2 => unsafe { MiMalloc.alloc_zeroed(layout) },
            _ => unsafe { dhat::Alloc.alloc_zeroed(layout) },
        };
        if choice & COUNTING != 0 && !block.is_null() {
            count(1, layout.size() as i64, unsafe { usable(choice, block) }, 1);
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let choice = choice();
        if choice & COUNTING != 0 {
            count(-1, -(layout.size() as i64), -unsafe { usable(choice, block) }, 0);
        }
        match choice & WHICH {
            0 => unsafe { System.dealloc(block, layout) },
            1 => unsafe { Jemalloc.dealloc(block, layout) },
            2 => unsafe { MiMalloc.dealloc(block, layout) },
            _ => unsafe { dhat::Alloc.dealloc(block, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let choice = choice();
        let before = if choice & COUNTING != 0 { unsafe { usable(choice, block) } } else { 0 };
        let moved = match choice & WHICH {
            0 => unsafe { System.realloc(block, layout, size) },
            1 => unsafe { Jemalloc.realloc(block, layout, size) },
            2 => unsafe { MiMalloc.realloc(block, layout, size) },
            _ => unsafe { dhat::Alloc.realloc(block, layout, size) },
        };
        if choice & COUNTING != 0 && !moved.is_null() {
            count(0, size as i64 - layout.size() as i64, unsafe { usable(choice, moved) } - before, 1);
        }
        moved
    }
}

/// Bytes that the allocator set aside for a block.
///
/// # Safety
/// `block` is live and came from the allocator of `choice`.
unsafe fn usable(choice: u8, block: *mut u8) -> i64 {
    let bytes = match choice & WHICH {
        1 => unsafe { tikv_jemallocator::usable_size(block) },
        2 => unsafe { libmimalloc_sys::mi_usable_size(block.cast()) },
        _ => unsafe { libc::malloc_usable_size(block.cast()) },
    };
    bytes as i64
}

/// What is allocated in this process, or has been.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub live_blocks: i64,
    /// Bytes asked for, in live blocks.
    pub live_requested: i64,
    /// Bytes set aside for live blocks.
    pub live_usable: i64,
    /// Calls that made, or grew or shrank, a block.
    pub total_allocations: u64,
    /// Highest `live_requested` since the last [`reset_peak`], exact to [`FLUSH`] bytes a thread.
    pub peak_requested: i64,
}

/// Threads with counters of their own; those beyond share the last ones, at the price of atomic additions.
const STRIPES: usize = 64;
/// A thread tells the peak of its changes once they add up to this many bytes.
pub const FLUSH: i64 = 64 * 1024;

/// One thread's counters on cache lines of their own. A block may be freed by another thread, so a stripe alone can be negative.
#[repr(align(128))]
struct Stripe {
    blocks: AtomicI64,
    requested: AtomicI64,
    usable: AtomicI64,
    allocations: AtomicU64,
    /// Requested bytes that [`LEVEL`] does not know of yet.
    unflushed: AtomicI64,
}

impl Stripe {
    const fn empty() -> Self {
        Self {
            blocks: AtomicI64::new(0),
            requested: AtomicI64::new(0),
            usable: AtomicI64::new(0),
            allocations: AtomicU64::new(0),
            unflushed: AtomicI64::new(0),
        }
    }
}

static STRIPE: [Stripe; STRIPES + 1] = [const { Stripe::empty() }; STRIPES + 1];
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// Live requested bytes as far as threads have told, and the highest value of it.
static LEVEL: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

thread_local! {
    // Neither lazy nor with a destructor: it can be used before `main` and while a thread ends.
    static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn stripe_number() -> usize {
    MINE.with(|mine| {
        if mine.get() == usize::MAX {
            let number = NEXT.fetch_add(1, Relaxed).min(STRIPES);
            mine.set(number);
        }
        mine.get()
    })
}

#[inline]
fn count(blocks: i64, requested: i64, usable: i64, allocations: u64) {
    let number = stripe_number();
    let stripe = &STRIPE[number];
    if number < STRIPES {
        // Only this thread writes here: a plain addition, visible to readers of other threads.
        stripe.blocks.store(stripe.blocks.load(Relaxed) + blocks, Relaxed);
        stripe.requested.store(stripe.requested.load(Relaxed) + requested, Relaxed);
        stripe.usable.store(stripe.usable.load(Relaxed) + usable, Relaxed);
        stripe.allocations.store(stripe.allocations.load(Relaxed) + allocations, Relaxed);
        let unflushed = stripe.unflushed.load(Relaxed) + requested;
        if unflushed.abs() < FLUSH {
            stripe.unflushed.store(unflushed, Relaxed);
        } else {
            stripe.unflushed.store(0, Relaxed);
            raise(unflushed);
        }
    } else {
        stripe.blocks.fetch_add(blocks, Relaxed);
        stripe.requested.fetch_add(requested, Relaxed);
        stripe.usable.fetch_add(usable, Relaxed);
        stripe.allocations.fetch_add(allocations, Relaxed);
        raise(requested);
    }
}

fn raise(change: i64) {
    let level = LEVEL.fetch_add(change, Relaxed) + change;
    if change > 0 {
        PEAK.fetch_max(level, Relaxed);
    }
}

/// The counters now: exact while no other thread allocates. All zero where nothing is counted.
pub fn counters() -> Counters {
    let mut total = Counters::default();
    for stripe in &STRIPE {
        total.live_blocks += stripe.blocks.load(Relaxed);
        total.live_requested += stripe.requested.load(Relaxed);
        total.live_usable += stripe.usable.load(Relaxed);
        total.total_allocations += stripe.allocations.load(Relaxed);
    }
    total.peak_requested = PEAK.load(Relaxed).max(total.live_requested);
    total
}

/// Makes the peak start again from what is live now.
pub fn reset_peak() {
    PEAK.store(counters_live(), Relaxed);
}

fn counters_live() -> i64 {
    STRIPE.iter().map(|stripe| stripe.requested.load(Relaxed)).sum()
}

/// jemalloc's own statistics, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JemallocStats {
    pub allocated: u64,
    pub active: u64,
    pub resident: u64,
    pub retained: u64,
}

/// `None` unless jemalloc serves this process: it would answer for an empty heap, without any error.
pub fn jemalloc_stats() -> Option<JemallocStats> {
    use tikv_jemalloc_ctl::{epoch, stats};
    if active() != Allocator::Jemalloc {
        return None;
    }
    epoch::advance().ok()?;
    Some(JemallocStats {
        allocated: stats::allocated::read().ok()? as u64,
        active: stats::active::read().ok()? as u64,
        resident: stats::resident::read().ok()? as u64,
        retained: stats::retained::read().ok()? as u64,
    })
}

/// Asks the active allocator to return to the system what it holds free.
pub fn purge() {
    match active() {
        Allocator::System | Allocator::Dhat => {
            // SAFETY: no preconditions.
            unsafe { libc::malloc_trim(0) };
        }
        Allocator::Jemalloc => {
            // Blocks that a thread keeps for its next allocations hold on to their whole slabs: the calling thread's go first.
            jemalloc_command(c"thread.tcache.flush");
            // 4096 stands for all arenas (MALLCTL_ARENAS_ALL).
            jemalloc_command(c"arena.4096.purge");
        }
        // SAFETY: no preconditions.
        Allocator::Mimalloc => unsafe { libmimalloc_sys::mi_collect(true) },
    }
}

/// A command of jemalloc that takes and returns nothing. (`tikv_jemalloc_ctl::raw` always passes a value, which such commands refuse.)
fn jemalloc_command(name: &CStr) {
    let nothing = std::ptr::null_mut();
    // SAFETY: the name ends with a zero byte, and no value is read or written.
    let code = unsafe { tikv_jemalloc_sys::mallctl(name.as_ptr(), nothing, nothing.cast(), nothing, 0) };
    debug_assert_eq!(code, 0, "jemalloc refused {name:?}");
}
