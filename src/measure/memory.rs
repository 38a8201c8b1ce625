//! What the kernel says of a process's memory. Read in the process itself: figures for children by `wait4` or `RUSAGE_CHILDREN`
//! report a large parent's memory as the child's.

use std::fs::File;
use std::io::{self, Read, Write};

/// Resident memory of this process, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    pub rss: u64,
    /// Proportional share: pages shared with others count in part.
    pub pss: u64,
    pub anonymous: u64,
    /// File-backed pages: the program itself, mapped files.
    pub file: u64,
    /// Anonymous huge pages.
    pub huge_pages: u64,
    /// Highest `rss` since the last [`reset_hwm`].
    pub hwm: u64,
}

/// Enough for `/proc/self/status` and `smaps_rollup`; on the stack, so that a reading allocates nothing.
const BUFFER: usize = 8192;

/// Reads this process's memory.
///
/// # Errors
/// A kernel without `/proc/self/smaps_rollup` (before 4.14), or a line that is missing there.
pub fn read() -> io::Result<Reading> {
    let mut buffer = [0; BUFFER];
    let rollup = text("/proc/self/smaps_rollup", &mut buffer)?;
    let (rss, pss, anonymous, huge_pages) = (
        field(rollup, "Rss:", "smaps_rollup")?,
        field(rollup, "Pss:", "smaps_rollup")?,
        field(rollup, "Anonymous:", "smaps_rollup")?,
        field(rollup, "AnonHugePages:", "smaps_rollup")?,
    );
    let mut buffer = [0; BUFFER];
    let status = text("/proc/self/status", &mut buffer)?;
    let hwm = field(status, "VmHWM:", "status")?;
    Ok(Reading { rss, pss, anonymous, file: rss.saturating_sub(anonymous), huge_pages, hwm: hwm.max(rss) })
}

/// Makes the highest resident set start again from the present one.
///
/// # Errors
/// A kernel that does not allow it (`/proc/self/clear_refs`, `CONFIG_PROC_PAGE_MONITOR`).
pub fn reset_hwm() -> io::Result<()> {
    File::options().write(true).open("/proc/self/clear_refs")?.write_all(b"5")
}

/// Resident bytes of any process; cheap enough to be read every few milliseconds.
///
/// # Errors
/// The process is gone.
pub fn resident_of(pid: u32) -> io::Result<u64> {
    let mut buffer = [0; BUFFER];
    let path = format!("/proc/{pid}/statm");
    let statm = text(&path, &mut buffer)?;
    let pages = statm.split_ascii_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.map(|pages| pages * page_size()).ok_or_else(|| malformed(&path, "resident pages"))
}

/// Bytes that can be taken without pushing anything out: the system's, or what the control group leaves where that is less.
///
/// # Errors
/// A system without `/proc/meminfo`.
pub fn available() -> io::Result<u64> {
    let mut buffer = [0; BUFFER];
    let system = field(text("/proc/meminfo", &mut buffer)?, "MemAvailable:", "meminfo")?;
    Ok(group_room().map_or(system, |room| system.min(room)))
}

/// Room in the control group (version 2) that this process runs in, where it has a limit.
fn group_room() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let number = |file: &str| {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup{path}/{file}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

fn page_size() -> u64 {
    // SAFETY: sysconf has no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

fn text<'b>(path: &str, buffer: &'b mut [u8; BUFFER]) -> io::Result<&'b str> {
    let mut file = File::open(path)?;
    let mut length = 0;
    loop {
        match file.read(&mut buffer[length..])? {
            0 => break,
            count => length += count,
        }
    }
    std::str::from_utf8(&buffer[..length]).map_err(|_| malformed(path, "text"))
}

/// The bytes of a line `name   1234 kB`.
fn field(text: &str, name: &str, file: &str) -> io::Result<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    let number =
        rest.and_then(|rest| rest.split_ascii_whitespace().next()).and_then(|number| number.parse::<u64>().ok());
    number.map(|kilobytes| kilobytes * 1024).ok_or_else(|| malformed(file, name))
}

fn malformed(file: &str, what: &str) -> io::Error {
    io::Error::other(format!("/proc: no {what} in {file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_whole_name_and_a_missing_one_is_an_error() {
        let text = "Rss:    12 kB\nPss:     7 kB\nPss_Anon: 3 kB\n";
        assert_eq!(field(text, "Pss:", "test").unwrap(), 7 * 1024);
        assert!(field(text, "Swap:", "test").unwrap_err().to_string().contains("Swap"));
    }

    #[test]
    fn the_reading_of_this_process_adds_up() {
        let reading = read().unwrap();
        assert!(reading.rss > 0 && reading.hwm >= reading.rss && reading.pss <= reading.rss);
        assert_eq!(reading.anonymous + reading.file, reading.rss);
        assert!(resident_of(std::process::id()).unwrap() > 0);
        assert!(available().unwrap() > 0);
    }
}
