//! Stacked bars: a bar per store, its parts one behind another, the total at its end.

use anyhow::Result;
use plotters::prelude::DrawingBackend;

use super::axis::Axis;
use super::canvas::{Align, Area, Canvas};
use super::letters::Type;
use super::rows::{self, LABEL_GAP, Rows, Wanted};
use super::style::{self, Look, PAPER};
use super::{Picture, numbers};

const TICKS: usize = 6;

pub struct Stack<'a> {
    groups: &'a [String],
    values: &'a [Vec<f64>],
    rows: Rows,
}

impl<'a> Stack<'a> {
    pub fn new(picture: &Picture, groups: &'a [String], parts: &'a [String], values: &'a [Vec<f64>]) -> Self {
        let values = &values[..values.len().min(groups.len())];
        let ends =
            values.iter().flat_map(|values| [sum(values, f64::is_sign_negative), sum(values, f64::is_sign_positive)]);
        let labels = values.iter().map(|values| total_type().width(&numbers::tidy(total(values))));
        let wanted = Wanted {
            names: groups,
            bars_per_name: 1,
            thickness: 26.0,
            gap: 12.0,
            axis: Axis::from_zero(ends, TICKS),
            label: labels.fold(total_type().width(&numbers::tidy(f64::NAN)), f64::max),
            has_negative: false,
            legend: (parts, (0..parts.len()).map(style::part).collect()),
        };
        Self { groups, values, rows: Rows::new(picture, wanted) }
    }

    pub fn height(&self) -> f64 {
        self.rows.height()
    }

    pub fn paint<B: DrawingBackend>(&self, canvas: &mut Canvas<B>) -> Result<()> {
        self.rows.paint(canvas)?;
        for (group, band) in self.rows.bands().enumerate() {
            let values = self.values.get(group).map_or(&[][..], Vec::as_slice);
            self.bar(canvas, band, values, Look::of(&self.groups[group]))?;
        }
        self.rows.zero(canvas)
    }

    /// Negative parts (a footprint that claims more than there is) go to the left of zero.
    fn bar<B: DrawingBackend>(&self, canvas: &mut Canvas<B>, band: Area, values: &[f64], look: Look) -> Result<()> {
        let (mut below, mut above) = (0.0, 0.0);
        for (place, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let start = if *value < 0.0 { &mut below } else { &mut above };
            let (from, to) = (self.rows.x(*start), self.rows.x(*start + value));
            *start += value;
            segment(canvas, Area { left: from.min(to), right: from.max(to), ..band }, place, *value)?;
        }
        let (left, right) = (self.rows.x(below), self.rows.x(above));
        if look.twin && right > left {
            canvas.frame(Area { left, right, ..band }, look.dash.lengths(), style::LINE, style::INK)?;
        }
        let baseline = band.centre().1 + total_type().cap() / 2.0;
        rows::label(canvas, &numbers::tidy(total(values)), (right + LABEL_GAP, baseline), Align::Left, total_type())
    }
}

/// One part, with its value where there is room for it.
fn segment<B: DrawingBackend>(canvas: &mut Canvas<B>, area: Area, place: usize, value: f64) -> Result<()> {
    if area.width() <= 0.0 {
        return Ok(());
    }
    let colour = style::part(place);
    canvas.fill(area, colour)?;
    canvas.line((area.right, area.top), (area.right, area.bottom), style::HAIR, PAPER)?;
    let (label, kind) = (numbers::tidy(value), Type::new(style::SMALL_EM, style::ink_on(colour)));
    if kind.width(&label) + 8.0 > area.width() {
        return Ok(());
    }
    let (middle, centre) = area.centre();
    canvas.text(&label, (middle, centre + kind.cap() / 2.0), Align::Centre, kind)
}

fn total_type() -> Type {
    rows::value_type().bold()
}

/// Of the finite values; NaN where there are none, which reads "n/a".
fn total(values: &[f64]) -> f64 {
    if values.iter().any(|value| value.is_finite()) { sum(values, |_| true) } else { f64::NAN }
}

fn sum(values: &[f64], which: impl Fn(f64) -> bool) -> f64 {
    values.iter().copied().filter(|value| value.is_finite() && which(*value)).sum()
}
