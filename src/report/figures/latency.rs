//! Latency percentiles per store: the percentile axis is stretched towards the tail, nanoseconds are logarithmic.

use anyhow::Result;
use plotters::prelude::DrawingBackend;

use super::axis::Axis;
use super::canvas::{Canvas, Point};
use super::legend::List;
use super::plane::{self, Plane};
use super::style::Look;
use super::{Picture, numbers};

const X_AXIS: &str = "percentile of all gets";

/// The points that have a place, from left to right. A latency of nothing (below the clock's step) has none on a
/// logarithmic axis.
pub fn drawable(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let has_place = |(percentile, ns): &(f64, f64)| (0.0..=100.0).contains(percentile) && ns.is_finite() && *ns > 0.0;
    let mut points: Vec<(f64, f64)> = points.iter().copied().filter(has_place).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

pub fn height(picture: &Picture, lines: &[(String, Vec<(f64, f64)>)]) -> f64 {
    plane::height(picture, &List::new(lines.iter().map(|(name, _)| name.as_str())))
}

pub fn paint<B: DrawingBackend>(
    canvas: &mut Canvas<B>,
    picture: &Picture,
    lines: &[(String, Vec<(f64, f64)>)],
) -> Result<()> {
    let drawn: Vec<(&str, Vec<(f64, f64)>)> = lines
        .iter()
        .map(|(name, points)| (name.as_str(), drawable(points)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let all = || drawn.iter().flat_map(|(_, points)| points.iter().copied());
    let names: Vec<&str> = drawn.iter().map(|(name, _)| *name).collect();
    let ends: Vec<f64> = drawn.iter().map(|(_, points)| points[points.len() - 1].1).collect();
    let in_order = plane::legend_order(&ends);
    let (x, y) = (Axis::tail(all().map(|point| point.0)), Axis::log(all().map(|point| point.1), numbers::nanos));
    let plane = Plane::new(picture, X_AXIS, x, y, in_order.iter().map(|place| names[*place]));
    plane.paint(canvas)?;
    for place in plane::painting_order(&names) {
        let (name, points) = &drawn[place];
        let at: Vec<Point> = points.iter().filter_map(|(percentile, ns)| plane.point(*percentile, *ns)).collect();
        plane.line(canvas, Look::of(name), &at, place)?;
    }
    Ok(())
}
