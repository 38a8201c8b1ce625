//! Connections and signals: from the start to a graceful end. Knows nothing of what is asked.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;

use super::refresh::{self, Asker};
use super::{Service, Settings, requests, tell};
use crate::registry::Row;
use crate::store::Store;

/// Open connections. With the 512 files that a hybrid store has open in a refresh they stay below the usual limit of 1,024.
const CONNECTIONS: usize = 384;
/// Connections that wait to be taken.
const BACKLOG: u32 = 1024;
/// For the head of a request, and for the next one on the same connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// For requests that are under way at the end.
const GRACE: Duration = Duration::from_secs(5);
/// After a connection that could not be taken: descriptors may be short for a while.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// The signals that are heeded, from before the load on.
struct Signals {
    hangup: Signal,
    ends: Ends,
}

struct Ends {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("listening for signals");
        Ok(Self {
            hangup: listen(SignalKind::hangup())?,
            ends: Ends { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? },
        })
    }
}

impl Ends {
    async fn come(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Loads and serves until SIGINT or SIGTERM.
pub async fn run<S: Store>(row: &'static Row, settings: Settings) -> Result<()> {
    let mut signals = Signals::listen()?;
    // Bound before the load, so that an address in use is told at once, and listened on after it.
    let socket = bind(settings.listen)?;
    let mut loading = tokio::task::spawn_blocking(move || Service::<S>::load(row, settings));
    let service = tokio::select! {
        loaded = &mut loading => loaded.context("loading")??,
        () = signals.ends.come() => return Ok(()),
    };
    let listener = socket.listen(BACKLOG).context("listening")?;
    let asker = refresh::start(service.clone())?;
    announce(&service, listener.local_addr().context("listening")?)?;
    serve(&service, &listener, &asker, &mut signals).await;
    Ok(())
}

fn bind(address: SocketAddr) -> Result<TcpSocket> {
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        io::Result::Ok(socket)
    };
    bound().with_context(|| {
        format!("can't listen on {address}; give another address with --listen (port 0: any free one)")
    })
}

fn announce<S: Store>(service: &Service<S>, address: SocketAddr) -> Result<()> {
    if !address.ip().is_loopback() {
        tell(&format!("whoever reaches {address} can read every value: there is no password"));
    }
    let (entries, store) = (service.store.entries(), service.row.name);
    let mut out = io::stdout().lock();
    writeln!(out, "larder serve: {entries} entries of {store}, http://{address}")
        .and_then(|()| out.flush())
        .context("telling that the service is ready")
}

async fn serve<S: Store>(service: &Arc<Service<S>>, listener: &TcpListener, asker: &Asker, signals: &mut Signals) {
    let (open, graceful) = (Arc::new(Semaphore::new(CONNECTIONS)), GracefulShutdown::new());
    loop {
        tokio::select! {
            stream = take(listener, &open) => match stream {
                Ok((stream, permit)) => {
                    let connection = converse(service.clone(), stream, &graceful);
                    tokio::spawn(async move {
                        connection.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tell(&format!("a connection could not be taken: {error}"));
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            },
            _ = signals.hangup.recv() => asker.ask(),
            () = signals.ends.come() => break,
        }
    }
    // Who does not take an answer by then has waited long enough.
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

type Permit = tokio::sync::OwnedSemaphorePermit;

async fn take(listener: &TcpListener, open: &Arc<Semaphore>) -> io::Result<(TcpStream, Permit)> {
    let permit = open.clone().acquire_owned().await.map_err(io::Error::other)?;
    listener.accept().await.map(|(stream, _)| (stream, permit))
}

/// Answers whatever comes over one connection.
fn converse<S: Store>(
    service: Arc<Service<S>>,
    stream: TcpStream,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + use<S> {
    // An answer is one write; waiting to fill a packet would only delay it.
    let _ = stream.set_nodelay(true);
    let asked = service.clone();
    let answer = service_fn(move |request| {
        let answer = requests::answer(&*asked, &request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), answer);
    let watched = graceful.watch(connection);
    async move {
        // A client that goes away or is silent is its own affair. hyper answers what is no HTTP with 400.
        if let Err(error) = watched.await
            && error.is_parse()
        {
            service.counted.answered(400);
        }
    }
}
