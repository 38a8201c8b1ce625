//! Interface values, block for block as Go boxes them. Knows nothing of entries and maps.
//!
//! A Go `any` is two words: what type it is of, and where its data is. A string put into one has its own two-word header
//! (address, length) copied to the heap, because the data word can point but not hold two words. So a key costs two
//! blocks (16-byte header, bytes), and a value behind an entry's pointer costs three (16-byte `any`, 16-byte header,
//! bytes). Empty strings have no block of bytes, in Go as here.

use std::ptr::NonNull;

/// What a type word points to. One type is ever stored, but the word is there and is compared, as in Go.
#[derive(Debug)]
struct Type {
    /// Gives the static an address of its own: statics without a size may share one.
    _size: usize,
}

static STRING: Type = Type { _size: size_of::<Header>() };

/// The header of a string: address and length of its bytes.
type Header = Box<[u8]>;

/// The two words themselves. Copies share the data; which of them frees it is for the owner to know.
#[derive(Debug, Clone, Copy)]
pub struct Interface {
    type_word: &'static Type,
    data: NonNull<Header>,
}

/// Bytes around a boxed key, apart from those in its table slot: the header.
pub const KEY_OVERHEAD: usize = size_of::<Header>();

/// Bytes around a boxed value: the `any` that the entry points to, and the header.
pub const VALUE_OVERHEAD: usize = size_of::<Boxed>() + size_of::<Header>();

impl Interface {
    /// Boxes the string; [`Interface::free`] gives its blocks back.
    pub fn new(bytes: &[u8]) -> Self {
        let header: Box<Header> = Box::new(bytes.into());
        Self { type_word: &STRING, data: NonNull::from(Box::leak(header)) }
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the header lives until `free`, whose caller promises that no copy is used afterwards, and nobody
        // changes it before.
        unsafe { self.data.as_ref() }
    }

    /// Equality of interface values: first the types, then what they hold.
    #[inline]
    pub fn is(&self, bytes: &[u8]) -> bool {
        std::ptr::eq(self.type_word, &STRING) && self.bytes() == bytes
    }

    /// Gives the blocks back.
    ///
    /// # Safety
    /// Neither this nor a copy of it, nor bytes borrowed from one, is used afterwards.
    pub unsafe fn free(self) {
        // SAFETY: the header came from a Box, and by the caller's promise nobody else frees or reads it.
        drop(unsafe { Box::from_raw(self.data.as_ptr()) });
    }
}

/// An interface value that owns its data: what an entry points to.
#[derive(Debug)]
pub struct Boxed(Interface);

// SAFETY: the data is owned alone and only read while shared.
unsafe impl Send for Boxed {}
// SAFETY: as above.
unsafe impl Sync for Boxed {}

impl Boxed {
    pub fn new(bytes: &[u8]) -> Self {
        Self(Interface::new(bytes))
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Drop for Boxed {
    fn drop(&mut self) {
        // SAFETY: `self` never gave a copy away, and borrowed bytes don't outlive it.
        unsafe { self.0.free() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_have_the_sizes_of_go_on_64_bits() {
        assert_eq!((size_of::<Interface>(), size_of::<Boxed>(), KEY_OVERHEAD, VALUE_OVERHEAD), (16, 16, 16, 32));
    }

    #[test]
    fn a_boxed_string_is_equal_to_its_bytes_and_to_no_others() {
        let boxed = Boxed::new(b"key");
        assert!(boxed.0.is(b"key") && !boxed.0.is(b"kez") && !boxed.0.is(b"ke") && !boxed.0.is(b""));
        assert_eq!(boxed.bytes(), b"key");
    }
}
