//! Reading from a mapping of the file. Knows nothing of records.
//!
//! The whole range that offsets can reach is mapped once, 128 MiB of addresses per shard: what lies behind the end of the
//! file costs nothing, and the file can grow without a new mapping. Touching it there would kill the process (SIGBUS), so
//! a read goes no further than what was written through this very object. The file has no name, so that nobody but the
//! process itself could make it shorter; who fears that takes [`super::disk::Access::Pread`], which finds a truncated file
//! as an error.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk::ShardFile;
use super::table::SHARD_LIMIT;

const MAPPED_BYTES: usize = SHARD_LIMIT as usize;

#[derive(Debug)]
pub(super) struct Mapped {
    file: File,
    start: NonNull<u8>,
    /// Bytes from the front that were written; reads stop here.
    written: AtomicU64,
}

// SAFETY: the mapping is owned by this object alone and only read; whole writes go through the file, in front of `written`.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    pub fn new(file: File) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the system's choice touches no memory of ours; the file is open.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), MAPPED_BYTES, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned the null address"))?;
        Ok(Self { file, start, written: AtomicU64::new(0) })
    }
}

impl ShardFile for Mapped {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.written.load(Ordering::Acquire).min(MAPPED_BYTES as u64);
        let length = end.saturating_sub(offset).min(buffer.len() as u64) as usize;
        if length > 0 {
            // SAFETY: offset + length <= end <= MAPPED_BYTES, and the file reaches to `end`, so that the pages are there. A writer
            // appends, and the store asks for nothing behind the last whole record, so that nobody changes these bytes meanwhile.
            unsafe { ptr::copy_nonoverlapping(self.start.as_ptr().add(offset as usize), buffer.as_mut_ptr(), length) };
        }
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let written = FileExt::write_at(&self.file, bytes, offset)?;
        self.written.fetch_max(offset + written as u64, Ordering::Release);
        Ok(written)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and no reference into it is ever handed out.
        unsafe { libc::munmap(self.start.as_ptr().cast(), MAPPED_BYTES) };
    }
}
