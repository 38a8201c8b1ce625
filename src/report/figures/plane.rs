//! The paper of lines: two axes, and the legend at the side. Knows how to draw a store's line, not what it means.

use anyhow::Result;
use plotters::prelude::DrawingBackend;

use super::Picture;
use super::axis::{Axis, Tick};
use super::canvas::{Align, Area, Canvas, Point};
use super::heading;
use super::legend::List;
use super::letters::Type;
use super::style::{self, AXIS, GRID, HEIGHT, Look, MARGIN, QUIET, SMALL_EM, WIDTH};

const LEGEND_GAP: f64 = 22.0;
const TICK_GAP: f64 = 8.0;
/// Markers on one line; a line of more points is marked at some of them.
const MOST_MARKERS: usize = 12;

fn kind() -> Type {
    Type::new(SMALL_EM, QUIET)
}

/// High enough for the lines to be told apart, and for the legend.
pub fn height(picture: &Picture, legend: &List) -> f64 {
    let above = heading::bottom(&picture.title) + axis_label(picture).len() as f64 * kind().leading() + 12.0;
    HEIGHT.max(above + legend.height() + beneath(1) + 8.0)
}

fn axis_label(picture: &Picture) -> Vec<String> {
    kind().wrap(&picture.axis, WIDTH - 2.0 * MARGIN, 2)
}

/// Room for the ticks and the label of the horizontal axis.
fn beneath(label_lines: usize) -> f64 {
    TICK_GAP + (1 + label_lines) as f64 * kind().leading() + MARGIN * 0.8
}

pub struct Plane {
    title: String,
    y_label: Vec<String>,
    x_label: Vec<String>,
    area: Area,
    x: Axis,
    y: Axis,
    legend: List,
}

impl Plane {
    /// `names` in the order of the legend.
    pub fn new<'a>(picture: &Picture, x_label: &str, x: Axis, y: Axis, names: impl Iterator<Item = &'a str>) -> Self {
        let legend = List::new(names);
        let y_label = axis_label(picture);
        let top = heading::bottom(&picture.title) + y_label.len() as f64 * kind().leading() + 12.0;
        let widest = y.ticks.iter().map(|tick| kind().width(&tick.label)).fold(0.0, f64::max);
        let left = MARGIN + widest + TICK_GAP;
        let right = WIDTH - MARGIN - legend.width() - LEGEND_GAP;
        let x_label = kind().wrap(x_label, right - left, 2);
        let bottom = height(picture, &legend) - beneath(x_label.len());
        Self { title: picture.title.clone(), y_label, x_label, area: Area { left, top, right, bottom }, x, y, legend }
    }

    pub fn point(&self, x: f64, y: f64) -> Option<Point> {
        let (across, up) = (self.x.place(x)?.clamp(0.0, 1.0), self.y.place(y)?.clamp(0.0, 1.0));
        Some((self.area.left + across * self.area.width(), self.area.bottom - up * self.area.height()))
    }

    /// Everything but the lines, which go on top of it.
    pub fn paint<B: DrawingBackend>(&self, canvas: &mut Canvas<B>) -> Result<()> {
        heading::paint(canvas, &self.title)?;
        let label_baseline = heading::bottom(&self.title) + kind().cap();
        canvas.paragraph(&self.y_label, (MARGIN, label_baseline), Align::Left, kind())?;
        self.horizontals(canvas)?;
        self.verticals(canvas)?;
        let Area { left, top, right, bottom } = self.area;
        canvas.path(&[(left, top), (left, bottom), (right, bottom)], 1.0, AXIS)?;
        self.legend.paint(canvas, right + LEGEND_GAP, top)
    }

    fn horizontals<B: DrawingBackend>(&self, canvas: &mut Canvas<B>) -> Result<()> {
        for tick in &self.y.ticks {
            let Some(place) = self.y.place(tick.value) else { continue };
            let y = self.area.bottom - place * self.area.height();
            canvas.line((self.area.left, y), (self.area.right, y), style::HAIR, GRID)?;
            let at = (self.area.left - TICK_GAP, y + kind().cap() / 2.0);
            canvas.text(&tick.label, at, Align::Right, kind())?;
        }
        Ok(())
    }

    fn verticals<B: DrawingBackend>(&self, canvas: &mut Canvas<B>) -> Result<()> {
        let bottom = self.area.bottom;
        for (x, _) in self.x_ticks() {
            canvas.line((x, self.area.top), (x, bottom), style::HAIR, GRID)?;
            canvas.line((x, bottom), (x, bottom + 4.0), 1.0, AXIS)?;
        }
        for (x, tick) in self.labelled() {
            canvas.text(&tick.label, (x, bottom + TICK_GAP + kind().cap()), Align::Centre, kind())?;
        }
        let baseline = bottom + TICK_GAP + kind().cap() + kind().leading() + 4.0;
        canvas.paragraph(&self.x_label, (self.area.centre().0, baseline), Align::Centre, kind())?;
        Ok(())
    }

    fn x_ticks(&self) -> impl Iterator<Item = (f64, &Tick)> {
        let place = |tick: &Tick| {
            self.x.place(tick.value).map(|place| self.area.left + place.clamp(0.0, 1.0) * self.area.width())
        };
        self.x.ticks.iter().filter_map(move |tick| place(tick).map(|x| (x, tick)))
    }

    /// The ticks whose labels don't touch one another; the last one, the largest size, goes first.
    fn labelled(&self) -> Vec<(f64, &Tick)> {
        const APART: f64 = 8.0;
        let mut ticks: Vec<(f64, &Tick)> = self.x_ticks().collect();
        ticks.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut free = f64::INFINITY;
        ticks.retain(|(x, tick)| {
            let half = kind().width(&tick.label) / 2.0;
            let fits = x + half + APART <= free;
            if fits {
                free = x - half;
            }
            fits
        });
        ticks
    }

    /// A store's line. `turn` is its number among the lines, so that the markers of lines that lie on each other don't.
    pub fn line<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<B>,
        look: Look,
        points: &[Point],
        turn: usize,
    ) -> Result<()> {
        canvas.dashed(&thinned(points), look.dash.lengths(), style::LINE, look.colour)?;
        for place in marked(points.len(), turn) {
            canvas.marker(points[place], look.marker, look.twin, look.colour)?;
        }
        Ok(())
    }
}

