//! The measurer measured: planted blocks, bytes and peaks must be found, in a process of each allocator.
//!
//! The allocator is chosen by the environment when a process starts, so every test runs itself again in a child.

use std::alloc::{GlobalAlloc, Layout};
use std::hint::black_box;
use std::process::Command;

use larder::measure::alloc::{self, Allocator, Dispatch};
use larder::measure::memory;

#[global_allocator]
static GLOBAL: Dispatch = Dispatch;

const CHILD: &str = "LARDER_TEST_CHILD";
const REAL: [Allocator; 3] = [Allocator::System, Allocator::Jemalloc, Allocator::Mimalloc];

/// Runs `body` in a child of this test for each allocator, counting.
fn in_children(test: &str, allocators: &[Allocator], body: fn()) {
    if std::env::var_os(CHILD).is_some() {
        return body();
    }
    for &allocator in allocators {
        let (set, remove) = alloc::child_environment(allocator, true);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
        remove.iter().for_each(|name| {
            command.env_remove(name);
        });
        let output = command.envs(set).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{allocator:?}: {said}");
    }
}

#[test]
fn planted_blocks_are_counted_to_the_block_and_byte() {
    in_children("planted_blocks_are_counted_to_the_block_and_byte", &REAL, || {
        let mut kept: Vec<Box<[u8]>> = Vec::with_capacity(1000);
        let before = alloc::counters();
        for size in 1..=1000 {
            kept.push(vec![1u8; size].into_boxed_slice());
        }
        let planted = alloc::counters();
        assert_eq!(planted.live_blocks - before.live_blocks, 1000);
        assert_eq!(planted.live_requested - before.live_requested, 500_500);
        assert_eq!(planted.total_allocations - before.total_allocations, 1000);
        let usable = planted.live_usable - before.live_usable;
        assert!((500_500..650_000).contains(&usable), "{usable} usable bytes");
        kept.clear();
        let after = alloc::counters();
        assert_eq!((after.live_blocks, after.live_requested), (before.live_blocks, before.live_requested));
        assert_eq!(after.live_usable, before.live_usable);
    });
}

#[test]
fn zeroed_aligned_grown_and_shrunk_blocks_are_counted() {
    in_children("zeroed_aligned_grown_and_shrunk_blocks_are_counted", &REAL, || {
        let before = alloc::counters();
        for align in [1, 64, 4096] {
            let layout = Layout::from_size_align(1000, align).unwrap();
            // SAFETY: the layout has a size; every block is freed with the layout that it has at that time.
            unsafe {
                let block = GLOBAL.alloc_zeroed(layout);
                assert_eq!(block.align_offset(align), 0);
                let grown = GLOBAL.realloc(block, layout, 50_000);
                assert_eq!(grown.align_offset(align), 0);
                assert_eq!(alloc::counters().live_requested - before.live_requested, 50_000);
                let layout = Layout::from_size_align(50_000, align).unwrap();
                let shrunk = GLOBAL.realloc(grown, layout, 10);
                assert_eq!(alloc::counters().live_requested - before.live_requested, 10);
                assert_eq!(alloc::counters().live_blocks - before.live_blocks, 1);
                GLOBAL.dealloc(shrunk, Layout::from_size_align(10, align).unwrap());
            }
        }
        let after = alloc::counters();
        assert_eq!((after.live_blocks, after.live_usable), (before.live_blocks, before.live_usable));
        assert_eq!(after.total_allocations - before.total_allocations, 9);
    });
}

#[test]
fn blocks_of_eighty_threads_freed_by_another_add_up() {
    in_children("blocks_of_eighty_threads_freed_by_another_add_up", &REAL, || {
        let mut handles = Vec::with_capacity(80);
        for number in 0..80usize {
            handles.push(std::thread::spawn(move || {
                let before = alloc::counters().live_blocks;
                let blocks: Vec<Box<[u8]>> = (0..100).map(|_| vec![7u8; number + 1].into_boxed_slice()).collect();
                black_box(before);
                blocks
            }));
        }
        let mut all: Vec<Vec<Box<[u8]>>> = Vec::with_capacity(80);
        all.extend(handles.into_iter().map(|handle| handle.join().unwrap()));
        let held = alloc::counters();
        let bytes: i64 = all.iter().flatten().map(|block| block.len() as i64).sum();
        let lists: i64 = all.iter().map(|list| (list.capacity() * size_of::<Box<[u8]>>()) as i64).sum();
        all.clear();
        let freed = alloc::counters();
        assert_eq!(held.live_blocks - freed.live_blocks, 80 * 101);
        assert_eq!(held.live_requested - freed.live_requested, bytes + lists);
    });
}

