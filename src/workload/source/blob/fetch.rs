//! Fetches a blob on a thread of its own and hands its chunks over, through broken bodies and back. Knows nothing of who reads.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore};
use tokio::sync::oneshot;

use super::fault::Fault;
use super::{Address, Part, Patience};

type Parts = SyncSender<Result<Part, Fault>>;

/// Fetches until the end, the first fault for good, or until nobody wants it any more.
pub fn run(address: &Address, patience: &Patience, parts: &Parts, unwanted: oneshot::Receiver<()>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(cause) => return tell(parts, Err(Fault::new(format!("no runtime to fetch it: {cause}")))),
    };
    runtime.block_on(async {
        tokio::select! {
            ended = fetch(address, patience, parts) => tell(parts, ended.map(|()| Part::End)),
            _ = unwanted => {}
        }
    });
    // A look-up of a host's name can't be called off, and nobody waits for its answer.
    runtime.shutdown_background();
}

/// A reader that went away wants nothing more.
fn tell(parts: &Parts, part: Result<Part, Fault>) {
    let _ = parts.send(part);
}

async fn fetch(address: &Address, patience: &Patience, parts: &Parts) -> Result<(), Fault> {
    let (client, path) = address.client(patience)?;
    let first = client.get_opts(&path, GetOptions::default()).await.map_err(|error| Fault::of(&error))?;
    let mut body = Body { meta: first.meta.clone(), at: 0, resumed: 0, wait: patience.first_wait };
    tell(parts, Ok(Part::Size(body.meta.size)));
    let mut answer = first;
    loop {
        let Err(broke) = body.hand_over(answer, parts).await else { return Ok(()) };
        answer = body.resume(&*client, &path, patience, &broke).await?;
    }
}

/// A body on its way: which document it is of, and how much of it was handed over.
struct Body {
    meta: ObjectMeta,
    at: u64,
    resumed: u32,
    wait: Duration,
}

impl Body {
    /// Hands over what comes; why it broke off if it did not come to the document's end.
    async fn hand_over(&mut self, answer: GetResult, parts: &Parts) -> Result<(), Fault> {
        let from_file = matches!(answer.payload, GetResultPayload::File(..));
        let mut chunks = answer.into_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| Fault::of(&error))?;
            // The client gives empty chunks without end for a file that was cut short while it is read.
            if from_file && chunk.is_empty() {
                break;
            }
            self.at += chunk.len() as u64;
            if parts.send(Ok(Part::Bytes(chunk))).is_err() {
                return Ok(());
            }
        }
        if self.at == self.meta.size {
            return Ok(());
        }
        Err(Fault::new(format!("the body ended after {} of {} bytes", self.at, self.meta.size)))
    }

    /// Asks for the rest of the same document.
    async fn resume(
        &mut self,
        client: &dyn ObjectStore,
        path: &Path,
        patience: &Patience,
        broke: &Fault,
    ) -> Result<GetResult, Fault> {
        let place = format!("broke off at byte {} of {} ({broke})", self.at, self.meta.size);
        if self.resumed == patience.resumes {
            let times = self.resumed;
            return Err(Fault::new(format!("{place}, after it was taken up again {times} times; load it again later")));
        }
        if self.at >= self.meta.size || !has_version(&self.meta) {
            return Err(Fault::new(format!(
                "{place}, and without an ETag or Last-Modified the rest might be another document's; load it again"
            )));
        }
        self.resumed += 1;
        tokio::time::sleep(self.wait).await;
        self.wait = (2 * self.wait).min(patience.longest_wait);
        let rest = GetOptions { range: Some(GetRange::Offset(self.at)), ..GetOptions::default() };
        let answer = client.get_opts(path, rest).await.map_err(|error: Error| Fault::of(&error))?;
        if version(&answer.meta) != version(&self.meta) {
            return Err(Fault::new(format!(
                "{place}, and there is another document in its place by now; load it again"
            )));
        }
        Ok(answer)
    }
}

/// What tells two versions of a document apart.
fn version(meta: &ObjectMeta) -> (u64, Option<&str>, i64) {
    (meta.size, meta.e_tag.as_deref(), meta.last_modified.timestamp())
}

/// Whether the server told a version; a time of 0 stands for none.
fn has_version(meta: &ObjectMeta) -> bool {
    meta.e_tag.is_some() || meta.last_modified.timestamp() != 0
}
