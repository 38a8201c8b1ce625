//! A blob named by a URL (file, http, https, s3), read as a stream of bytes through `object_store`. Knows nothing of what is written
//! in it, nor of how it is packed.
//!
//! A thread of the blob's own fetches and hands chunks over, two of them waiting at most: memory is bounded, and the
//! asynchronous client never meets a runtime of the caller, which it could not run inside of.
//!
//! A request that fails is repeated with back-off. A body that breaks off is asked for again from the byte where it broke, so long as the
//! server names the document's version (an ETag, or when it was last modified) and names the same one again; the reader sees the same
//! bytes as if nothing had happened, or an error, never an end.

mod address;
mod fault;
mod fetch;

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::sync::oneshot;

pub use self::address::Address;
use self::fault::Fault;
use crate::items::SourceError;

/// Chunks that wait for the reader. The network's own buffers hold more.
const AHEAD: usize = 2;

/// How long a load puts up with a server.
#[derive(Debug, Clone)]
pub struct Patience {
    /// Requests that are repeated after a failure that may pass (5xx, 429, no connection), for each time the body is asked for.
    pub retries: usize,
    /// Times that a body which broke off is asked for again.
    pub resumes: u32,
    /// What is waited before the first repetition; later waits are longer and drawn at random.
    pub first_wait: Duration,
    /// What is waited at most.
    pub longest_wait: Duration,
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes of a response.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            retries: 5,
            resumes: 5,
            first_wait: Duration::from_millis(200),
            longest_wait: Duration::from_secs(5),
            connect: Duration::from_secs(5),
            silence: Duration::from_secs(30),
        }
    }
}

/// What the thread hands over.
enum Part {
    /// The first: the document is there, and so many bytes long.
    Size(u64),
    Bytes(Bytes),
    /// The last of a document that was read whole.
    End,
}

/// A blob being read.
pub struct Blob {
    /// `None` once the document has ended or failed.
    parts: Option<Receiver<Result<Part, Fault>>>,
    /// Dropped to tell the thread, which may be waiting for the network, that nobody reads any more.
    wanted: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    chunk: Bytes,
    size: u64,
}

impl Blob {
    /// Asks for the blob; back once the server has begun to answer with it.
    ///
    /// # Errors
    /// A server that can't be reached or does not have the blob, with the URL and what to do.
    pub fn open(address: &Address, patience: &Patience) -> Result<Self, SourceError> {
        let complain = |fault: Fault| SourceError::caused(format!("{}: {fault}", address.shown()), fault);
        let (sender, parts) = sync_channel(AHEAD);
        let (wanted, unwanted) = oneshot::channel();
        let (there, patience) = (address.clone(), patience.clone());
        let thread = thread::Builder::new()
            .name("larder-blob".to_owned())
            .spawn(move || fetch::run(&there, &patience, &sender, unwanted))
            .map_err(|cause| complain(Fault::new(format!("no thread to fetch it: {cause}"))))?;
        let mut blob =
            Self { parts: Some(parts), wanted: Some(wanted), thread: Some(thread), chunk: Bytes::new(), size: 0 };
        match blob.next_part().map_err(complain)? {
            Part::Size(size) => blob.size = size,
            Part::Bytes(_) | Part::End => return Err(complain(Fault::new("bytes came before the size"))),
        }
        Ok(blob)
    }

    /// Bytes of the whole blob, as the server said.
    pub fn size(&self) -> u64 {
        self.size
    }

    fn next_part(&self) -> Result<Part, Fault> {
        let Some(parts) = &self.parts else { return Ok(Part::End) };
        // The thread sends an end or a fault before it goes, unless it panicked.
        parts.recv().unwrap_or_else(|_| Err(Fault::new("fetching it ended without a word; load it again")))
    }
}

impl Read for Blob {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() && self.parts.is_some() {
            match self.next_part() {
                Ok(Part::Bytes(chunk)) => self.chunk = chunk,
                Ok(Part::Size(_)) => {}
                Ok(Part::End) => self.parts = None,
                // The channel stays: who reads on after an error finds it closed, which is an error and no end.
                Err(fault) => return Err(io::Error::other(fault)),
            }
        }
        let length = into.len().min(self.chunk.len());
        into[..length].copy_from_slice(&self.chunk[..length]);
        self.chunk.advance(length);
        Ok(length)
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        // In this order: the thread may be waiting to hand over a chunk, or for the network.
        self.parts = None;
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already told to whoever read.
            let _ = thread.join();
        }
    }
}
