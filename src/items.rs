//! The item: a key and a value, both plain bytes, and a stream of items. Knows nothing of where they come from or go to.

use std::error::Error;

/// One key and one value, lent by a stream until its next item is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
}

/// Why a stream of items broke off. The message names the file, the place in it, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    pub message: String,
    #[source]
    pub cause: Option<Box<dyn Error + Send + Sync>>,
}

impl SourceError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None }
    }

    pub fn caused(message: impl Into<String>, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { message: message.into(), cause: Some(cause.into()) }
    }
}

/// A stream of items, read once from front to back with bounded memory. The same key may come twice: the last one wins.
pub trait Items {
    /// The next item, `None` at the end.
    ///
    /// # Errors
    /// A source that breaks off in the middle returns an error, never a silent end.
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError>;

    /// How many items are still to come, where the source knows.
    fn expected(&self) -> Option<u64> {
        None
    }
}

impl<T: Items + ?Sized> Items for Box<T> {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        (**self).next_item()
    }

    fn expected(&self) -> Option<u64> {
        (**self).expected()
    }
}

/// Items that are already in memory; for tests and small programs.
pub struct Slice<'a, K, V> {
    rest: std::slice::Iter<'a, (K, V)>,
}

impl<'a, K: AsRef<[u8]>, V: AsRef<[u8]>> Slice<'a, K, V> {
    pub fn new(pairs: &'a [(K, V)]) -> Self {
        Self { rest: pairs.iter() }
    }
}

impl<K: AsRef<[u8]>, V: AsRef<[u8]>> Items for Slice<'_, K, V> {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        Ok(self.rest.next().map(|(key, value)| Item { key: key.as_ref(), value: value.as_ref() }))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.rest.len() as u64)
    }
}
