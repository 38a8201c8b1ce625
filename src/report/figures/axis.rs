//! From values to places on an axis, and where its ticks stand. Knows nothing of canvases and stores.

use super::numbers;

/// Beyond this, sums and differences of two values are no longer finite.
const HUGE: f64 = 1e300;

#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub label: String,
}

/// One axis. Its ends are in the space that is linear on paper: the value, its logarithm, or the stretched percentile.
#[derive(Debug, Clone)]
pub struct Axis {
    transform: fn(f64) -> f64,
    low: f64,
    high: f64,
    pub ticks: Vec<Tick>,
}

impl Axis {
    /// Linear, with zero in it: for bars and everything whose length or height is read as an amount. An end is the
    /// next tick beyond the values, or just beyond the last value where that tick would waste paper.
    pub fn from_zero(values: impl IntoIterator<Item = f64>, ticks: usize) -> Self {
        const WASTE: f64 = 0.1;
        const ROOM: f64 = 0.03;
        let (low, high) = span(values).map_or((0.0, 1.0), |(low, high)| (low.min(0.0), high.max(0.0)));
        let (low, high) = if high - low < f64::MIN_POSITIVE * 1e16 { (0.0, 1.0) } else { (low, high) };
        let (length, step) = (high - low, step(high - low, ticks));
        let end = |value: f64, tick: f64| match (tick - value).abs() <= WASTE * length {
            true => tick,
            false => value + value.signum() * ROOM * length,
        };
        let low = end(low, (low / step).floor() * step).min(low);
        let high = end(high, (high / step).ceil() * step).max(high);
        Self { transform: identity, low, high, ticks: steps(low, high + step * 1e-6, step) }
    }

    /// Linear over just these values, with some room at both ends.
    pub fn linear(values: impl IntoIterator<Item = f64>, ticks: usize) -> Self {
        let (low, high) = widened(span(values).unwrap_or((0.0, 1.0)), 0.5);
        Self { transform: identity, low, high, ticks: steps(low, high, step(high - low, ticks)) }
    }

    /// Logarithmic over the positive ones of these values, with some room at both ends.
    pub fn log(values: impl IntoIterator<Item = f64>, label: fn(f64) -> String) -> Self {
        let positive = values.into_iter().filter(|value| *value > 0.0).map(f64::log10);
        let (low, high) = widened(span(positive).unwrap_or((0.0, 1.0)), 0.35);
        Self { transform: f64::log10, low, high, ticks: decades(low, high, label) }
    }

    /// Percentiles, stretched towards the tail: each nine is as wide as the one before. The hundredth, which would be
    /// infinitely far away, stands at the axis's end as the maximum.
    pub fn tail(percentiles: impl IntoIterator<Item = f64>) -> Self {
        let places: Vec<f64> = percentiles.into_iter().map(stretched).collect();
        let (_, deepest) = span(places.iter().copied().filter(|place| *place < MAXIMUM)).unwrap_or((0.0, 1.0));
        let deepest = deepest.max(1.0);
        let has_maximum = places.contains(&MAXIMUM);
        let nines = (1..=(deepest + 1e-6) as i32).map(|nines| 100.0 - 10_f64.powi(2 - nines));
        let mut ticks: Vec<Tick> = [0.0, 50.0].into_iter().chain(nines).map(percentile_tick).collect();
        if has_maximum {
            ticks.push(Tick { value: 100.0, label: "max".to_owned() });
        }
        Self { transform: stretched, low: 0.0, high: deepest + if has_maximum { 0.6 } else { 0.0 }, ticks }
    }

    /// These values as ticks instead of the generated ones: for a few sizes or thread counts, which a reader wants to
    /// see.
    pub fn with_ticks_at(mut self, values: &[f64]) -> Self {
        self.ticks = values.iter().map(|value| Tick { value: *value, label: exact(*value) }).collect();
        self
    }

    /// 0 at the low end, 1 at the high end; `None` for what has no place at all (NaN, zero on a logarithmic axis).
    pub fn place(&self, value: f64) -> Option<f64> {
        let place = ((self.transform)(value.clamp(-HUGE, HUGE)) - self.low) / (self.high - self.low);
        place.is_finite().then_some(place)
    }
}

/// The rarest event that a latency axis shows apart: one in 10⁹.
const DEEPEST: f64 = 9.0;
/// Where the hundredth percentile is put, beyond all others.
const MAXIMUM: f64 = 2.0 * DEEPEST;

fn stretched(percentile: f64) -> f64 {
    if percentile >= 100.0 { MAXIMUM } else { (-(1.0 - percentile.max(0.0) / 100.0).log10()).min(DEEPEST) }
}

fn percentile_tick(value: f64) -> Tick {
    let digits = format!("{value:.7}");
    Tick { value, label: digits.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

fn identity(value: f64) -> f64 {
    value
}

/// Lowest and highest of the finite values.
fn span(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).map(|value| value.clamp(-HUGE, HUGE)).fold(
        None,
        |span, value| match span {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        },
    )
}

/// Four per cent more at both ends; `around` on both sides of a single value.
fn widened((low, high): (f64, f64), around: f64) -> (f64, f64) {
    let room = (high - low) * 0.04;
    let enough = low.abs().max(high.abs()) * 1e-9;
    if room > enough {
        (low - room, high + room)
    } else {
        (low - around.max(enough * 100.0), high + around.max(enough * 100.0))
    }
}

/// 1, 2 or 5 times a power of ten, so that about `ticks` steps cover the span.
fn step(span: f64, ticks: usize) -> f64 {
    let rough = span / ticks.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999).unwrap_or(10.0);
    factor * power
}

