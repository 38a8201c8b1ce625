//! `larder serve` as a child process, and requests to it over plain sockets.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A service that is ready. Killed when it is dropped.
pub struct Service {
    child: Child,
    /// The line that it printed when it was ready.
    pub ready: String,
    pub address: SocketAddr,
    said: Arc<Mutex<String>>,
}

pub struct Answer {
    pub code: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Service {
    /// Starts `larder serve` on a free port with these arguments, and waits until it is ready.
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let said = Arc::<Mutex<String>>::default();
        let (sink, mut stderr) = (said.clone(), BufReader::new(child.stderr.take().expect("a pipe")));
        thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|read| read > 0) {
                sink.lock().expect("what it said").push_str(&std::mem::take(&mut line));
            }
        });
        let mut ready = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut ready).expect("a line");
        let address = ready.trim().rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("not ready: {ready:?}, {}", said.lock().expect("what it said")));
        Self { child, ready, address, said }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: larder\r\nConnection: close\r\n\r\n").as_bytes())
    }

    /// The value of a key; `None` for a 404.
    pub fn translate(&self, key: &str) -> Option<String> {
        let answer = self.get(&format!("/translate?key={}", encoded(key)));
        match answer.code {
            200 => Some(String::from_utf8(answer.body).expect("UTF-8")),
            404 => None,
            code => panic!("{key}: {code} {}", String::from_utf8_lossy(&answer.body)),
        }
    }

    /// Sends these bytes and reads until the service closes the connection.
    pub fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.write_all(bytes).expect("it is taken");
        let mut whole = Vec::new();
        stream.read_to_end(&mut whole).expect("an answer");
        let end = whole.windows(4).position(|four| four == b"\r\n\r\n").expect("an empty line behind the head");
        let head = String::from_utf8(whole[..end].to_vec()).expect("a head of text");
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a code");
        Answer { code, head, body: whole[end + 4..].to_vec() }
    }

    /// The metrics by name and labels. Every line must be as the format has it.
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let answer = self.get("/metrics");
        assert!(answer.code == 200 && answer.head.contains("text/plain; version=0.0.4"), "{}", answer.head);
        samples(&String::from_utf8(answer.body).expect("UTF-8"))
    }

    pub fn metric(&self, name: &str) -> f64 {
        *self.metrics().get(name).unwrap_or_else(|| panic!("no metric {name}"))
    }

    /// Waits until so many refreshes have ended.
    pub fn wait_for_refreshes(&self, wanted: f64) {
        for _ in 0..1200 {
            if self.metric("larder_refreshes_total") >= wanted {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("no {wanted} refreshes within a minute: {}", self.said());
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: kill has no preconditions; the child has not been waited for, so that the id is still its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0, "the child is there");
    }

    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().expect("its end")
    }

    /// What it said on stderr so far.
    pub fn said(&self) -> String {
        self.said.lock().expect("what it said").clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All but letters and digits percent-encoded.
pub fn encoded(key: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    key.bytes().map(escape).collect()
}

/// Reads the text format strictly: HELP, TYPE and then samples of that name, each metric once.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let (mut samples, mut family) = (BTreeMap::new(), (String::new(), String::new()));
    let mut lines = text.lines().peekable();
    let mut seen = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("a name and words");
            assert!(words.len() > 5, "{line}");
            let kind = lines.next().and_then(|line| line.strip_prefix(&format!("# TYPE {name} ")).map(str::to_owned));
            family = (name.to_owned(), kind.unwrap_or_else(|| panic!("no TYPE behind {line}")));
            assert!(["counter", "gauge", "histogram"].contains(&family.1.as_str()), "{family:?}");
            assert!(!seen.contains(&family.0), "{} stands twice", family.0);
            seen.push(family.0.clone());
            assert!(lines.peek().is_some_and(|next| next.starts_with(name)), "no sample of {name}");
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("neither comment nor sample: {line:?}"));
        let (name, labels) = sample.split_once('{').map_or((sample, None), |(name, rest)| (name, Some(rest)));
        let of_family = name.strip_prefix(&family.0).unwrap_or_else(|| panic!("{line} under {family:?}"));
        let allowed: &[&str] = if family.1 == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        assert!(allowed.contains(&of_family), "{line} under {family:?}");
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{line}");
        assert!(labels.is_none_or(|labels| labels.ends_with("\"}") && labels.matches('"').count() == 2), "{line}");
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        assert!(value >= 0.0 && samples.insert(sample.to_owned(), value).is_none(), "{line}");
    }
    samples
}
