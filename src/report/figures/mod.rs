//! Pictures of a report, as SVG and PNG. Takes plain names and numbers; knows nothing of experiments, rows or metrics.
//!
//! | module | what it does |
//! |---|---|
//! | `numbers` | numbers, bytes and times as text |
//! | `style` | what each store looks like |
//! | `letters` | what text measures and covers |
//! | `canvas` | text and shapes in logical pixels over any plotters backend |
//! | `axis`, `legend`, `heading` | parts that figures share |
//! | `rows` | the paper of horizontal bars: names, bands, value axis |
//! | `bars`, `stack` | the two kinds of bars |
//! | `plane` | the paper of lines: two axes and a legend at the side |
//! | `lines`, `latency` | the two kinds of lines |
//! | `output` | the two files |

mod axis;
mod bars;
mod canvas;
mod heading;
mod latency;
mod legend;
mod letters;
mod lines;
pub mod numbers;
mod output;
mod plane;
mod rows;
mod stack;
pub mod style;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Result, ensure};
use plotters::prelude::DrawingBackend;

use canvas::Canvas;

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// File name without its ending.
    pub file: String,
    pub title: String,
    /// Label of the value axis, with its unit.
    pub axis: String,
    /// Whether the value axis of lines begins at zero, as it should where nothing speaks against it. Bars always do.
    pub from_zero: bool,
    pub drawing: Drawing,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Drawing {
    /// A group of bars per store, a bar per series; `values[group][series]`, `None` for what was not measured.
    Bars { groups: Vec<String>, series: Vec<String>, values: Vec<Vec<Option<Whisker>>> },
    /// A bar per store, made of parts; `values[group][part]`.
    Stack { groups: Vec<String>, parts: Vec<String>, values: Vec<Vec<f64>> },
    /// A line per store: by size, by threads, over time.
    Lines { x_axis: String, log_x: bool, lines: Vec<Line> },
    /// A line per store of (percentile 0..=100, nanoseconds).
    Latency { lines: Vec<(String, Vec<(f64, f64)>)> },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The store's name, which decides about the colour.
    pub name: String,
    pub points: Vec<(f64, Whisker)>,
}

/// A value and its interval; no whisker is drawn where `low` and `high` are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whisker {
    pub low: f64,
    pub mid: f64,
    pub high: f64,
}

impl Whisker {
    /// A value without an interval.
    pub fn exact(mid: f64) -> Self {
        Self { low: mid, mid, high: mid }
    }

    /// The ends of the interval where there is one to draw.
    fn interval(&self) -> Option<(f64, f64)> {
        (self.low.is_finite() && self.high.is_finite() && self.low < self.high).then_some((self.low, self.high))
    }
}

/// Writes `FILE.svg` and `FILE.png` into the directory, which must exist.
///
/// # Errors
/// A file name that is more than a name, and files that can't be written. Odd values (NaN, missing, negative) are drawn
/// as such or left out, and a drawing without any value says so.
pub fn draw(picture: &Picture, directory: &Path) -> Result<()> {
    let file = &picture.file;
    let is_name = Path::new(file).file_name().is_some_and(|name| name == file.as_str());
    ensure!(
        is_name,
        "the figure's file name {file:?} is not a plain name: give one without folders, such as \"heap-blocks\""
    );
    letters::prepare()?;
    output::write(picture, directory)
}

/// Logical height of the paper, which grows with the number of bars and of legend entries.
fn height(picture: &Picture) -> f64 {
    match &picture.drawing {
        _ if picture.is_empty() => style::HEIGHT / 2.0,
        Drawing::Bars { groups, series, values } => bars::Bars::new(picture, groups, series, values).height(),
        Drawing::Stack { groups, parts, values } => stack::Stack::new(picture, groups, parts, values).height(),
        Drawing::Lines { lines, .. } => lines::height(picture, lines),
        Drawing::Latency { lines } => latency::height(picture, lines),
    }
}

fn paint<B: DrawingBackend>(canvas: &mut Canvas<B>, picture: &Picture) -> Result<()> {
    match &picture.drawing {
        _ if picture.is_empty() => heading::nothing(canvas, &picture.title, height(picture)),
        Drawing::Bars { groups, series, values } => bars::Bars::new(picture, groups, series, values).paint(canvas),
        Drawing::Stack { groups, parts, values } => stack::Stack::new(picture, groups, parts, values).paint(canvas),
        Drawing::Lines { x_axis, log_x, lines } => lines::paint(canvas, picture, x_axis, *log_x, lines),
        Drawing::Latency { lines } => latency::paint(canvas, picture, lines),
    }
}

impl Picture {
    /// Whether there is no value that could be drawn.
    fn is_empty(&self) -> bool {
        match &self.drawing {
            Drawing::Bars { groups, values, .. } => {
                let mut shown = values.iter().take(groups.len()).flatten();
                !shown.any(|value| value.is_some_and(|value| value.mid.is_finite()))
            }
            Drawing::Stack { groups, values, .. } => {
                !values.iter().take(groups.len()).flatten().any(|value| value.is_finite())
            }
            Drawing::Lines { log_x, lines, .. } => lines.iter().all(|line| lines::drawable(line, *log_x).is_empty()),
            Drawing::Latency { lines } => lines.iter().all(|(_, points)| latency::drawable(points).is_empty()),
        }
    }
}
