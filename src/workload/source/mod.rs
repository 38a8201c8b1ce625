//! Items from files. Every reader streams with bounded memory and says file and place of a fault.

pub mod csv;
pub mod json;
pub mod mo;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::items::SourceError;

/// A longer key or value is a fault of the file: larder compares stores of small items.
pub const LONGEST: usize = 64 << 20;
/// Text that inflates more than so many times, beyond the first [`FREE`] bytes, is taken for a bomb. Deflate ends at 1,032; real
/// translations inflate 4 to 8 times.
const STEEPEST: u64 = 250;
const FREE: u64 = 64 << 20;
const BUFFER: usize = 64 * 1024;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Opens a file for reading, inflated where its first bytes say that it is compressed; the name does not matter.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, SourceError> {
    let fail = |cause: io::Error| SourceError::caused(format!("{}: {cause}", path.display()), cause);
    let packed = Arc::new(AtomicU64::new(0));
    let file = Counted { inner: File::open(path).map_err(fail)?, count: Arc::clone(&packed) };
    let mut file = BufReader::with_capacity(BUFFER, file);
    let start = file.fill_buf().map_err(fail)?;
    let inflated: Box<dyn Read + Send> = if start.starts_with(GZIP) {
        Box::new(flate2::bufread::MultiGzDecoder::new(file))
    } else if start.starts_with(ZSTD) {
        Box::new(zstd::Decoder::with_buffer(file).map_err(fail)?)
    } else {
        return Ok(Box::new(file));
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER, Guarded { inner: inflated, count: 0, packed })))
}

/// Counts the bytes that were read through it.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}

/// Inflated text that breaks off with an error where it grows beyond reason.
struct Guarded<R> {
    inner: R,
    count: u64,
    packed: Arc<AtomicU64>,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer).map_err(|error| {
            let place = format!("the compressed file is cut off or damaged after {} inflated bytes ({error})", self.count);
            io::Error::new(error.kind(), place)
        })?;
        self.count += count as u64;
        let packed = self.packed.load(Relaxed);
        if self.count > FREE && self.count / packed.max(1) > STEEPEST {
            let message = format!("inflates from {packed} to more than {} bytes; this looks like a bomb", self.count);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(count)
    }
}
