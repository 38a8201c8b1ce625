//! The paper of horizontal bars: a band per store with its name at the left, a value axis and a legend beneath.
//! Horizontal, so that long names stand upright and every value label has a line of its own.

use anyhow::Result;
use plotters::prelude::{DrawingBackend, RGBColor};

use super::Picture;
use super::axis::Axis;
use super::canvas::{Align, Area, Canvas, Point};
use super::heading;
use super::legend::Flow;
use super::letters::Type;
use super::style::{self, AXIS, GRID, INK, MARGIN, PAPER, QUIET, SMALL_EM, TEXT_EM, WIDTH};

const WIDEST_NAME: f64 = 200.0;
const NAME_GAP: f64 = 10.0;
/// Between a bar's end and its label.
pub const LABEL_GAP: f64 = 6.0;
const TICK_GAP: f64 = 8.0;
/// A figure of more bars than these is a table.
const MOST_BARS: usize = 80;

pub fn value_type() -> Type {
    Type::new(SMALL_EM, INK)
}

fn name_type() -> Type {
    Type::new(TEXT_EM, INK)
}

fn tick_type() -> Type {
    Type::new(SMALL_EM, QUIET)
}

/// What a kind of bars asks for.
pub struct Wanted<'a> {
    pub names: &'a [String],
    pub bars_per_name: usize,
    /// Of one bar.
    pub thickness: f64,
    /// Between the bars of two names.
    pub gap: f64,
    pub axis: Axis,
    /// Widest label at the bars' ends.
    pub label: f64,
    pub has_negative: bool,
    pub legend: (&'a [String], Vec<RGBColor>),
}

pub struct Rows {
    title: String,
    axis_label: Vec<String>,
    plot: Area,
    axis: Axis,
    /// Per name: its lines and the area that its bars fill.
    bands: Vec<(Vec<String>, Area)>,
    left_out: usize,
    legend: Flow,
}

impl Rows {
    pub fn new(picture: &Picture, wanted: Wanted) -> Self {
        let shown = wanted.names.len().min((MOST_BARS / wanted.bars_per_name.max(1)).max(1));
        let names: Vec<Vec<String>> =
            wanted.names[..shown].iter().map(|name| name_type().wrap(name, WIDEST_NAME, 3)).collect();
        let widest = names.iter().flatten().map(|line| name_type().width(line)).fold(0.0, f64::max);
        let label = wanted.label + LABEL_GAP;
        let plot_left = MARGIN + widest + NAME_GAP + if wanted.has_negative { label } else { 0.0 };
        // Half of the last tick's label stands beyond the axis.
        let last_tick = wanted.axis.ticks.last().map_or(0.0, |tick| tick_type().width(&tick.label) / 2.0);
        let plot_right = WIDTH - MARGIN - label.max(last_tick);
        let top = heading::bottom(&picture.title) + 6.0;
        let mut plot = Area { left: plot_left, top, right: plot_right, bottom: top };
        let bars = wanted.thickness * wanted.bars_per_name.max(1) as f64;
        let bands = names.into_iter().map(|lines| band(&mut plot, lines, bars, wanted.gap)).collect();
        let axis_label = tick_type().wrap(&picture.axis, plot.width(), 2);
        let legend = Flow::new(wanted.legend.0, wanted.legend.1.into_iter(), WIDTH - 2.0 * MARGIN);
        Self {
            title: picture.title.clone(),
            axis_label,
            plot,
            axis: wanted.axis,
            bands,
            left_out: wanted.names.len() - shown,
            legend,
        }
    }

    pub fn height(&self) -> f64 {
        self.legend_top()
            + self.legend.height()
            + if self.left_out > 0 { tick_type().leading() } else { 0.0 }
            + MARGIN * 0.6
    }

    /// The areas of the bars of each name that is shown.
    pub fn bands(&self) -> impl Iterator<Item = Area> {
        self.bands.iter().map(|(_, area)| *area)
    }

