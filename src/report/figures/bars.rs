//! Grouped bars: a group per store, a bar per series, whiskers and values at their ends.
//! All bars of a store have its colour; series differ in lightness, as the grey samples of the legend do.

use anyhow::Result;
use plotters::prelude::{DrawingBackend, RGBColor};

use super::axis::Axis;
use super::canvas::{Align, Area, Canvas};
use super::rows::{self, LABEL_GAP, Rows, Wanted};
use super::style::{self, Dash, INK, Look};
use super::{Picture, Whisker, numbers};

const LEGEND_GREY: RGBColor = RGBColor(0x55, 0x55, 0x55);
const TICKS: usize = 6;

pub struct Bars<'a> {
    groups: &'a [String],
    series: usize,
    values: &'a [Vec<Option<Whisker>>],
    rows: Rows,
}

impl<'a> Bars<'a> {
    pub fn new(
        picture: &Picture,
        groups: &'a [String],
        series: &'a [String],
        values: &'a [Vec<Option<Whisker>>],
    ) -> Self {
        let values = &values[..values.len().min(groups.len())];
        let count = series.len().max(values.iter().map(Vec::len).max().unwrap_or(0)).max(1);
        let present = || values.iter().flatten().flatten();
        let ends = present().flat_map(|value| [value.low, value.mid, value.high]);
        let labels = present().map(|value| rows::value_type().width(&numbers::tidy(value.mid)));
        // One series is named by the axis already.
        let names = if count > 1 { series } else { &[] };
        let colours = (0..names.len()).map(|place| style::tint(LEGEND_GREY, style::lightness(place, count)));
        let wanted = Wanted {
            names: groups,
            bars_per_name: count,
            thickness: if count > 1 { 16.0 } else { 22.0 },
            gap: if count > 1 { 16.0 } else { 12.0 },
            axis: Axis::from_zero(ends, TICKS),
            label: labels.fold(rows::value_type().width(&numbers::tidy(f64::NAN)), f64::max),
            has_negative: present().any(|value| value.mid < 0.0),
            legend: (names, colours.collect()),
        };
        Self { groups, series: count, values, rows: Rows::new(picture, wanted) }
    }

    pub fn height(&self) -> f64 {
        self.rows.height()
    }

    pub fn paint<B: DrawingBackend>(&self, canvas: &mut Canvas<B>) -> Result<()> {
        self.rows.paint(canvas)?;
        for (group, band) in self.rows.bands().enumerate() {
            let look = Look::of(&self.groups[group]);
            let thickness = band.height() / self.series as f64;
            for series in 0..self.series {
                let top = band.top + series as f64 * thickness;
                let bar = Area { top, bottom: top + thickness - if self.series > 1 { 2.0 } else { 0.0 }, ..band };
                let value = self.values.get(group).and_then(|values| values.get(series)).copied().flatten();
                self.bar(canvas, bar, value, look, style::lightness(series, self.series))?;
            }
        }
        self.rows.zero(canvas)
    }

    fn bar<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<B>,
        line: Area,
        value: Option<Whisker>,
        look: Look,
        lightness: f64,
    ) -> Result<()> {
        let value = value.unwrap_or(Whisker::exact(f64::NAN));
        let (zero, end) = (self.rows.x(0.0), self.rows.x(if value.mid.is_nan() { 0.0 } else { value.mid }));
        let bar = Area { left: zero.min(end), right: zero.max(end), ..line };
        if bar.width() > 0.0 {
            let (fill, edge) =
                if look.twin { (self.twin_fill(lightness), Dash::Short) } else { (lightness, Dash::Solid) };
            canvas.fill(bar, style::tint(look.colour, fill))?;
            canvas.frame(bar, edge.lengths(), 1.0, look.colour)?;
        }
        let (mut left, mut right) = (bar.left, bar.right);
        if let Some((low, high)) = value.interval() {
            let (from, to) = (self.rows.x(low), self.rows.x(high));
            whisker(canvas, from, to, bar)?;
            (left, right) = (left.min(from), right.max(to));
        }
        let baseline = bar.centre().1 + rows::value_type().cap() / 2.0;
        let (x, align) =
            if value.mid < 0.0 { (left - LABEL_GAP, Align::Right) } else { (right + LABEL_GAP, Align::Left) };
        rows::label(canvas, &numbers::tidy(value.mid), (x, baseline), align, rows::value_type())
    }

    /// Nearly hollow; of several series, light enough to be seen as such and still told apart.
    fn twin_fill(&self, lightness: f64) -> f64 {
        if self.series > 1 { 0.45 + 0.55 * lightness } else { 0.9 }
    }
}

fn whisker<B: DrawingBackend>(canvas: &mut Canvas<B>, from: f64, to: f64, bar: Area) -> Result<()> {
    let (middle, cap) = (bar.centre().1, (bar.height() * 0.25).min(4.0));
    canvas.line((from, middle), (to, middle), style::WHISKER, INK)?;
    for end in [from, to] {
        canvas.line((end, middle - cap), (end, middle + cap), style::WHISKER, INK)?;
    }
    Ok(())
}
