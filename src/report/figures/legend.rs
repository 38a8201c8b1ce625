//! Legends: in lines beneath the bars, or as a list at the side of a plane. Never over data.

use anyhow::Result;
use plotters::prelude::{DrawingBackend, RGBColor};

use super::canvas::{Align, Area, Canvas};
use super::letters::Type;
use super::style::{self, INK, Look, QUIET, SMALL_EM};

const SWATCH: f64 = 12.0;
const SAMPLE: f64 = 34.0;
const GAP: f64 = 7.0;
const BETWEEN: f64 = 22.0;

fn kind() -> Type {
    Type::new(SMALL_EM, INK)
}

/// Coloured squares and their names, in as many lines as they need.
pub struct Flow {
    /// Left end and line of each entry, in the order given.
    entries: Vec<(f64, usize, String, RGBColor)>,
    lines: usize,
}

impl Flow {
    pub fn new(names: &[String], colours: impl Iterator<Item = RGBColor>, width: f64) -> Self {
        let (mut x, mut line) = (0.0, 0);
        let mut entries = Vec::new();
        for (name, colour) in names.iter().zip(colours) {
            let label = kind().wrap(name, width - SWATCH - GAP, 1).concat();
            let needed = SWATCH + GAP + kind().width(&label);
            if x > 0.0 && x + needed > width {
                (x, line) = (0.0, line + 1);
            }
            entries.push((x, line, label, colour));
            x += needed + BETWEEN;
        }
        let lines = if entries.is_empty() { 0 } else { line + 1 };
        Self { entries, lines }
    }

    /// Of the widest line.
    pub fn width(&self) -> f64 {
        let ends = self.entries.iter().map(|(x, _, label, _)| x + SWATCH + GAP + kind().width(label));
        ends.fold(0.0, f64::max)
    }

    pub fn height(&self) -> f64 {
        self.lines as f64 * Self::leading()
    }

    fn leading() -> f64 {
        kind().leading() + 5.0
    }

    pub fn paint<B: DrawingBackend>(&self, canvas: &mut Canvas<B>, left: f64, top: f64) -> Result<()> {
        for (x, line, label, colour) in &self.entries {
            let (left, top) = (left + x, top + *line as f64 * Self::leading());
            let swatch = Area { left, top, right: left + SWATCH, bottom: top + SWATCH };
            canvas.fill(swatch, *colour)?;
            canvas.frame(swatch, &[], style::HAIR, QUIET)?;
            let baseline = top + SWATCH / 2.0 + kind().cap() / 2.0;
            canvas.text(label, (left + SWATCH + GAP, baseline), Align::Left, kind())?;
        }
        Ok(())
    }
}

/// Samples of lines and their names, below each other.
pub struct List {
    entries: Vec<(Look, Vec<String>)>,
    left_out: usize,
}

impl List {
    const MOST: usize = 40;
    const WIDEST: f64 = 170.0;

    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut entries: Vec<_> = names.map(|name| (Look::of(name), kind().wrap(name, Self::WIDEST, 3))).collect();
        let left_out = entries.len().saturating_sub(Self::MOST);
        entries.truncate(Self::MOST);
        Self { entries, left_out }
    }

    pub fn width(&self) -> f64 {
        let widest = self.labels().map(|line| kind().width(&line)).fold(0.0, f64::max);
        SAMPLE + GAP + widest
    }

    pub fn height(&self) -> f64 {
        let entries: f64 = self.entries.iter().map(|(_, lines)| Self::entry_height(lines)).sum();
        entries + if self.left_out > 0 { kind().leading() } else { 0.0 }
    }

    fn entry_height(lines: &[String]) -> f64 {
        lines.len().max(1) as f64 * kind().leading() + 7.0
    }

    fn labels(&self) -> impl Iterator<Item = String> {
        self.entries.iter().flat_map(|(_, lines)| lines.iter().cloned()).chain(self.note())
    }

    fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| format!("and {} more", self.left_out))
    }

    pub fn paint<B: DrawingBackend>(&self, canvas: &mut Canvas<B>, left: f64, mut top: f64) -> Result<()> {
        for (look, lines) in &self.entries {
            let baseline = top + kind().cap();
            let middle = baseline - kind().cap() / 2.0;
            canvas.dashed(&[(left, middle), (left + SAMPLE, middle)], look.dash.lengths(), style::LINE, look.colour)?;
            canvas.marker((left + SAMPLE / 2.0, middle), look.marker, look.twin, look.colour)?;
            canvas.paragraph(lines, (left + SAMPLE + GAP, baseline), Align::Left, kind())?;
            top += Self::entry_height(lines);
        }
        match self.note() {
            Some(note) => canvas.text(&note, (left + SAMPLE + GAP, top + kind().cap()), Align::Left, kind()),
            None => Ok(()),
        }
    }
}
