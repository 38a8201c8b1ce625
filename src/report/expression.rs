//! A small language for figures: `100 * blocks_per_entry{store="packed", phase="steady"} / 6`.
//!
//! - Numbers `1`, `2.5`, `1e6`, `2_000_000`; `+ - * /`; parentheses; `min(a, b)`, `max(a, b)`.
//! - A selector `metric{column="value", …}` is the median over rounds of the rows that carry all of it. Without `entries` it means the largest
//!   size of these rows; without `allocator`, the system's where several were run. A selector that leaves more than one row per round is refused.
//! - `slope(selector)`, `intercept(selector)`: the least-squares line over all sizes. `at(selector, N)`: the value at N entries, measured where
//!   that size was run, on that line where it was not.
//! - `latency(P, {…})`: the P-th percentile of gets, nanoseconds.
//!
//! An expression is evaluated with a 95% interval: rounds are resampled, each selector's on their own.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use super::rows::{Columns, Filter, Rows, check, matches};
use crate::record::{METRICS, find_metric};
use crate::registry::nearest;
use crate::stats::{self, Interval};

/// Parses without evaluating: syntax, metrics and columns are right where this succeeds.
///
/// # Errors
/// Names the place in the text.
pub fn validate(text: &str) -> Result<()> {
    Parser::parse(text).map(|_| ())
}

/// What an expression came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Evaluated {
    Figure(Interval),
    /// No rows for a selector, which is named.
    Missing(String),
}

/// Evaluates an expression over a run's rows.
///
/// # Errors
/// A text that is no expression, or a selector that leaves several different figures.
pub fn evaluate(text: &str, rows: &Rows, seed: u64) -> Result<Evaluated> {
    let parsed = Parser::parse(text)?;
    let mut groups = Vec::new();
    for selector in &parsed.selectors {
        let samples = selector.samples(rows).with_context(|| format!("in {text:?}"))?;
        if samples.is_empty() {
            return Ok(Evaluated::Missing(format!("no such rows: {}", selector.text)));
        }
        groups.push(samples);
    }
    let views: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
    let interval = stats::bootstrap(&views, seed, |groups| parsed.tree.value(groups));
    Ok(interval.map_or_else(|| Evaluated::Missing(format!("{text} is no finite number")), Evaluated::Figure))
}

struct Parsed {
    tree: Tree,
    selectors: Vec<Selector>,
}

enum Tree {
    Number(f64),
    /// The median of the samples of a selector, by its number.
    Selected(usize),
    Call(Operator, Box<Tree>, Box<Tree>),
}

#[derive(Clone, Copy)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Least,
    Most,
}

impl Tree {
    fn value(&self, groups: &[&[f64]]) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Selected(number) => stats::median(groups[*number]).unwrap_or(f64::NAN),
            Self::Call(operator, left, right) => {
                let (left, right) = (left.value(groups), right.value(groups));
                match operator {
                    Operator::Add => left + right,
                    Operator::Subtract => left - right,
                    Operator::Multiply => left * right,
                    Operator::Divide => left / right,
                    Operator::Least => left.min(right),
                    Operator::Most => left.max(right),
                }
            }
        }
    }
}

/// Rows that are asked for, and how they make one sample per round.
struct Selector {
    text: String,
    what: What,
    filter: Filter,
}

/// Which sizes a selector means.
#[derive(Clone, Copy)]
enum Size {
    Any,
    /// The largest of the rows that match: grids may have sizes of their own.
    Largest,
}

enum What {
    Metric(String),
    Slope(String),
    Intercept(String),
    At(String, f64),
    Percentile(f64),
}

impl Selector {
    fn samples(&self, rows: &Rows) -> Result<Vec<f64>> {
        if let What::Percentile(percentile) = self.what {
            let chosen = rows.latency.iter().filter(|row| row.percentile == Some(percentile));
            let picked = self.pick(chosen, self.size())?;
            return per_round(picked.into_iter().map(|row| (row.round, row.nanoseconds as f64)), &self.text);
        }
        let (What::Metric(name) | What::Slope(name) | What::Intercept(name) | What::At(name, _)) = &self.what else {
            unreachable!("percentiles returned above")
        };
        let chosen = rows.good.iter().filter(|row| row.metric == *name);
        if let What::Metric(_) = self.what {
            let picked = self.pick(chosen, self.size())?;
            return per_round(picked.into_iter().map(|row| (row.round, row.value)), &self.text);
        }
        let picked = self.pick(chosen, Size::Any)?;
        let mut rounds: BTreeMap<u32, BTreeMap<u64, f64>> = BTreeMap::new();
        for row in picked {
            if rounds.entry(row.round).or_default().insert(row.entries, row.value).is_some() {
                return ambiguous(&self.text);
            }
        }
        let points = |sizes: &BTreeMap<u64, f64>| sizes.iter().map(|(&x, &y)| (x as f64, y)).collect::<Vec<_>>();
        Ok(rounds.values().filter_map(|sizes| self.of_line(&points(sizes))).collect())
    }

