//! Numbers as people read them: three significant digits, grouped thousands, SI units. Knows nothing of figures.

/// Narrow no-break space: groups thousands without letting a line break into the number.
const GROUP: char = '\u{202f}';
const MINUS: char = '\u{2212}';
const MISSING: &str = "n/a";
/// From here on, and below [`SMALLEST_PLAIN`], powers of ten are easier to read than zeros.
const LARGEST_PLAIN: f64 = 1e15;
const SMALLEST_PLAIN: f64 = 1e-4;
const DIGITS: i32 = 3;

/// Three significant digits with grouped thousands: `1 230 000`, `12.3`, `0.00123`, `1.2×10²⁰`; `n/a` for NaN.
pub fn tidy(value: f64) -> String {
    if let Some(special) = special(value) {
        return special;
    }
    let magnitude = value.abs();
    let digits = if (SMALLEST_PLAIN..LARGEST_PLAIN).contains(&magnitude) {
        let rounded = significant(magnitude);
        let decimals = (DIGITS - 1 - exponent(rounded)).max(0);
        group(&without_trailing_zeros(format!("{rounded:.*}", decimals as usize)))
    } else {
        powers_of_ten(magnitude)
    };
    signed(value, digits)
}

/// Grouped thousands and exactly this many decimals, for axis ticks, whose steps say how many digits matter.
pub fn fixed(value: f64, decimals: usize) -> String {
    match special(value) {
        Some(special) => special,
        None if value.abs() >= LARGEST_PLAIN => tidy(value),
        None => {
            let digits = format!("{:.*}", decimals, value.abs());
            let is_zero = digits.chars().all(|digit| matches!(digit, '0' | '.'));
            signed(if is_zero { 0.0 } else { value }, group(&digits))
        }
    }
}

/// Bytes in decimal units: `812 MB`, `1.5 kB`, `17 B`.
pub fn bytes(value: f64) -> String {
    in_units(value, &[(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// Nanoseconds in the unit that suits them: `250 ns`, `1.2 µs`, `3.4 ms`, `12 s`.
pub fn nanos(value: f64) -> String {
    in_units(value, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

/// The largest unit of which there is at least one after rounding, so that 999.9 ns is `1 µs` and not `1 000 ns`.
fn in_units(value: f64, units: &[(f64, &str)]) -> String {
    if value.is_nan() {
        return MISSING.to_owned();
    }
    let smallest = units[units.len() - 1];
    let rounded = significant(value.abs());
    let (size, name) = units.iter().copied().find(|(size, _)| rounded >= *size).unwrap_or(smallest);
    format!("{}{GROUP}{name}", tidy(value / size))
}

fn special(value: f64) -> Option<String> {
    match value {
        _ if value.is_nan() => Some(MISSING.to_owned()),
        _ if value.is_infinite() => Some(signed(value, "∞".to_owned())),
        _ if value == 0.0 => Some("0".to_owned()),
        _ => None,
    }
}

fn signed(value: f64, digits: String) -> String {
    if value < 0.0 { format!("{MINUS}{digits}") } else { digits }
}

/// Rounded to [`DIGITS`]. Through decimal text: multiplying by powers of ten would overflow and drift.
fn significant(magnitude: f64) -> f64 {
    format!("{magnitude:.*e}", DIGITS as usize - 1).parse().unwrap_or(magnitude)
}

/// The decimal exponent: 0 for 1..10, 2 for 100..1000, -1 for 0.1..1.
fn exponent(magnitude: f64) -> i32 {
    let text = format!("{magnitude:e}");
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

fn powers_of_ten(magnitude: f64) -> String {
    let text = format!("{magnitude:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let raised: String = exponent.chars().map(superscript).collect();
    format!("{}×10{raised}", without_trailing_zeros(mantissa.to_owned()))
}

fn superscript(digit: char) -> char {
    match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' | '4'..='9' => char::from_u32('⁰' as u32 + digit as u32 - '0' as u32).unwrap_or(digit),
        other => other,
    }
}

fn without_trailing_zeros(digits: String) -> String {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits }
}

/// Groups the whole part by threes.
fn group(digits: &str) -> String {
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 2);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(GROUP);
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ordinary spaces and minus signs, so that the tests can be read.
    fn plain(text: String) -> String {
        text.replace(GROUP, " ").replace(MINUS, "-")
    }

    #[test]
    fn numbers_keep_three_significant_digits() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (0.999_6, "1"),
            (12.345, "12.3"),
            (99.96, "100"),
            (0.001_234, "0.00123"),
            (999.6, "1 000"),
            (1_234_567.0, "1 230 000"),
            (-4_321.0, "-4 320"),
        ];
        for (value, text) in cases {
            assert_eq!(plain(tidy(value)), text, "{value}");
        }
    }

    #[test]
    fn numbers_that_no_one_can_count_become_powers_of_ten() {
        assert_eq!(tidy(1.2e20), "1.2×10²⁰");
        assert_eq!(tidy(1.234e-7), "1.23×10⁻⁷");
        assert_eq!(plain(tidy(-f64::MAX)), "-1.8×10³⁰⁸");
        assert_eq!(tidy(f64::NAN), "n/a");
        assert_eq!(plain(tidy(f64::NEG_INFINITY)), "-∞");
    }

    #[test]
    fn a_unit_is_chosen_after_rounding() {
        assert_eq!(plain(nanos(999.9)), "1 µs");
        assert_eq!(plain(nanos(1_234.0)), "1.23 µs");
        assert_eq!(plain(nanos(1_200.0)), "1.2 µs");
        assert_eq!(plain(nanos(0.3)), "0.3 ns");
        assert_eq!(plain(nanos(6.0e10)), "60 s");
        assert_eq!(plain(bytes(812e6)), "812 MB");
        assert_eq!(plain(bytes(999_950.0)), "1 MB");
        assert_eq!(plain(bytes(-1_500.0)), "-1.5 kB");
        assert_eq!(plain(bytes(0.0)), "0 B");
    }

    #[test]
    fn ticks_keep_the_decimals_of_their_step() {
        assert_eq!(plain(fixed(458_752.0, 0)), "458 752");
        assert_eq!(fixed(0.5, 2), "0.50");
        assert_eq!(fixed(-0.001, 1), "0.0");
        assert_eq!(plain(fixed(-1_000.5, 1)), "-1 000.5");
    }

    #[test]
    fn no_finite_number_makes_an_empty_text() {
        for power in -320..=307 {
            let value: f64 = format!("7.77e{power}").parse().unwrap();
            for text in [tidy(value), tidy(-value), nanos(value), bytes(value), fixed(value, 3)] {
                assert!(text.chars().any(|c| c.is_ascii_digit()), "{value}: {text}");
            }
        }
    }
}
