//! What a get of something cold costs: gets all over the data, beside bare reads of the same keys' and values' bytes from as many files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::emit::Emitter;
use super::memory::{self, load, source};
use super::spec::Spec;
use super::tier::Tier;
use super::time::touch;
use super::verify;
use crate::items::Items;
use crate::measure::clock::{self, Clock};
use crate::record::Phase;
use crate::registry::{Row, Visitor};
use crate::stats;
use crate::store::{Reader, Store};
use crate::workload::keys::KeySet;
use crate::workload::requests::{Batch, Requests};

/// Gets, or reads, between two clock readings. The two kinds take turns, so that what disturbs the machine disturbs both.
const BATCH: usize = 256;

pub struct Miss<'a> {
    pub spec: &'a Spec,
    pub emitter: &'a mut Emitter,
}

impl Visitor for Miss<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self, row: &'static Row) -> Result<()> {
        let Miss { spec, emitter } = self;
        let keys = memory::keys(spec)?;
        let bare = Bare::write(spec)?;
        let store: S = load(spec)?;
        // What was just written is on its way to the disk; it is waited for, so that it does not take time from the reads.
        sync();
        let before = Tier::of(&store);
        let turns = take_turns(&store, &keys, &bare, spec)?;
        let after = Tier::of(&store);
        let answers = verify::sample(&store, row, &keys, spec.seed)?;

        turns.emit(emitter);
        after.emit_hit_ratio(&before, emitter);
        if let (Some(before), Some(after)) = (before.0, after.0) {
            let read = (after.bytes_read - before.bytes_read) as f64 / (after.reads - before.reads).max(1) as f64;
            emitter.row(Phase::Read, "bytes_read_per_miss", read);
        }
        answers.emit(emitter);
        Ok(())
    }
}

fn sync() {
    // SAFETY: takes nothing, returns nothing.
    unsafe { libc::sync() };
}

/// As many files as hybrid has, so that the system's work for a read is the same.
const FILES: usize = 256;

/// Keys and values of the data in files without names, dealt out in turn and one behind the other.
struct Bare {
    files: Vec<File>,
    /// Where each item begins in its file, and where it ends.
    places: Vec<(u64, u64)>,
}

impl Bare {
    fn write(spec: &Spec) -> Result<Self> {
        let directory = spec.scratch();
        let failed = || format!("a file in {}", directory.display());
        let new = |_| tempfile::tempfile_in(&directory);
        let files = (0..FILES).map(new).collect::<std::io::Result<Vec<File>>>().with_context(failed)?;
        let mut outs: Vec<_> = files.iter().map(BufWriter::new).collect();
        let (mut places, mut ends) = (Vec::new(), [0; FILES]);
        let mut items = source(spec)?;
        while let Some(item) = items.next_item().context("data")? {
            let file = places.len() % FILES;
            outs[file].write_all(item.key).and_then(|()| outs[file].write_all(item.value)).with_context(failed)?;
            let start = ends[file];
            ends[file] += (item.key.len() + item.value.len()) as u64;
            places.push((start, ends[file]));
        }
        outs.iter_mut().try_for_each(BufWriter::flush).with_context(failed)?;
        drop(outs);
        Ok(Self { files, places })
    }

    fn read<'b>(&self, number: usize, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        let (start, end) = self.places[number];
        buffer.resize((end - start) as usize, 0);
        self.files[number % FILES].read_exact_at(buffer, start).context("reading a bare file")?;
        Ok(buffer)
    }
}

/// Nanoseconds of one get, and of one bare read, by batch: wall time, and the thread's CPU time.
#[derive(Default)]
struct Turns {
    get_ns: Vec<f64>,
    get_cpu_ns: Vec<f64>,
    bare_ns: Vec<f64>,
    bare_cpu_ns: Vec<f64>,
}

impl Turns {
    fn emit(&self, emitter: &mut Emitter) {
        let median = |samples: &[f64]| stats::median(samples).unwrap_or(f64::NAN);
        emitter.row(Phase::Read, "miss_ns", median(&self.get_ns));
        emitter.row(Phase::Read, "miss_cpu_ns", median(&self.get_cpu_ns));
        emitter.row(Phase::Read, "bare_read_ns", median(&self.bare_ns));
        emitter.row(Phase::Read, "miss_over_bare_read", median(&self.get_ns) / median(&self.bare_ns));
        let cpu = median(&self.get_cpu_ns) / median(&self.bare_cpu_ns);
        emitter.row(Phase::Read, "miss_over_bare_read_cpu", cpu);
    }
}

fn take_turns<S: Store>(store: &S, keys: &KeySet, bare: &Bare, spec: &Spec) -> Result<Turns> {
    let clock = Clock::new();
    let mut rng = StdRng::seed_from_u64(spec.seed ^ u64::from(spec.round) << 32);
    // All keys alike: popularity would make hits of some.
    let mut requests = Requests::new(keys, 0.0, spec.seed, spec.seed ^ u64::from(spec.round) << 32)?;
    let mut batch = Batch::default();
    let (mut turns, mut buffer, mut seen) = (Turns::default(), Vec::new(), 0u64);
    let start = clock.raw();
    while clock.nanos(start, clock.raw()) < spec.read_ms * 1_000_000 {
        requests.fill(&mut batch, BATCH);
        let mut reader = store.reader();
        let (cpu, from) = (clock::thread_cpu_ns(), clock.raw());
        for key in batch.iter() {
            seen = seen.wrapping_add(reader.get(key, touch)?.unwrap_or(1));
        }
        turns.get_ns.push(clock.nanos(from, clock.raw()) as f64 / BATCH as f64);
        turns.get_cpu_ns.push((clock::thread_cpu_ns() - cpu) as f64 / BATCH as f64);

        let asked: Vec<usize> = (0..BATCH).map(|_| rng.random_range(0..bare.places.len())).collect();
        let (cpu, from) = (clock::thread_cpu_ns(), clock.raw());
        for &number in &asked {
            seen = seen.wrapping_add(touch(bare.read(number, &mut buffer)?));
        }
        turns.bare_ns.push(clock.nanos(from, clock.raw()) as f64 / BATCH as f64);
        turns.bare_cpu_ns.push((clock::thread_cpu_ns() - cpu) as f64 / BATCH as f64);
    }
    std::hint::black_box(seen);
    Ok(turns)
}
