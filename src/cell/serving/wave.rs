//! How many gets come in each minute of a day.

use std::f64::consts::TAU;

use super::Day;

const MINUTES_OF_A_DAY: f64 = 24.0 * 60.0;

/// Gets of a minute, counted from midnight: a sine with its trough at four in the morning and its peak at four in the afternoon, as
/// traffic of people who travel has.
pub fn gets(day: &Day, minute: u64, entries: u64) -> u64 {
    let hours_from_trough = (minute as f64 / 60.0 - 4.0) / (MINUTES_OF_A_DAY / 60.0);
    let height = (1.0 - (TAU * hours_from_trough).cos()) / 2.0;
    let peak = day.peak_gets_per_minute_per_entry * entries as f64;
    (peak * (day.trough + (1.0 - day.trough) * height)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wave_has_its_trough_at_four_in_the_morning_and_its_peak_twelve_hours_later() {
        let day = Day {
            hours: 24,
            refresh_every_minutes: 120,
            peak_gets_per_minute_per_entry: 0.5,
            trough: 0.25,
            other_bytes_per_entry: 0.0,
        };
        let gets: Vec<u64> = (0..24 * 60).map(|minute| gets(&day, minute, 8000)).collect();
        assert_eq!((gets[4 * 60], gets[16 * 60]), (1000, 4000));
        assert!(gets.iter().all(|gets| (1000..=4000).contains(gets)));
        assert!(gets[4 * 60..=16 * 60].is_sorted());
    }
}
