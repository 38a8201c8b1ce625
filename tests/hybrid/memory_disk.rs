//! A disk in memory that fails as it is told. Knows nothing of records.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use larder::store::hybrid::disk::{Disk, ShardFile};

/// What becomes of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All that was asked for.
    Whole,
    /// At most so many bytes.
    AtMost(usize),
    /// The system's error of this number.
    Fails(i32),
}

/// Decides what becomes of a call; given how many calls of the kind came before it.
type Fate = Arc<dyn Fn(u64) -> Outcome + Send + Sync>;

/// Decides the calls of one kind, and counts them.
#[derive(Default)]
pub struct Calls {
    count: AtomicU64,
    fate: Mutex<Option<Fate>>,
}

impl Calls {
    /// From now on; the count starts again.
    pub fn decide(&self, fate: impl Fn(u64) -> Outcome + Send + Sync + 'static) {
        *lock(&self.fate) = Some(Arc::new(fate));
        self.count.store(0, SeqCst);
    }

    pub fn always_fail(&self, number: i32) {
        self.decide(move |_| Outcome::Fails(number));
    }

    pub fn succeed(&self) {
        self.decide(|_| Outcome::Whole);
    }

    pub fn count(&self) -> u64 {
        self.count.load(SeqCst)
    }

    /// How many bytes of `wanted` this call may take. A fate may block: no lock is held meanwhile.
    fn next(&self, wanted: usize) -> io::Result<usize> {
        let before = self.count.fetch_add(1, SeqCst);
        let fate = lock(&self.fate).clone();
        match fate.map_or(Outcome::Whole, |fate| fate(before)) {
            Outcome::Whole => Ok(wanted),
            Outcome::AtMost(bytes) => Ok(wanted.min(bytes)),
            Outcome::Fails(number) => Err(io::Error::from_raw_os_error(number)),
        }
    }
}

/// A disk whose files the test can see and damage.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Inner>);

/// Contents of a file, shared by who holds it and who spoils it.
type Bytes = Arc<Mutex<Vec<u8>>>;

#[derive(Default)]
pub struct Inner {
    pub creations: Calls,
    pub reads: Calls,
    pub writes: Calls,
    /// Bytes that still fit; `None` means any number.
    room: Mutex<Option<u64>>,
    files: Mutex<Vec<(u8, Bytes)>>,
}

impl std::ops::Deref for MemoryDisk {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl fmt::Debug for MemoryDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} files in memory", self.files().len())
    }
}

impl MemoryDisk {
    /// Lets so many bytes more be written. Files that go give their bytes back.
    pub fn set_room(&self, bytes: Option<u64>) {
        *lock(&self.room) = bytes;
    }

    /// The files that are there, with their shards.
    pub fn files(&self) -> Vec<(u8, Vec<u8>)> {
        lock(&self.files).iter().map(|(shard, bytes)| (*shard, lock(bytes).clone())).collect()
    }

    /// Changes the one file of a shard behind the store's back.
    pub fn change(&self, shard: u8, change: impl FnOnce(&mut Vec<u8>)) {
        let files = lock(&self.files);
        let mut of_shard = files.iter().filter(|file| file.0 == shard);
        let (file, other) = (of_shard.next().expect("the shard has a file"), of_shard.next());
        assert!(other.is_none(), "two stores have a file of shard {shard}");
        change(&mut lock(&file.1));
    }
}

impl Disk for MemoryDisk {
    fn create(&self, shard: u8) -> io::Result<Box<dyn ShardFile>> {
        self.creations.next(1)?;
        let bytes = Arc::default();
        lock(&self.files).push((shard, Arc::clone(&bytes)));
        Ok(Box::new(MemoryFile { disk: self.clone(), bytes }))
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

struct MemoryFile {
    disk: MemoryDisk,
    bytes: Bytes,
}

impl fmt::Debug for MemoryFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a file in memory of {} bytes", lock(&self.bytes).len())
    }
}

impl ShardFile for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let wanted = self.disk.reads.next(buffer.len())?;
        let bytes = lock(&self.bytes);
        let found = bytes.get(offset as usize..).unwrap_or_default();
        let copied = wanted.min(found.len());
        buffer[..copied].copy_from_slice(&found[..copied]);
        Ok(copied)
    }

    /// A full disk takes what still fits and fails the next time, as real ones do.
    fn write_at(&self, new: &[u8], offset: u64) -> io::Result<usize> {
        let wanted = self.disk.writes.next(new.len())?;
        let (mut room, mut bytes) = (lock(&self.disk.room), lock(&self.bytes));
        let start = offset as usize;
        let overwritten = bytes.len().saturating_sub(start);
        let fits = room.map_or(wanted, |room| wanted.min(overwritten + room as usize));
        if fits == 0 && wanted > 0 {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let grown = fits.saturating_sub(overwritten);
        *room = room.map(|room| room - grown as u64);
        let length = bytes.len().max(start + fits);
        bytes.resize(length, 0);
        bytes[start..start + fits].copy_from_slice(&new[..fits]);
        Ok(fits)
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        lock(&self.disk.files).retain(|(_, bytes)| !Arc::ptr_eq(bytes, &self.bytes));
        let bytes = lock(&self.bytes).len() as u64;
        let mut room = lock(&self.disk.room);
        *room = room.map(|room| room + bytes);
    }
}

/// A test that fails must not hide behind the next one's poisoned lock.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