/// The multiples of `step` within these ends.
fn steps(low: f64, high: f64, step: f64) -> Vec<Tick> {
    const MOST: usize = 40;
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let first = (low / step).ceil();
    (0..MOST)
        .map(|place| (first + place as f64) * step)
        .take_while(|value| *value <= high)
        .map(|value| Tick { value, label: step_label(value, step, decimals) })
        .collect()
}

fn step_label(value: f64, step: f64, decimals: usize) -> String {
    if step < 1e-6 { numbers::tidy(value) } else { numbers::fixed(value, decimals) }
}

/// Powers of ten: with 2 and 5 times of them where the axis is short, even steps instead where it is shorter still, and
/// only every so manyth where it is long.
fn decades(low: f64, high: f64, label: fn(f64) -> String) -> Vec<Tick> {
    let span = high - low;
    const FEW: usize = 3;
    let factors: &[f64] = match span {
        _ if span < 1.7 => &[1.0, 2.0, 5.0],
        _ if span < 2.5 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let every = (span / 8.0).ceil().max(1.0) as usize;
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    let powers = (first..=last).filter(|power| (power.unsigned_abs() as usize).is_multiple_of(every));
    let ticks: Vec<Tick> = powers
        .flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)))
        .filter(|value| (low..=high).contains(&value.log10()))
        .map(|value| Tick { value, label: label(value) })
        .collect();
    if ticks.len() >= FEW || span > 1.0 {
        return ticks;
    }
    let (from, to) = (10_f64.powf(low), 10_f64.powf(high));
    let even = steps(from, to, step(to - from, 2 * FEW));
    even.into_iter().map(|tick| Tick { label: label(tick.value), ..tick }).collect()
}

/// All digits of a whole number, as sizes just past a table's doubling differ in the third or fourth.
fn exact(value: f64) -> String {
    if value.fract() == 0.0 { numbers::fixed(value, 0) } else { numbers::tidy(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|tick| tick.label.replace('\u{202f}', " ").replace('\u{2212}', "-")).collect()
    }

    #[test]
    fn an_axis_of_amounts_contains_zero_and_every_value() {
        for values in [
            vec![3.0, 404.4],
            vec![-5.0, 2.0],
            vec![-9.0, -8.0],
            vec![0.0],
            vec![],
            vec![f64::NAN, 7e299],
            vec![4e-320],
            vec![f64::INFINITY, 100.0, f64::MIN],
        ] {
            let axis = Axis::from_zero(values.clone(), 5);
            for value in values.into_iter().chain([0.0]).filter(|value| value.is_finite()) {
                let place = axis.place(value).unwrap();
                assert!((0.0..=1.0).contains(&place), "{value} of {axis:?}");
            }
            assert!(axis.ticks.len() > 1, "{axis:?}");
        }
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(&Axis::from_zero([404.4], 5)), ["0", "100", "200", "300", "400"]);
        assert_eq!(labels(&Axis::from_zero([460.0], 5)), ["0", "100", "200", "300", "400", "500"]);
        assert_eq!(labels(&Axis::from_zero([-0.45, 0.9], 5)), ["-0.5", "0", "0.5", "1.0"]);
        assert_eq!(labels(&Axis::log([1_000.0, 9e5], numbers::tidy)), ["1 000", "10 000", "100 000", "1 000 000"]);
        assert_eq!(labels(&Axis::log([150.0, 900.0], numbers::nanos)), ["200 ns", "400 ns", "600 ns", "800 ns"]);
    }

    #[test]
    fn each_nine_of_a_latency_axis_is_as_wide_as_the_one_before() {
        assert_eq!(labels(&Axis::tail([99.9, 100.0])).last().map(String::as_str), Some("max"));
        let axis = Axis::tail([0.0, 50.0, 99.99]);
        assert_eq!(labels(&axis), ["0", "50", "90", "99", "99.9", "99.99"]);
        let places: Vec<f64> = [0.0, 90.0, 99.0, 99.9, 99.99].into_iter().filter_map(|p| axis.place(p)).collect();
        assert!(
            places.iter().zip([0.0, 0.25, 0.5, 0.75, 1.0]).all(|(place, due)| (place - due).abs() < 1e-9),
            "{places:?}"
        );
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        let log = Axis::log([1.0, 10.0], numbers::tidy);
        assert_eq!([log.place(0.0), log.place(-1.0), log.place(f64::NAN)], [None; 3]);
        assert!(log.place(f64::INFINITY).is_some_and(|place| place > 1.0));
        assert!(Axis::linear([1e18, 1e18 + 256.0], 5).ticks.len() <= 40);
        assert!(Axis::linear([5.0], 5).place(5.0).is_some_and(|place| (place - 0.5).abs() < 1e-9));
    }
}