    /// Where a value ends; at the paper's edge where it has no place on the axis.
    pub fn x(&self, value: f64) -> f64 {
        let place = self.axis.place(value).unwrap_or(0.0).clamp(0.0, 1.0);
        self.plot.left + place * self.plot.width()
    }

    fn label_baseline(&self) -> f64 {
        self.plot.bottom + TICK_GAP + 2.0 * tick_type().leading()
    }

    fn legend_top(&self) -> f64 {
        self.label_baseline() + (self.axis_label.len().max(1) - 1) as f64 * tick_type().leading() + 14.0
    }

    /// Everything but the bars, which go on top of it.
    pub fn paint<B: DrawingBackend>(&self, canvas: &mut Canvas<B>) -> Result<()> {
        heading::paint(canvas, &self.title)?;
        for tick in &self.axis.ticks {
            let x = self.x(tick.value);
            canvas.line((x, self.plot.top), (x, self.plot.bottom), style::HAIR, GRID)?;
            let baseline = self.plot.bottom + TICK_GAP + tick_type().cap();
            canvas.text(&tick.label, (x, baseline), Align::Centre, tick_type())?;
        }
        for (lines, area) in &self.bands {
            let baseline = area.centre().1 + name_type().cap() / 2.0;
            let first = baseline - (lines.len().max(1) - 1) as f64 * name_type().leading() / 2.0;
            canvas.paragraph(lines, (self.name_right(), first), Align::Right, name_type())?;
        }
        let middle = self.plot.centre().0;
        canvas.paragraph(&self.axis_label, (middle, self.label_baseline()), Align::Centre, tick_type())?;
        self.legend.paint(canvas, MARGIN.max(self.legend_left()), self.legend_top())?;
        self.note(canvas)
    }

    /// The zero line, on top of the bars.
    pub fn zero<B: DrawingBackend>(&self, canvas: &mut Canvas<B>) -> Result<()> {
        let zero = self.x(0.0);
        canvas.line((zero, self.plot.top), (zero, self.plot.bottom), 1.0, AXIS)
    }

    fn name_right(&self) -> f64 {
        let widest = self.bands.iter().flat_map(|(lines, _)| lines).map(|line| name_type().width(line));
        MARGIN + widest.fold(0.0, f64::max)
    }

    /// Under the plot where it fits there in one line, else from the paper's edge.
    fn legend_left(&self) -> f64 {
        let room = WIDTH - MARGIN - self.plot.left;
        if self.legend.width() <= room { self.plot.left } else { MARGIN }
    }

    fn note<B: DrawingBackend>(&self, canvas: &mut Canvas<B>) -> Result<()> {
        if self.left_out == 0 {
            return Ok(());
        }
        let note = format!("{} more are not drawn; the rows have them", self.left_out);
        let baseline = self.legend_top() + self.legend.height() + tick_type().cap();
        canvas.text(&note, (MARGIN, baseline), Align::Left, tick_type())
    }
}

/// A value beside its bar, on paper of its own, as a grid line through digits makes them hard to read.
pub fn label<B: DrawingBackend>(canvas: &mut Canvas<B>, text: &str, at: Point, align: Align, kind: Type) -> Result<()> {
    let (left, right) = match align {
        Align::Left => (at.0, at.0 + kind.width(text)),
        Align::Centre => (at.0 - kind.width(text) / 2.0, at.0 + kind.width(text) / 2.0),
        Align::Right => (at.0 - kind.width(text), at.0),
    };
    let paper = Area { left: left - 1.5, right: right + 1.5, top: at.1 - kind.cap() - 1.0, bottom: at.1 + 1.0 };
    canvas.fill(paper, PAPER)?;
    canvas.text(text, at, align, kind)
}

/// The next band, below those that the plot has so far.
fn band(plot: &mut Area, lines: Vec<String>, bars: f64, gap: f64) -> (Vec<String>, Area) {
    let needed = (bars + gap).max(lines.len() as f64 * name_type().leading() + 4.0);
    let middle = plot.bottom + needed / 2.0;
    plot.bottom += needed;
    (lines, Area { top: middle - bars / 2.0, bottom: middle + bars / 2.0, ..*plot })
}