#[test]
fn a_planted_peak_is_found_and_gone_after_a_reset() {
    in_children("a_planted_peak_is_found_and_gone_after_a_reset", &REAL, || {
        const PLANTED: usize = 64 << 20;
        memory::reset_hwm().unwrap();
        alloc::reset_peak();
        let (resident, counted) = (memory::read().unwrap(), alloc::counters());
        drop(black_box(vec![1u8; PLANTED]));
        let (peak, counted_peak) = (memory::read().unwrap(), alloc::counters());
        let grown = (peak.hwm - resident.rss) as f64 / PLANTED as f64;
        assert!((0.98..1.02).contains(&grown), "VmHWM grew by {grown} of the planted bytes");
        let grown = (counted_peak.peak_requested - counted.live_requested) as f64 / PLANTED as f64;
        assert!((0.999..1.001).contains(&grown), "requested bytes rose by {grown} of the planted ones");
        alloc::purge();
        memory::reset_hwm().unwrap();
        alloc::reset_peak();
        let after = memory::read().unwrap();
        assert!(after.hwm < resident.rss + (PLANTED / 10) as u64, "the old peak is still there");
        assert!(alloc::counters().peak_requested < counted.live_requested + 1_000_000);
    });
}

#[test]
fn a_purge_gives_freed_memory_back() {
    in_children("a_purge_gives_freed_memory_back", &REAL, || {
        let start = memory::read().unwrap().rss;
        let mut blocks: Vec<Box<[u8]>> = (0..400_000).map(|_| vec![1u8; 200].into_boxed_slice()).collect();
        let full = memory::read().unwrap().rss - start;
        // A block at the end keeps the C library from shrinking its heap by itself.
        let last = blocks.pop();
        drop(blocks);
        alloc::purge();
        let left = memory::read().unwrap().rss.saturating_sub(start);
        assert!(full > 80_000_000, "{full}");
        assert!(left < full / 5, "{left} of {full} bytes are still resident");
        black_box(last);
    });
}

#[test]
fn jemalloc_answers_only_for_itself_and_agrees_with_the_counters() {
    in_children("jemalloc_answers_only_for_itself_and_agrees_with_the_counters", &REAL, || {
        let Some(before) = alloc::jemalloc_stats() else {
            return assert_ne!(alloc::active(), Allocator::Jemalloc);
        };
        assert_eq!(alloc::active(), Allocator::Jemalloc);
        let counted = alloc::counters();
        let blocks: Vec<Box<[u8]>> = (0..100_000).map(|_| vec![1u8; 100].into_boxed_slice()).collect();
        let grown = alloc::jemalloc_stats().unwrap().allocated - before.allocated;
        let usable = alloc::counters().live_usable - counted.live_usable;
        let off = grown as f64 / usable as f64 - 1.0;
        assert!(off.abs() < 0.02, "jemalloc says {grown}, counted {usable}");
        black_box(blocks);
    });
}

#[test]
fn nothing_is_counted_under_dhat() {
    in_children("nothing_is_counted_under_dhat", &[Allocator::Dhat], || {
        assert_eq!(alloc::active(), Allocator::Dhat);
        assert!(!alloc::counting());
        black_box(vec![1u8; 1000]);
        assert_eq!(alloc::counters(), alloc::Counters::default());
    });
}

#[test]
fn an_unknown_allocator_is_named_with_the_known_ones() {
    if std::env::var_os(CHILD).is_some() {
        let message = alloc::chosen().unwrap_err();
        assert!(message.contains("tcmalloc") && message.contains("mimalloc"), "{message}");
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "an_unknown_allocator_is_named_with_the_known_ones", "--nocapture"]);
    let output = command.env(CHILD, "1").env(alloc::ALLOCATOR_VARIABLE, "tcmalloc").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
