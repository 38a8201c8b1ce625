//! Reading past the page cache with `O_DIRECT`. Knows nothing of records.
//!
//! Such a read wants its buffer, its offset and its length in whole blocks, so that a record is copied out of a buffer of
//! blocks. Writing goes through the page cache of a second descriptor: the system brings a page that was written to the
//! disk before it reads it there. A store that reads this way keeps twice as many files open.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use super::disk::ShardFile;

/// No disk of today has larger blocks.
const BLOCK: usize = 4096;

/// A typical record lies in one block or across the border of two.
const BLOCKS: usize = 2;

#[repr(align(4096))]
struct Buffer([u8; BLOCK * BLOCKS]);

#[derive(Debug)]
pub(super) struct Direct {
    cached: File,
    direct: File,
}

impl Direct {
    /// Opens the file a second time, which works by its descriptor where it has no name.
    pub fn new(cached: File) -> io::Result<Self> {
        let path = format!("/proc/self/fd/{}", cached.as_raw_fd());
        let direct =
            OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).map_err(|error| {
                match error.raw_os_error() {
                    Some(libc::EINVAL) => {
                        io::Error::new(error.kind(), "this file system has no O_DIRECT; choose another access")
                    }
                    _ => error,
                }
            })?;
        Ok(Self { cached, direct })
    }
}

impl ShardFile for Direct {
    /// Reads at most [`BLOCKS`] blocks at a time; the caller comes again for more.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut blocks = Buffer([0; BLOCK * BLOCKS]);
        let skipped = (offset % BLOCK as u64) as usize;
        let wanted = (skipped + buffer.len()).next_multiple_of(BLOCK).min(BLOCK * BLOCKS);
        let read = FileExt::read_at(&self.direct, &mut blocks.0[..wanted], offset - skipped as u64)?;
        let found = blocks.0[..read].get(skipped..).unwrap_or_default();
        let copied = found.len().min(buffer.len());
        buffer[..copied].copy_from_slice(&found[..copied]);
        Ok(copied)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(&self.cached, bytes, offset)
    }
}
