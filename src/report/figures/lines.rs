//! A line per store over sizes, threads or time, with its intervals.

use anyhow::Result;
use plotters::prelude::{DrawingBackend, RGBColor};

use super::axis::Axis;
use super::canvas::{Canvas, Point};
use super::legend::List;
use super::plane::{self, Plane};
use super::style::{self, Look};
use super::{Line, Picture, Whisker, numbers};

/// Intervals of more points than these are drawn as a band: single whiskers would be a hedge.
const MOST_WHISKERS: usize = 24;
/// So few sizes or thread counts have a tick each.
const MOST_OWN_TICKS: usize = 12;
const TICKS: usize = 6;
/// Beyond this ratio the lower line of a linear axis is within a tick's thickness of zero.
const FAR_APART: f64 = 30.0;

/// The points that have a place, from left to right.
pub fn drawable(line: &Line, log_x: bool) -> Vec<(f64, Whisker)> {
    let has_place = |(x, y): &(f64, Whisker)| x.is_finite() && y.mid.is_finite() && (!log_x || *x > 0.0);
    let mut points: Vec<(f64, Whisker)> = line.points.iter().copied().filter(has_place).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

pub fn height(picture: &Picture, lines: &[Line]) -> f64 {
    plane::height(picture, &List::new(lines.iter().map(|line| line.name.as_str())))
}

pub fn paint<B: DrawingBackend>(
    canvas: &mut Canvas<B>,
    picture: &Picture,
    x_axis: &str,
    log_x: bool,
    lines: &[Line],
) -> Result<()> {
    let drawn: Vec<(&str, Vec<(f64, Whisker)>)> = lines
        .iter()
        .map(|line| (line.name.as_str(), drawable(line, log_x)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let ends: Vec<f64> = drawn.iter().map(|(_, points)| points[points.len() - 1].1.mid).collect();
    let names: Vec<&str> = drawn.iter().map(|(name, _)| *name).collect();
    let in_order = plane::legend_order(&ends);
    let (y, is_log) = y_axis(&drawn, picture.from_zero);
    let labelled =
        if is_log { &Picture { axis: format!("{} (log scale)", picture.axis), ..picture.clone() } } else { picture };
    let plane = Plane::new(labelled, x_axis, x_of(&drawn, log_x), y, in_order.iter().map(|place| names[*place]));
    plane.paint(canvas)?;
    for place in plane::painting_order(&names) {
        let (name, points) = &drawn[place];
        let look = Look::of(name);
        let at: Vec<Point> = points.iter().filter_map(|(x, y)| plane.point(*x, y.mid)).collect();
        whiskers(canvas, &plane, points, look.colour)?;
        plane.line(canvas, look, &at, place)?;
    }
    Ok(())
}

fn x_of(drawn: &[(&str, Vec<(f64, Whisker)>)], log: bool) -> Axis {
    let mut places: Vec<f64> = drawn.iter().flat_map(|(_, points)| points.iter().map(|(x, _)| *x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let axis = if log {
        Axis::log(places.iter().copied(), numbers::tidy)
    } else {
        Axis::linear(places.iter().copied(), TICKS)
    };
    if places.len() <= MOST_OWN_TICKS { axis.with_ticks_at(&places) } else { axis }
}

/// From zero, unless that would press a line flat on the axis: if the medians of the lines are far apart, logarithmic.
/// Medians, because a line over time starts near zero and is no reason.
fn y_axis(drawn: &[(&str, Vec<(f64, Whisker)>)], from_zero: bool) -> (Axis, bool) {
    let values = || drawn.iter().flat_map(|(_, points)| points.iter().flat_map(|(_, y)| [y.low, y.mid, y.high]));
    let all_positive = drawn.iter().flat_map(|(_, points)| points).all(|(_, y)| y.mid > 0.0);
    let medians: Vec<f64> = drawn.iter().map(|(_, points)| median(points)).collect();
    let (least, most) =
        medians.iter().fold((f64::MAX, 0.0_f64), |(least, most), median| (least.min(*median), most.max(*median)));
    let is_log = all_positive && most / least > FAR_APART;
    let axis = match (is_log, from_zero) {
        (true, _) => Axis::log(values(), numbers::tidy),
        (false, true) => Axis::from_zero(values(), TICKS),
        (false, false) => Axis::linear(values(), TICKS),
    };
    (axis, is_log)
}

fn median(points: &[(f64, Whisker)]) -> f64 {
    let mut values: Vec<f64> = points.iter().map(|(_, y)| y.mid).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn whiskers<B: DrawingBackend>(
    canvas: &mut Canvas<B>,
    plane: &Plane,
    points: &[(f64, Whisker)],
    colour: RGBColor,
) -> Result<()> {
    let ends: Vec<(Point, Point)> = points
        .iter()
        .filter_map(|(x, y)| y.interval().map(|(low, high)| (*x, low, high)))
        .filter_map(|(x, low, high)| Some((plane.point(x, low)?, plane.point(x, high)?)))
        .collect();
    if ends.len() > MOST_WHISKERS {
        let beneath = ends.iter().map(|(low, _)| *low);
        let outline: Vec<Point> = ends.iter().map(|(_, high)| *high).chain(beneath.rev()).collect();
        return canvas.polygon(&outline, style::tint(colour, 0.8));
    }
    const CAP: f64 = 4.0;
    for (low, high) in ends {
        canvas.line(low, high, style::WHISKER, colour)?;
        for end in [low, high] {
            canvas.line((end.0 - CAP, end.1), (end.0 + CAP, end.1), style::WHISKER, colour)?;
        }
    }
    Ok(())
}
