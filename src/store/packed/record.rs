//! One entry in one heap block, behind a pointer of one word: the only unsafe code of `packed`. Knows nothing of tables.
//!
//! The block is `key length, key, value length, value`; lengths are LEB128 varints (7 bits a byte, the top bit says that
//! more follow), so that strings below 128 bytes pay one byte each. The block's own size follows from the two lengths:
//! that is why a thin pointer is enough.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;

use crate::store::StoreError;

/// Bytes of the longest varint: 64 bits, 7 to a byte.
const LONGEST_VARINT: usize = 10;

/// Owns one block that holds a key and a value. Never changed after it was made.
pub struct Record {
    block: NonNull<u8>,
}

// SAFETY: a Record owns its block alone, like a Box<[u8]>, and offers no way to change it through `&self`.
unsafe impl Send for Record {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Record {}

impl Record {
    /// Copies the key and the value into a new block.
    ///
    /// # Errors
    /// [`StoreError::TooLong`] when the two together can't be one block of memory (half the address space).
    pub fn new(key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        let key_length = Varint::new(key.len());
        let value_length = Varint::new(value.len());
        let parts = [key_length.bytes(), key, value_length.bytes(), value];
        let size = parts.iter().try_fold(0_usize, |size, part| size.checked_add(part.len()));
        let layout = size.and_then(|size| Layout::array::<u8>(size).ok()).ok_or_else(|| too_long(key, value))?;
        Ok(Self { block: filled(layout, parts) })
    }

    /// Bytes of the block that [`Record::new`] would make.
    pub fn size_of(key: &[u8], value: &[u8]) -> u64 {
        let lengths = Varint::new(key.len()).bytes().len() + Varint::new(value.len()).bytes().len();
        (lengths as u64).saturating_add(key.len() as u64).saturating_add(value.len() as u64)
    }

    #[inline]
    pub fn key(&self) -> &[u8] {
        self.read_string(0).0
    }

    #[inline]
    pub fn value(&self) -> &[u8] {
        self.read_string(self.read_string(0).1).0
    }

    /// Bytes of the block.
    pub fn size(&self) -> usize {
        self.read_string(self.read_string(0).1).1
    }

    /// The string whose length stands at `offset`, and the offset behind it. Called with 0 for the key, and with the
    /// offset behind the key for the value: never with anything else, which is what the reads below rely on.
    #[inline]
    fn read_string(&self, offset: usize) -> (&[u8], usize) {
        let (length, start) = self.read_length(offset);
        // SAFETY: `new` wrote a string of exactly this length at `start`, inside the block, which lives as long as
        // `self` and is never written again.
        let string = unsafe { slice::from_raw_parts(self.block.as_ptr().add(start), length) };
        (string, start + length)
    }

    /// The varint at `offset`, and the offset behind it.
    #[inline]
    fn read_length(&self, offset: usize) -> (usize, usize) {
        let (mut length, mut shift, mut at) = (0, 0, offset);
        loop {
            // SAFETY: `new` wrote a whole varint at `offset`; the loop stops at its last byte, whose top bit is clear.
            let byte = unsafe { self.block.as_ptr().add(at).read() };
            length |= usize::from(byte & 0x7f) << shift;
            at += 1;
            if byte < 0x80 {
                return (length, at);
            }
            shift += 7;
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let layout = Layout::array::<u8>(self.size()).expect("the size was a valid layout when the block was made");
        // SAFETY: the block came from `alloc` with this layout (the size is that of its four parts), and no reference
        // into it outlives `self`.
        unsafe { dealloc(self.block.as_ptr(), layout) }
    }
}

/// A new block of `layout` that holds the parts one behind the other; their lengths add up to the layout's size.
fn filled(layout: Layout, parts: [&[u8]; 4]) -> NonNull<u8> {
    // SAFETY: the layout is never empty: it holds two varints of at least one byte each.
    let block = NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
    let mut offset = 0;
    for part in parts {
        // SAFETY: the lengths of the parts add up to the layout's size, so each lies inside the block; the block was just
        // allocated, so that it overlaps none of them.
        unsafe { block.as_ptr().add(offset).copy_from_nonoverlapping(part.as_ptr(), part.len()) };
        offset += part.len();
    }
    block
}

fn too_long(key: &[u8], value: &[u8]) -> StoreError {
    let (what, bytes) = if key.len() > value.len() { ("key", key.len()) } else { ("value", value.len()) };
    StoreError::TooLong { what, bytes, limit: isize::MAX as u64 }
}

/// A length on its way into a block.
struct Varint {
    buffer: [u8; LONGEST_VARINT],
    used: usize,
}

impl Varint {
    fn new(mut number: usize) -> Self {
        let mut varint = Self { buffer: [0; LONGEST_VARINT], used: 0 };
        while number >= 0x80 {
            varint.push(number as u8 | 0x80);
            number >>= 7;
        }
        varint.push(number as u8);
        varint
    }

    fn push(&mut self, byte: u8) {
        self.buffer[self.used] = byte;
        self.used += 1;
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.used]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths on both sides of each varint step that fits into a test.
    const LENGTHS: [usize; 9] = [0, 1, 2, 127, 128, 129, 16_383, 16_384, 70_000];

    #[test]
    fn a_record_gives_back_the_key_and_the_value_it_was_made_of() {
        for key_length in LENGTHS {
            for value_length in LENGTHS {
                let key = vec![b'k'; key_length];
                let value: Vec<u8> = (0..value_length).map(|at| at as u8).collect();
                let record = Record::new(&key, &value).unwrap();
                assert_eq!((record.key(), record.value()), (&key[..], &value[..]));
            }
        }
    }

    #[test]
    fn a_record_costs_one_byte_per_length_below_128_and_two_below_16384() {
        assert_eq!(Record::new(b"", b"").unwrap().size(), 2);
        assert_eq!(Record::new(&[1; 127], &[2; 127]).unwrap().size(), 256);
        assert_eq!(Record::new(&[1; 128], &[2; 16_383]).unwrap().size(), 128 + 16_383 + 4);
        assert_eq!(Record::new(&[1; 127], &[2; 16_384]).unwrap().size(), 127 + 16_384 + 1 + 3);
    }

    #[test]
    fn a_table_slot_is_one_word() {
        assert_eq!(size_of::<Record>(), size_of::<usize>());
        assert_eq!(size_of::<Option<Record>>(), size_of::<usize>());
    }

    #[test]
    fn a_varint_holds_the_largest_length() {
        assert_eq!(Varint::new(usize::MAX).bytes().len(), LONGEST_VARINT);
    }
}
