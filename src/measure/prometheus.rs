//! The text that Prometheus scrapes (text exposition format 0.0.4). Knows the format, not what is told in it.

use std::fmt::{Display, Write};

/// Metrics in the order in which they were added, each with its HELP and TYPE lines.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    pub fn new() -> Self {
        Self::default()
    }

    /// What only rises. By convention its name ends with `_total`.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "counter");
        self.sample(format_args!("{name} {value}"));
    }

    /// What rises and falls.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, "gauge");
        self.sample(format_args!("{name} {value}"));
    }

    /// A counter for each value of a label.
    pub fn counters<L: Display>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) {
        self.head(name, help, "counter");
        self.labelled(name, label, values);
    }

    /// A gauge for each value of a label.
    pub fn gauges<L: Display>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) {
        self.head(name, help, "gauge");
        self.labelled(name, label, values);
    }

    /// Durations by bucket, told in seconds: `buckets` gives the longest duration of each in nanoseconds, rising, and how many it holds.
    /// `u64::MAX` stands for no bound.
    pub fn durations(&mut self, name: &str, help: &str, buckets: impl IntoIterator<Item = (u64, u64)>, sum_ns: u64) {
        self.head(name, help, "histogram");
        let mut count = 0;
        for (at_most_ns, more) in buckets {
            count += more;
            if at_most_ns < u64::MAX {
                self.sample(format_args!("{name}_bucket{{le=\"{}\"}} {count}", Seconds(at_most_ns)));
            }
        }
        self.sample(format_args!("{name}_bucket{{le=\"+Inf\"}} {count}"));
        self.sample(format_args!("{name}_sum {}", Seconds(sum_ns)));
        self.sample(format_args!("{name}_count {count}"));
    }

    pub fn into_text(self) -> String {
        self.text
    }

    fn labelled<L: Display>(&mut self, name: &str, label: &str, values: impl IntoIterator<Item = (L, u64)>) {
        for (which, value) in values {
            let which = which.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            self.sample(format_args!("{name}{{{label}=\"{which}\"}} {value}"));
        }
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.sample(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    fn sample(&mut self, line: std::fmt::Arguments<'_>) {
        // A String takes everything.
        let _ = writeln!(self.text, "{line}");
    }
}

/// Nanoseconds as seconds, without loss.
struct Seconds(u64);

impl Display for Seconds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_told_in_seconds_and_each_holds_those_before_it() {
        let mut exposition = Exposition::new();
        exposition.durations("wait_seconds", "Waits.", [(63, 2), (1_500_000_000, 0), (u64::MAX, 3)], 7_000_000_001);
        let expected = "# HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\n\
                        wait_seconds_bucket{le=\"0.000000063\"} 2\nwait_seconds_bucket{le=\"1.500000000\"} 2\n\
                        wait_seconds_bucket{le=\"+Inf\"} 5\nwait_seconds_sum 7.000000001\nwait_seconds_count 5\n";
        assert_eq!(exposition.into_text(), expected);
    }

    #[test]
    fn what_would_break_a_line_is_escaped() {
        let mut exposition = Exposition::new();
        exposition.gauges("a", "two\nlines \\", "name", [("\"\\\n", 1)]);
        let expected = "# HELP a two\\nlines \\\\\n# TYPE a gauge\na{name=\"\\\"\\\\\\n\"} 1\n";
        assert_eq!(exposition.into_text(), expected);
    }
}
