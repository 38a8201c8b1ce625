//! The thread that replaces the contents, on an interval and when asked. Knows nothing of requests.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, Result};

use super::{Service, tell};
use crate::store::Store;

/// Asks for a refresh. Dropped, it ends the thread, at the latest behind the refresh that is under way.
pub struct Asker(SyncSender<()>);

impl Asker {
    /// A refresh that was asked for and has not begun yet serves this wish too.
    pub fn ask(&self) {
        let _ = self.0.try_send(());
    }
}

/// Starts the thread.
pub fn start<S: Store>(service: Arc<Service<S>>) -> Result<Asker> {
    let (asker, asked) = sync_channel(1);
    thread::Builder::new()
        .name("larder-refresh".to_owned())
        .spawn(move || run(&service, &asked))
        .context("starting the thread that refreshes")?;
    Ok(Asker(asker))
}

fn run<S: Store>(service: &Service<S>, asked: &Receiver<()>) {
    while is_due(service, asked) {
        match service.refresh() {
            Ok(()) => tell(&format!("refreshed, {} entries", service.store.entries())),
            Err(error) => tell(&format!("a refresh failed, the contents before it are served on: {error:#}")),
        }
    }
}

/// Waits for the next refresh; false when there will be none.
fn is_due<S: Store>(service: &Service<S>, asked: &Receiver<()>) -> bool {
    match service.settings.refresh_every {
        Some(interval) => asked.recv_timeout(interval) != Err(RecvTimeoutError::Disconnected),
        None => asked.recv().is_ok(),
    }
}
