//! The machine that a run was made on, and what of it would spoil a measurement.

use std::fs::read_to_string;

use serde::Serialize;

/// What the manifest says of a machine. A reading that the system does not give is empty or `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: u64,
    pub kernel: String,
    pub memory_bytes: u64,
    pub available_bytes: u64,
    pub swap_bytes: u64,
    /// Processes that ran or waited on average over the last minute.
    pub load: f64,
    /// Frequency governor of the first core.
    pub governor: Option<String>,
    /// The chosen word of `/sys/kernel/mm/transparent_hugepage/enabled`.
    pub transparent_huge_pages: Option<String>,
    pub virtual_machine: bool,
    /// Whether the peak of the resident set can be reset between phases.
    pub resets_peak: bool,
    /// Optional programs that are there.
    pub tools: Vec<String>,
}

/// Programs that check our figures from outside; none is needed for a run.
const TOOLS: [&str; 6] = ["valgrind", "heaptrack", "perf", "go", "git", "chromium"];

/// Reads the machine's state.
pub fn inspect() -> Machine {
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let meminfo = read_to_string("/proc/meminfo").unwrap_or_default();
    let release = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = read_to_string("/proc/loadavg").unwrap_or_default();
    let pages = read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok();
    Machine {
        cpu: after_colon(&cpuinfo, "model name").unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u64),
        kernel: release.trim().to_owned(),
        memory_bytes: kilobytes(&meminfo, "MemTotal:"),
        available_bytes: super::memory::available().unwrap_or(0),
        swap_bytes: kilobytes(&meminfo, "SwapTotal:"),
        load: load.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0),
        governor: read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            .ok()
            .map(|governor| governor.trim().to_owned()),
        transparent_huge_pages: pages.as_deref().and_then(bracketed),
        virtual_machine: cpuinfo.contains("hypervisor"),
        resets_peak: super::memory::reset_hwm().is_ok(),
        tools: TOOLS.iter().filter(|tool| on_path(tool)).map(|tool| (*tool).to_owned()).collect(),
    }
}

fn after_colon(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn kilobytes(text: &str, name: &str) -> u64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    rest.split_ascii_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The chosen word of `always [madvise] never`.
fn bracketed(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn on_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// One thing looked at, and what it does to a measurement where it does anything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub what: &'static str,
    pub state: String,
    /// What it spoils; `None` where all is well.
    pub spoils: Option<&'static str>,
    pub advice: &'static str,
}

/// Memory below which the article's scale does not fit.
const ARTICLE_BYTES: u64 = 6_000_000_000;

/// Everything that was looked at, in the order in which a person would mend it.
pub fn findings(machine: &Machine) -> Vec<Finding> {
    let finding = |what, state: String, spoils: Option<&'static str>, advice| Finding { what, state, spoils, advice };
    let megabytes = |bytes: u64| format!("{} MB", bytes / 1_000_000);
    let spoils = |bad: bool, what: &'static str| bad.then_some(what);
    let governor = machine.governor.as_deref();
    let pages = machine.transparent_huge_pages.as_deref();
    vec![
        finding(
            "load",
            format!("{:.2} on {} cores", machine.load, machine.cores),
            spoils(machine.load > 0.3 * machine.cores as f64, "other work takes time from every timed cell"),
            "end other jobs, or read counts and bytes only",
        ),
        finding(
            "memory",
            format!("{} of {} free", megabytes(machine.available_bytes), megabytes(machine.memory_bytes)),
            spoils(machine.available_bytes < ARTICLE_BYTES, "cells of the article's scale may be skipped"),
            "free memory, or use --scale standard",
        ),
        finding(
            "swap",
            if machine.swap_bytes == 0 { "none".to_owned() } else { megabytes(machine.swap_bytes) },
            spoils(machine.swap_bytes > 0, "pages that are swapped out leave the resident set and come back slowly"),
            "swapoff -a while measuring",
        ),
        finding(
            "governor",
            governor.unwrap_or("not visible").to_owned(),
            spoils(governor.is_some_and(|governor| governor != "performance"), "the clock rate follows the load"),
            "cpupower frequency-set -g performance",
        ),
        finding(
            "huge pages",
            pages.unwrap_or("not visible").to_owned(),
            spoils(
                pages == Some("always"),
                "the resident set grows in steps of 2 MB; allocators differ in how they use them",
            ),
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        finding(
            "processor",
            machine.cpu.clone() + if machine.virtual_machine { " (virtual)" } else { "" },
            spoils(machine.virtual_machine, "neighbours on the same host take time that nothing here can see"),
            "believe ratios within one run; use more --rounds",
        ),
        finding(
            "peak reset",
            if machine.resets_peak { "works" } else { "refused" }.to_owned(),
            spoils(!machine.resets_peak, "the peak of a phase can't be told from earlier ones"),
            "run on Linux with write access to /proc/self/clear_refs",
        ),
        finding(
            "tools",
            if machine.tools.is_empty() { "none".to_owned() } else { machine.tools.join(", ") },
            None,
            "valgrind or heaptrack check the figures from outside",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_with_swap_and_huge_pages_is_named_three_times() {
        let calm = Machine { load: 0.0, available_bytes: 8_000_000_000, swap_bytes: 0, ..inspect() };
        let calm =
            Machine { governor: None, transparent_huge_pages: None, virtual_machine: false, resets_peak: true, ..calm };
        assert!(findings(&calm).iter().all(|finding| finding.spoils.is_none()));
        let busy =
            Machine { load: 9.0, swap_bytes: 1, transparent_huge_pages: bracketed("[always] madvise never"), ..calm };
        let named: Vec<_> =
            findings(&busy).iter().filter(|found| found.spoils.is_some()).map(|found| found.what).collect();
        assert_eq!(named, ["load", "swap", "huge pages"]);
    }
}
