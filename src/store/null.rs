//! `null`: the control. It keeps the number of items and nothing else, and answers every get with the same short value.
//!
//! A timed loop over it is the cost of the loop itself, and its memory cell is the floor that the harness stands on. It
//! wins everything and answers nothing: what it returns is not what was loaded.

use crate::items::Items;
use crate::store::{Config, Footprint, Reader, Store, StoreError};

/// What every get returns: short, so that a reader which looks at the value's bytes looks at few.
pub const ANSWER: &[u8] = b"null";

/// See the module's documentation.
#[derive(Debug)]
pub struct Null {
    items: u64,
}

impl Store for Null {
    type Reader<'a> = NullReader;

    fn load(items: &mut dyn Items, _config: &Config) -> Result<Self, StoreError> {
        let mut count = 0;
        while items.next_item()?.is_some() {
            count += 1;
        }
        Ok(Self { items: count })
    }

    fn reader(&self) -> NullReader {
        NullReader
    }

    /// Items read, which counts a key that came twice as two: without keeping keys it can't tell.
    fn entries(&self) -> u64 {
        self.items
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[derive(Debug)]
pub struct NullReader;

impl Reader for NullReader {
    #[inline]
    fn get<R>(&mut self, _key: &[u8], visit: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        Ok(Some(visit(ANSWER)))
    }
}