    fn of_line(&self, points: &[(f64, f64)]) -> Option<f64> {
        if let What::At(_, entries) = self.what {
            if let Some((_, value)) = points.iter().find(|(x, _)| *x == entries) {
                return Some(*value);
            }
            let fit = stats::linear_fit(points)?;
            return Some(fit.intercept + fit.slope * entries);
        }
        let fit = stats::linear_fit(points)?;
        Some(if matches!(self.what, What::Slope(_)) { fit.slope } else { fit.intercept })
    }

    /// The size that a plain selector means: the one that it names, or the largest.
    fn size(&self) -> Size {
        if self.filter.contains_key("entries") { Size::Any } else { Size::Largest }
    }

    /// The rows that match, of one allocator.
    fn pick<'r, R: Columns>(&self, rows: impl Iterator<Item = &'r R>, size: Size) -> Result<Vec<&'r R>> {
        let mut picked: Vec<&R> = rows.filter(|row| matches(*row, &self.filter)).collect();
        let entries = |row: &R| row.column("entries").and_then(|entries| entries.parse::<u64>().ok());
        if let (Size::Largest, Some(largest)) = (size, picked.iter().filter_map(|row| entries(row)).max()) {
            picked.retain(|row| entries(row) == Some(largest));
        }
        let system = |row: &&R| row.column("allocator").as_deref() == Some("system");
        if !self.filter.contains_key("allocator") && picked.iter().any(system) {
            picked.retain(system);
        }
        Ok(picked)
    }
}

/// One sample per round; two are an ambiguity that the text must resolve.
fn per_round(rows: impl Iterator<Item = (u32, f64)>, text: &str) -> Result<Vec<f64>> {
    let mut rounds: BTreeMap<u32, f64> = BTreeMap::new();
    for (round, value) in rows {
        if rounds.insert(round, value).is_some() {
            return ambiguous(text);
        }
    }
    Ok(rounds.into_values().collect())
}

/// Rows that agree by chance are as ambiguous as others: in the next run they may not.
fn ambiguous<T>(text: &str) -> Result<T> {
    bail!("{text} leaves several figures in one round; name phase, kind, service, threads or store")
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    selectors: Vec<Selector>,
}

impl<'t> Parser<'t> {
    fn parse(text: &'t str) -> Result<Parsed> {
        let mut parser = Self { text, at: 0, selectors: Vec::new() };
        let tree = parser.sum()?;
        parser.skip_space();
        if parser.at < text.len() {
            return parser.fault("an operator or the end must stand here");
        }
        Ok(Parsed { tree, selectors: parser.selectors })
    }

    fn fault<T>(&self, message: &str) -> Result<T> {
        bail!("expression {:?}, column {}: {message}", self.text, self.at + 1)
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Steps over the letter if it comes next.
    fn takes(&mut self, letter: char) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(letter);
        self.at += if found { letter.len_utf8() } else { 0 };
        found
    }

    fn needs(&mut self, letter: char) -> Result<()> {
        if self.takes(letter) { Ok(()) } else { self.fault(&format!("{letter:?} must stand here")) }
    }

