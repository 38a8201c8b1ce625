//! One shard's file as a log of records: appended to, never changed. Knows nothing of the index.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::disk::{self, Disk, ShardFile};
use super::record::{self, Header, LONGEST_HEADER, Place, Record};
use super::table::UNIT;
use crate::store::StoreError;

/// Bounds of the first read of a record, whose length nobody knows yet: twice the mean takes in most whole records, so that a miss is one
/// read; out of the page cache twice the bytes cost far less than a second read.
const FIRST_READS: RangeInclusive<usize> = 256..=1024;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Log {
    shard: u8,
    disk: Arc<dyn Disk>,
    /// Made when the first record is written: a shard without records needs no file.
    file: OnceLock<Box<dyn ShardFile>>,
    /// Bytes of whole records; what a write that failed left behind it is written over.
    end: AtomicU64,
    limit: u64,
    /// Bytes of the first read of a record.
    first_read: usize,
}

/// Room for a record: on the stack for most, on the heap for long ones.
pub(super) struct Buffer {
    first: [u8; *FIRST_READS.end()],
    long: Vec<u8>,
}

impl Buffer {
    pub fn new() -> Self {
        Self { first: [0; *FIRST_READS.end()], long: Vec::new() }
    }
}

impl Log {
    pub fn new(shard: u8, disk: Arc<dyn Disk>, limit: u64) -> Self {
        Self { shard, disk, file: OnceLock::new(), end: AtomicU64::new(0), limit, first_read: *FIRST_READS.end() }
    }

    /// Says how many records there are, so that reads can be as long as most of them.
    pub fn holds_records(&mut self, records: usize) {
        let twice_the_mean = 2 * self.end() / records.max(1) as u64;
        self.first_read = (twice_the_mean as usize).clamp(*FIRST_READS.start(), *FIRST_READS.end());
    }

    pub fn first_place(&self) -> Place {
        Place { shard: self.shard, offset: 0 }
    }

    /// Bytes of whole records.
    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Bytes that the file may have.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes of the box around the file.
    pub fn allocation_size(&self) -> usize {
        self.file.get().map_or(0, |file| size_of_val(&**file))
    }

    /// Where a record of `bytes` goes that follows `pending` bytes which are not written yet.
    pub fn place_behind(&self, pending: usize, bytes: u64) -> Result<Place, StoreError> {
        let start = self.end() + pending as u64;
        if start + bytes > self.limit {
            return Err(StoreError::ShardFull { shard: self.shard, bytes: start + bytes, limit: self.limit });
        }
        Ok(Place { shard: self.shard, offset: (start / UNIT) as u32 })
    }

    /// Appends whole records. One caller at a time.
    pub fn append(&self, records: &[u8]) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        let end = self.end();
        let failed = |doing: &str, cause| StoreError::Io {
            doing: format!("{doing} the file of shard {} in {}", self.shard, self.disk.place()),
            cause,
        };
        let file = match self.file.get() {
            Some(file) => file,
            None => {
                let file = self.disk.create(self.shard).map_err(|cause| failed("creating", cause))?;
                self.file.get_or_init(|| file)
            }
        };
        disk::write_all(&**file, records, end).map_err(|cause| failed("writing to", cause))?;
        self.end.store(end + records.len() as u64, Ordering::Release);
        Ok(())
    }

    /// Reads the record at a place that the index names, and verifies it; adds the bytes it read to `read`.
    pub fn read<'b>(&self, place: Place, buffer: &'b mut Buffer, read: &AtomicU64) -> Result<Record<'b>, StoreError> {
        let left = self.end().saturating_sub(place.byte());
        let first = left.min(self.first_read as u64) as usize;
        self.fill(place, &mut buffer.first[..first], 0, read)?;
        let header = Header::read(&buffer.first[..first.min(LONGEST_HEADER)]);
        let length = header.map_or(0, Header::record_bytes);
        if length == 0 || length as u64 > left {
            return Err(self.damaged(place, "its lengths make no sense"));
        }
        let bytes = if length <= first {
            &buffer.first[..length]
        } else {
            buffer.long.resize(length, 0);
            buffer.long[..first].copy_from_slice(&buffer.first[..first]);
            self.fill(place, &mut buffer.long[first..], first, read)?;
            &buffer.long
        };
        record::read(place, bytes).ok_or_else(|| self.damaged(place, "its checksum does not match"))
    }

    /// Fills the buffer from `skip` bytes behind the place.
    fn fill(&self, place: Place, buffer: &mut [u8], skip: usize, read: &AtomicU64) -> Result<(), StoreError> {
        let Some(file) = self.file.get() else { return Err(self.damaged(place, "there is no file")) };
        let found = disk::read_full(&**file, buffer, place.byte() + skip as u64).map_err(|cause| StoreError::Io {
            doing: format!("reading shard {} at offset {} in {}", self.shard, place.byte(), self.disk.place()),
            cause,
        })?;
        read.fetch_add(found as u64, Ordering::Relaxed);
        if found < buffer.len() {
            return Err(self.damaged(place, "the file ends before it should"));
        }
        Ok(())
    }

    fn damaged(&self, place: Place, what: &str) -> StoreError {
        StoreError::Damaged(format!("hybrid: record in shard {} at offset {}: {what}", self.shard, place.byte()))
    }
}
