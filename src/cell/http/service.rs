//! `larder serve` as a child process: started, refreshed, asked for its metrics, ended. Knows nothing of the load.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::client::Connection;
use crate::cell::spec::Spec;
use crate::measure::alloc::COUNT_VARIABLE;

/// Between two looks at whether a refresh is over.
const PAUSE: Duration = Duration::from_millis(5);

pub struct Service {
    process: Child,
    pub address: SocketAddr,
}

impl Service {
    /// Starts the service of the cell's store and data, and waits until it is ready.
    pub fn start(spec: &Spec) -> Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", &spec.data.source, "--store", &spec.store]);
        command.args(["--seed", &spec.seed.to_string()]);
        let options = [
            ("--entries", spec.entries.map(|entries| entries.to_string())),
            ("--key-column", spec.data.key_column.clone()),
            ("--value-column", spec.data.value_column.clone()),
            ("--directory", spec.directory.as_ref().map(|directory| directory.display().to_string())),
        ];
        for (name, value) in options {
            command.args(value.iter().flat_map(|value| [name, value]));
        }
        command.env_remove(COUNT_VARIABLE).stdin(Stdio::null()).stdout(Stdio::piped());
        // SAFETY: prctl is a system call without effect on memory; it may be made between fork and exec.
        unsafe { command.pre_exec(die_with_parent) };
        let mut process = command.spawn().context("starting larder serve")?;
        let address = ready(&mut process);
        match address {
            Ok(address) => Ok(Self { process, address }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    pub fn metrics(&self) -> Result<Metrics> {
        let mut connection = Connection::open(self.address).context("connecting to the service")?;
        let (status, body) = connection.get("/metrics")?;
        if status != 200 {
            bail!("the service answered {status} to /metrics");
        }
        Ok(Metrics(String::from_utf8_lossy(body).into_owned()))
    }

    /// Has the service load its data again; returns how many seconds that took.
    pub fn refresh(&self) -> Result<f64> {
        let before = self.metrics()?.needed("larder_refreshes_total")?;
        self.signal(libc::SIGHUP)?;
        loop {
            let now = self.metrics()?;
            if now.needed("larder_refreshes_total")? > before {
                if now.needed("larder_refresh_failures_total")? > 0.0 {
                    bail!("the service's refresh failed; its own message says why");
                }
                return now.needed("larder_last_refresh_duration_seconds");
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Ends the service as an operator would.
    pub fn end(mut self) -> Result<()> {
        self.signal(libc::SIGTERM)?;
        let status = self.process.wait().context("waiting for the service's end")?;
        if !status.success() {
            bail!("the service ended with {status}");
        }
        Ok(())
    }

    fn signal(&self, signal: i32) -> Result<()> {
        // SAFETY: sends a signal to our own child, which is not reaped before `end`.
        match unsafe { libc::kill(self.process.id() as i32, signal) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()).context("sending the service a signal"),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Ended already where all went well: then both do nothing.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The address in the line that says that the service is ready.
fn ready(process: &mut Child) -> Result<SocketAddr> {
    let out = process.stdout.take().context("the service has no output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line).context("waiting for the service")?;
    let address = line.trim().rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
    address.with_context(|| format!("the service did not get ready; it said {line:?}"))
}

/// A cell that is killed takes its service with it.
fn die_with_parent() -> std::io::Result<()> {
    // SAFETY: takes numbers alone.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Metrics of the service, by their line's name.
pub struct Metrics(String);

impl Metrics {
    pub fn value(&self, name: &str) -> Option<f64> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }

    /// # Errors
    /// The service does not count it.
    fn needed(&self, name: &str) -> Result<f64> {
        match self.value(name) {
            Some(value) => Ok(value),
            None => bail!("the service's metrics have no {name}"),
        }
    }
}
