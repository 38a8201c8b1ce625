//! One cell in one fresh child process: started, watched, and ended if it must be. Knows nothing of what the cell measures.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cell::spec::{Message, Spec};
use crate::measure::{alloc, clock::Clock, memory};
use crate::record::Status;

/// How often the parent looks at a child's memory. A look costs the parent some 10 us.
const WATCH: Duration = Duration::from_millis(5);
/// Bytes of a child's stderr that are kept: the last ones, where the reason is.
const STDERR_KEPT: usize = 8 * 1024;
/// Exit code of a Rust program that panicked.
const PANIC_CODE: i32 = 101;

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub seconds: f64,
    pub bytes: u64,
}

pub struct Run {
    pub messages: Vec<Message>,
    pub seconds: f64,
    pub ending: Ending,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Well,
    Badly(Status, String),
    /// The user asked for the end of the whole run.
    Interrupted,
}

/// Why the parent killed the child.
enum Killed {
    Deadline,
    Memory(u64),
    Interrupt,
}

/// Runs one cell to its end, whatever that is.
///
/// # Errors
/// Only when the child could not be started.
pub fn run(spec: &Spec, limits: Limits, interrupted: &AtomicBool) -> Result<Run> {
    let clock = Clock::new();
    let start = clock.raw();
    let mut child = spawn(spec)?;
    let stdout = child.stdout.take().expect("piped");
    let stderr = child.stderr.take().expect("piped");
    let messages = std::thread::spawn(move || read_messages(BufReader::new(stdout)));
    let complaints = std::thread::spawn(move || read_tail(stderr));
    let sent = send(&mut child, spec);
    let (status, killed) = watch(&mut child, limits, interrupted, || clock.nanos(start, clock.raw()) as f64 / 1e9)?;
    let seconds = clock.nanos(start, clock.raw()) as f64 / 1e9;
    let (messages, garbled) = joined(messages);
    let complaint = complaints.join().unwrap_or_default();
    let ending = match killed {
        Some(Killed::Interrupt) => Ending::Interrupted,
        Some(Killed::Deadline) => {
            Ending::Badly(Status::TimedOut, format!("still running after {seconds:.1} s; killed at its deadline"))
        }
        Some(Killed::Memory(bytes)) => Ending::Badly(
            Status::TooMuchMemory,
            format!("took {} MB, more than its cap of {} MB; killed", bytes / 1_000_000, limits.bytes / 1_000_000),
        ),
        None => judge(status, &messages, garbled, &complaint, sent),
    };
    Ok(Run { messages, seconds, ending })
}

fn spawn(spec: &Spec) -> Result<Child> {
    let (set, remove) = alloc::child_environment(spec.allocator, spec.kind.counts());
    // Not by its path: a build that replaces the program while a run goes on must not change what the later cells run.
    let mut command = Command::new("/proc/self/exe");
    command.arg("cell").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in remove {
        command.env_remove(name);
    }
    command.envs(set);
    // Where the stack starts depends on the size of the environment: every process gets its own luck.
    let padding = xxhash_rust::xxh3::xxh3_64_with_seed(spec.cell.as_bytes(), spec.seed) % 4096;
    command.env("LARDER_PADDING", "x".repeat(padding as usize));
    command.process_group(0);
    // SAFETY: prctl is async-signal-safe and touches nothing of the parent.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    command.spawn().context("could not start a child process for a cell")
}

fn send(child: &mut Child, spec: &Spec) -> std::io::Result<()> {
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(&serde_json::to_vec(spec).expect("a spec is plain data"))
}

fn watch(
    child: &mut Child,
    limits: Limits,
    interrupted: &AtomicBool,
    elapsed: impl Fn() -> f64,
) -> Result<(ExitStatus, Option<Killed>)> {
    loop {
        if let Some(status) = child.try_wait().context("waiting for a cell")? {
            return Ok((status, None));
        }
        let resident = memory::resident_of(child.id()).unwrap_or(0);
        let reason = if interrupted.load(Ordering::Relaxed) {
            Some(Killed::Interrupt)
        } else if elapsed() > limits.seconds {
            Some(Killed::Deadline)
        } else if resident > limits.bytes {
            Some(Killed::Memory(resident))
        } else {
            None
        };
        if reason.is_some() {
            child.kill().context("killing a cell")?;
            return Ok((child.wait().context("waiting for a killed cell")?, reason));
        }
        std::thread::sleep(WATCH);
    }
}

/// The child's messages, and the first line that was none.
fn read_messages(stdout: impl BufRead) -> (Vec<Message>, Option<String>) {
    let mut messages = Vec::new();
    let mut garbled = None;
    for line in stdout.lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(message) => messages.push(message),
            Err(error) if garbled.is_none() => garbled = Some(format!("{error} in the child's line {line:?}")),
            Err(_) => {}
        }
    }
    (messages, garbled)
}

fn joined(thread: JoinHandle<(Vec<Message>, Option<String>)>) -> (Vec<Message>, Option<String>) {
    thread.join().unwrap_or_else(|_| (Vec::new(), Some("the reader of the child's rows panicked".to_owned())))
}

fn read_tail(mut stderr: impl Read) -> String {
    let mut kept = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        if kept.len() > 2 * STDERR_KEPT {
            kept.drain(..kept.len() - STDERR_KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn judge(
    status: ExitStatus,
    messages: &[Message],
    garbled: Option<String>,
    complaint: &str,
    sent: std::io::Result<()>,
) -> Ending {
    let fault = messages.iter().find_map(|message| match message {
        Message::Fault { status, reason } => Some((*status, reason.clone())),
        _ => None,
    });
    if let Some((status, reason)) = fault {
        return Ending::Badly(status, reason);
    }
    if status.success() && garbled.is_none() && messages.last() == Some(&Message::Done) {
        return Ending::Well;
    }
    let said = last_words(complaint);
    match (status.code(), status.signal()) {
        (Some(PANIC_CODE), _) => Ending::Badly(Status::Panicked, said),
        (_, Some(signal)) => Ending::Badly(Status::Killed, format!("ended by signal {signal}. {said}")),
        (Some(0), _) => Ending::Badly(Status::Failed, garbled.unwrap_or_else(|| "ended before it was done".to_owned())),
        (code, _) => {
            let pipe = sent.err().map(|error| format!(" (its spec was not read: {error})")).unwrap_or_default();
            Ending::Badly(Status::Failed, format!("exit code {}{pipe}: {said}", code.unwrap_or(-1)))
        }
    }
}

/// What a child said last, on one line.
fn last_words(complaint: &str) -> String {
    let lines: Vec<&str> = complaint
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE"))
        .collect();
    let said = lines[lines.len().saturating_sub(6)..].join(" | ");
    if said.is_empty() { "it said nothing".to_owned() } else { said }
}
