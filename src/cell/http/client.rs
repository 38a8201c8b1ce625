//! One connection that asks and waits, with no more work between than the wire needs. Knows nothing of schedules.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};

/// A service that is silent for so long is taken for dead.
const PATIENCE: Duration = Duration::from_secs(30);

const MOST_HEADERS: usize = 32;

pub struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, request: Vec::new(), answer: Vec::new() })
    }

    /// The value of a key; `None` when the service says that it is not held.
    pub fn translate(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        let (status, body) = self.get(&format!("/translate?key={}", percent_encode(key, NON_ALPHANUMERIC)))?;
        match status {
            200 => Ok(Some(body)),
            404 => Ok(None),
            _ => bail!("the service answered {status}: {}", String::from_utf8_lossy(body)),
        }
    }

    pub fn get(&mut self, target: &str) -> Result<(u16, &[u8])> {
        self.request.clear();
        write!(self.request, "GET {target} HTTP/1.1\r\nhost: larder\r\n\r\n")?;
        self.stream.write_all(&self.request).context("asking the service")?;
        self.answer.clear();
        loop {
            if let Some((status, start, end)) = whole(&self.answer)? {
                return Ok((status, &self.answer[start..end]));
            }
            let before = self.answer.len();
            self.answer.resize(before + (8 << 10), 0);
            let read = self.stream.read(&mut self.answer[before..]).context("waiting for the service's answer")?;
            self.answer.truncate(before + read);
            if read == 0 {
                bail!("the service closed the connection");
            }
        }
    }
}

/// Status, start and end of the body, once all of it is there.
fn whole(answer: &[u8]) -> Result<Option<(u16, usize, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(start) = response.parse(answer).context("the service's answer is no HTTP")? else {
        return Ok(None);
    };
    let length = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|header| std::str::from_utf8(header.value).ok()?.parse::<usize>().ok());
    let (status, length) =
        response.code.zip(length).context("the service's answer has no status or no length of its body")?;
    Ok((answer.len() >= start + length).then_some((status, start, start + length)))
}