/// Without the points that lie within a fraction of a pixel of the one before.
fn thinned(points: &[Point]) -> Vec<Point> {
    const NEAR: f64 = 0.25;
    let mut kept: Vec<Point> = Vec::with_capacity(points.len().min(4096));
    for (place, point) in points.iter().enumerate() {
        let is_far = kept.last().is_none_or(|last| (point.0 - last.0).hypot(point.1 - last.1) > NEAR);
        if is_far || place + 1 == points.len() {
            kept.push(*point);
        }
    }
    kept
}

fn marked(points: usize, turn: usize) -> impl Iterator<Item = usize> {
    let every = points.div_ceil(MOST_MARKERS).max(1);
    (turn * every / every.min(3) % every..points).step_by(every)
}

/// Unbroken lines first: broken ones on top of them let them through, as do the twins' hollow markers.
pub fn painting_order(names: &[&str]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|place| {
        let look = Look::of(names[*place]);
        (look.twin, !look.dash.lengths().is_empty())
    });
    order
}

/// The legend's order is that of the lines' right ends, from above.
pub fn legend_order(ends: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|one, other| ends[*other].total_cmp(&ends[*one]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_follows_the_right_ends_of_the_lines() {
        assert_eq!(legend_order(&[1.0, 3.0, 2.0]), [1, 2, 0]);
    }

    #[test]
    fn a_twin_is_drawn_on_top_of_its_store() {
        assert_eq!(painting_order(&["packed+twin", "packed", "somestore"]), [1, 2, 0]);
    }

    #[test]
    fn a_long_line_has_few_markers_and_a_short_one_all() {
        assert_eq!(marked(5, 3).count(), 5);
        assert!((8..=MOST_MARKERS).contains(&marked(1000, 1).count()));
        assert_ne!(marked(1000, 0).next(), marked(1000, 1).next());
        assert_eq!(marked(0, 2).count(), 0);
    }
}
