//! A small HTTP server with planted faults. It serves one document, knows ranges, and keeps what it was asked.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Act {
    /// The document, or the part asked for.
    Serve,
    /// A response of this status and no document.
    Fail(u16),
    /// The headers of the whole answer, so many bytes of its body, and the end of the connection.
    Cut(usize),
    /// Takes the request and closes the connection.
    HangUp,
    /// Another document under another ETag.
    Changed(Vec<u8>),
}

/// How the server speaks besides its faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    ETag,
    LastModified,
    /// Says neither.
    NoVersion,
    /// Knows no ranges: every answer is the whole document.
    NoRanges,
    /// Sends in chunks and says no length.
    NoLength,
}

pub struct Flaky {
    address: std::net::SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Flaky {
    /// Acts as planned, one act per request, and serves well ever after.
    pub fn start(document: Vec<u8>, manner: Manner, plan: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let log = asked.clone();
        let thread = thread::spawn(move || {
            let mut plan = plan.into_iter();
            for stream in listener.incoming() {
                let Some(request) = stream.as_ref().ok().and_then(read_request) else { continue };
                if request == STOP {
                    return;
                }
                log.lock().expect("the log").push(request.clone());
                let act = plan.next().unwrap_or(Act::Serve);
                // A client that went away is no fault of the server.
                let _ = answer(&mut stream.expect("read from"), &request, &document, manner, act);
            }
        });
        Self { address, asked, thread: Some(thread) }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// First lines of the requests, each with its range behind.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("the log").clone()
    }
}

const STOP: &str = "STOP";

impl Drop for Flaky {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(self.address) {
            let _ = stream.write_all(format!("{STOP}\r\n\r\n").as_bytes());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// `GET /path` or `GET /path 100-`.
fn read_request(stream: &TcpStream) -> Option<String> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let mut request = first.split(" HTTP/").next()?.to_owned();
    for line in lines {
        let line = line.ok()?.to_ascii_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            request.push_str(&format!(" {range}"));
        }
        if line.is_empty() {
            break;
        }
    }
    Some(request)
}

fn answer(stream: &mut TcpStream, request: &str, document: &[u8], manner: Manner, act: Act) -> std::io::Result<()> {
    let range = request.split(' ').nth(2).filter(|_| manner != Manner::NoRanges);
    let (document, tag) = match &act {
        Act::Changed(other) => (&other[..], "other"),
        _ => (document, "first"),
    };
    let whole = document.len();
    let (from, to) = range.map_or((0, whole), |range| {
        let (from, to) = range.split_once('-').expect("a range");
        (from.parse().expect("a number"), to.parse::<usize>().map_or(whole, |last| (last + 1).min(whole)))
    });
    match act {
        Act::HangUp => return Ok(()),
        Act::Fail(status) => {
            return write!(stream, "HTTP/1.1 {status} Planted\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n");
        }
        _ => {}
    }
    match range {
        Some(_) => {
            write!(stream, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {from}-{}/{whole}\r\n", to - 1)?
        }
        None => write!(stream, "HTTP/1.1 200 OK\r\n")?,
    }
    match manner {
        Manner::LastModified => {
            let day = if tag == "first" { "Tue, 01" } else { "Wed, 02" };
            write!(stream, "Last-Modified: {day} Dec 2026 03:40:12 GMT\r\n")?;
        }
        Manner::NoVersion => {}
        _ => write!(stream, "ETag: \"{tag}\"\r\n")?,
    }
    if manner == Manner::NoLength {
        write!(stream, "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n{:x}\r\n", whole)?;
        stream.write_all(document)?;
        return write!(stream, "\r\n0\r\n\r\n");
    }
    write!(stream, "Content-Length: {}\r\nConnection: close\r\n\r\n", to - from)?;
    let sent = if let Act::Cut(bytes) = act { (from + bytes).min(to) } else { to };
    stream.write_all(&document[from..sent])
}