    fn sum(&mut self) -> Result<Tree> {
        let mut left = self.product()?;
        loop {
            let operator = if self.takes('+') {
                Operator::Add
            } else if self.takes('-') {
                Operator::Subtract
            } else {
                return Ok(left);
            };
            left = Tree::Call(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Tree> {
        let mut left = self.atom()?;
        loop {
            let operator = if self.takes('*') {
                Operator::Multiply
            } else if self.takes('/') {
                Operator::Divide
            } else {
                return Ok(left);
            };
            left = Tree::Call(operator, Box::new(left), Box::new(self.atom()?));
        }
    }

    fn atom(&mut self) -> Result<Tree> {
        if self.takes('(') {
            let inner = self.sum()?;
            self.needs(')')?;
            return Ok(inner);
        }
        if self.takes('-') {
            return Ok(Tree::Call(Operator::Subtract, Box::new(Tree::Number(0.0)), Box::new(self.atom()?)));
        }
        if self.text[self.at..].starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
            return Ok(Tree::Number(self.number()?));
        }
        let (start, name) = (self.at, self.name()?);
        match name {
            "min" | "max" => self.pair(if name == "min" { Operator::Least } else { Operator::Most }),
            "slope" | "intercept" | "at" | "latency" => self.call(start, name),
            metric => {
                let metric = self.metric(start, metric)?;
                self.selector(start, What::Metric(metric))
            }
        }
    }

    fn pair(&mut self, operator: Operator) -> Result<Tree> {
        self.needs('(')?;
        let left = self.sum()?;
        self.needs(',')?;
        let right = self.sum()?;
        self.needs(')')?;
        Ok(Tree::Call(operator, Box::new(left), Box::new(right)))
    }

    /// A function over rows rather than over numbers.
    fn call(&mut self, start: usize, function: &str) -> Result<Tree> {
        self.needs('(')?;
        self.skip_space();
        if function == "latency" {
            let percentile = self.number()?;
            self.needs(',')?;
            let filter = self.filter()?;
            self.needs(')')?;
            return self.add(start, What::Percentile(percentile), filter);
        }
        let (name_at, name) = (self.at, self.name()?);
        let metric = self.metric(name_at, name)?;
        let filter = self.filter()?;
        let what = match function {
            "slope" => What::Slope(metric),
            "intercept" => What::Intercept(metric),
            _ => {
                self.needs(',')?;
                self.skip_space();
                What::At(metric, self.number()?)
            }
        };
        self.needs(')')?;
        self.add(start, what, filter)
    }

    fn selector(&mut self, start: usize, what: What) -> Result<Tree> {
        let filter = self.filter()?;
        self.add(start, what, filter)
    }

    fn add(&mut self, start: usize, what: What, filter: Filter) -> Result<Tree> {
        check(&filter).with_context(|| format!("expression {:?}, column {}", self.text, start + 1))?;
        self.selectors.push(Selector { text: self.text[start..self.at].to_owned(), what, filter });
        Ok(Tree::Selected(self.selectors.len() - 1))
    }

    fn metric(&mut self, start: usize, name: &str) -> Result<String> {
        if find_metric(name).is_some() {
            return Ok(name.to_owned());
        }
        let hint = nearest(name, METRICS.iter().map(|metric| metric.name));
        self.at = start;
        let hint = hint.map(|hint| format!("; did you mean {hint}?")).unwrap_or_default();
        self.fault(&format!("no metric is called {name:?}{hint}"))
    }

    fn name(&mut self) -> Result<&'t str> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let length = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        if length == 0 {
            return self.fault("a number, a metric, a function or a parenthesis must stand here");
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn number(&mut self) -> Result<f64> {
        let rest = &self.text[self.at..];
        let mut before = ' ';
        let length = rest
            .find(|letter: char| {
                let belongs = letter.is_ascii_digit()
                    || ['.', '_', 'e', 'E'].contains(&letter)
                    || (['+', '-'].contains(&letter) && ['e', 'E'].contains(&before));
                before = letter;
                !belongs
            })
            .unwrap_or(rest.len());
        match rest[..length].replace('_', "").parse::<f64>() {
            Ok(number) => {
                self.at += length;
                Ok(number)
            }
            Err(_) => self.fault("this is no number"),
        }
    }

    /// `{column="value", …}`; nothing at all is the empty filter.
    fn filter(&mut self) -> Result<Filter> {
        let mut filter = Filter::new();
        if !self.takes('{') {
            return Ok(filter);
        }
        while !self.takes('}') {
            if !filter.is_empty() {
                self.needs(',')?;
            }
            let column = self.name()?.to_owned();
            self.needs('=')?;
            self.needs('"')?;
            let rest = &self.text[self.at..];
            let Some(length) = rest.find('"') else { return self.fault("the closing quote is missing") };
            self.at += length + 1;
            if filter.insert(column.clone(), rest[..length].to_owned()).is_some() {
                return self.fault(&format!("column {column:?} stands twice"));
            }
        }
        Ok(filter)
    }
}
