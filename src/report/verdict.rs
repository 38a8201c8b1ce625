//! A claim and what was measured, to a verdict.

use super::expression::{Evaluated, evaluate};
use super::rows::Rows;
use crate::experiment::file::{Bound, Claim, Expect, Scale};
use crate::record::{ClaimRow, Verdict};
use crate::stats::Interval;

/// An interval wider than this share of its middle can't tell.
const TOO_WIDE: f64 = 0.2;

/// Judges a claim by the rows of a run.
pub fn judge(claim: &Claim, source: &str, scale: Scale, rows: &Rows, seed: u64) -> ClaimRow {
    let differs = claim.differs_at.get(&scale).unwrap_or(&claim.differs).clone();
    let row = |interval: Option<Interval>, verdict, differs| ClaimRow {
        id: claim.id.clone(),
        source: source.to_owned(),
        claim: claim.claim.clone(),
        published: claim.published.clone(),
        measured: interval.map(|interval| interval.mid),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        unit: claim.unit.clone(),
        verdict,
        differs,
    };
    let Some(expression) = &claim.measure else {
        let why = claim.cannot.clone().unwrap_or(differs);
        return row(None, Verdict::CannotTestHere, why);
    };
    match evaluate(expression, rows, seed) {
        Ok(Evaluated::Figure(interval)) => row(Some(interval), verdict(claim, interval), differs),
        Ok(Evaluated::Missing(why)) => row(None, Verdict::CannotTestHere, why),
        Err(error) => row(None, Verdict::CannotTestHere, format!("{error:#}")),
    }
}

fn verdict(claim: &Claim, interval: Interval) -> Verdict {
    let meets = |value: f64| claim.expect.is_some_and(|expect| within(expect, value));
    let (low, high) = (meets(interval.low), meets(interval.high));
    if low && high {
        return Verdict::Reproduced;
    }
    let wide = interval.high - interval.low > TOO_WIDE * interval.mid.abs();
    let touches = low || high || meets(interval.mid) || around(claim.expect, interval);
    if touches && wide {
        return Verdict::TooNoisy;
    }
    match claim.direction {
        Some(bound) if beyond(bound, interval.low) && beyond(bound, interval.high) => Verdict::DirectionOnly,
        Some(bound) if wide && (beyond(bound, interval.low) || beyond(bound, interval.high)) => Verdict::TooNoisy,
        _ => Verdict::NotReproduced,
    }
}

fn within(expect: Expect, value: f64) -> bool {
    expect.at_least.is_none_or(|least| value >= least) && expect.at_most.is_none_or(|most| value <= most)
}

/// Whether the accepted range lies inside the interval.
fn around(expect: Option<Expect>, interval: Interval) -> bool {
    let inside = |bound: f64| interval.low < bound && bound < interval.high;
    expect.is_some_and(|expect| expect.at_least.is_some_and(inside) || expect.at_most.is_some_and(inside))
}

fn beyond(bound: Bound, value: f64) -> bool {
    bound.above.is_none_or(|above| value > above) && bound.below.is_none_or(|below| value < below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(expect: (Option<f64>, Option<f64>), above: Option<f64>, interval: (f64, f64, f64)) -> Verdict {
        let claim = Claim {
            id: "X1".to_owned(),
            claim: String::new(),
            published: String::new(),
            unit: String::new(),
            measure: None,
            expect: Some(Expect { at_least: expect.0, at_most: expect.1 }),
            direction: above.map(|above| Bound { above: Some(above), below: None }),
            cannot: None,
            differs: String::new(),
            differs_at: Default::default(),
        };
        verdict(&claim, Interval { low: interval.0, mid: interval.1, high: interval.2 })
    }

    #[test]
    fn the_whole_interval_must_meet_the_published_figure() {
        let two = (Some(1.8), Some(2.2));
        assert_eq!(judged(two, Some(1.5), (1.8, 2.0, 2.2)), Verdict::Reproduced);
        assert_eq!(judged(two, Some(1.5), (2.0, 2.0, 2.0)), Verdict::Reproduced);
        assert_eq!(judged(two, Some(1.5), (2.1, 2.2, 2.21)), Verdict::DirectionOnly);
        assert_eq!(judged(two, None, (2.1, 2.2, 2.21)), Verdict::NotReproduced);
    }

    #[test]
    fn an_interval_on_the_published_side_is_direction_only() {
        assert_eq!(judged((Some(63.0), Some(77.0)), Some(50.0), (78.0, 78.0, 78.0)), Verdict::DirectionOnly);
        assert_eq!(judged((Some(63.0), Some(77.0)), Some(50.0), (50.0, 50.0, 50.0)), Verdict::NotReproduced);
        assert_eq!(judged((Some(63.0), None), Some(50.0), (40.0, 41.0, 42.0)), Verdict::NotReproduced);
    }

    #[test]
    fn an_interval_too_wide_to_say_is_too_noisy() {
        assert_eq!(judged((Some(1.8), Some(2.2)), Some(1.0), (1.2, 2.0, 2.6)), Verdict::TooNoisy);
        assert_eq!(judged((Some(1.8), Some(2.2)), Some(1.0), (1.5, 1.7, 2.6)), Verdict::TooNoisy);
        assert_eq!(judged((Some(5.0), None), Some(1.0), (0.9, 1.1, 1.3)), Verdict::TooNoisy);
    }
}
