//! How things look: colours, markers, dashes, sizes. A store looks the same in every figure. Knows nothing of canvases.

use plotters::style::RGBColor;

/// Family in the SVG, and the name the font is registered under. The crate's fonts lay the text out; a viewer without
/// DejaVu Sans falls back to its own sans-serif, which is narrower in practice, so that nothing overflows.
pub const FONT: &str = "DejaVu Sans, sans-serif";

/// Logical pixels; the SVG's own size, and half of the PNG's.
pub const WIDTH: f64 = 900.0;
pub const HEIGHT: f64 = 540.0;
pub const MARGIN: f64 = 24.0;

pub const TITLE_EM: f64 = 16.0;
pub const TEXT_EM: f64 = 12.5;
pub const SMALL_EM: f64 = 11.5;

pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
pub const QUIET: RGBColor = RGBColor(0x5A, 0x5A, 0x5A);
pub const AXIS: RGBColor = RGBColor(0x80, 0x80, 0x80);
pub const GRID: RGBColor = RGBColor(0xE3, 0xE3, 0xE3);
pub const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);

pub const LINE: f64 = 2.0;
pub const WHISKER: f64 = 1.25;
pub const HAIR: f64 = 0.75;

/// Behind the name of a store's A/A twin; see `record::Row::store`.
const TWIN: &str = "+twin";

/// Okabe and Ito, "Color Universal Design" (2008): eight colours that all common kinds of colour vision tell apart.
/// Their yellow is too faint for a line on white and is darkened here.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0xA8, 0x9A, 0x00),
    RGBColor(0x00, 0x00, 0x00),
];
const BLUE: usize = 0;
const VERMILION: usize = 1;
const GREEN: usize = 2;
const ORANGE: usize = 3;
/// The colours from here on are for stores without a row in [`KNOWN`].
const OTHERS: usize = 4;

/// Parts of a stack: muted, so that none is taken for a store, and far enough apart in lightness to survive grey print.
const PARTS: [RGBColor; 7] = [
    RGBColor(0x3B, 0x4F, 0x6B),
    RGBColor(0x9F, 0xB7, 0xCF),
    RGBColor(0xD8, 0xC4, 0x8A),
    RGBColor(0xA8, 0x6A, 0x52),
    RGBColor(0xC9, 0xC9, 0xC9),
    RGBColor(0x6F, 0x8F, 0x72),
    RGBColor(0x8A, 0x7A, 0x9B),
];

/// The stores that are compared most have the colours that are furthest apart; others get theirs from their name.
const KNOWN: [(&str, Look); 5] = [
    ("sync-map", Look::new(VERMILION, Marker::Circle, Dash::Solid)),
    ("flat-map", Look::new(BLUE, Marker::Square, Dash::Solid)),
    ("packed", Look::new(GREEN, Marker::Triangle, Dash::Solid)),
    ("hybrid", Look::new(ORANGE, Marker::Diamond, Dash::Solid)),
    ("null", Look { colour: AXIS, marker: Marker::Cross, dash: Dash::Short, twin: false }),
];

const PINK: usize = 4;
const SKY: usize = 5;
const OLIVE: usize = 6;
const BLACK: usize = 7;

/// Those that are compared with `hybrid` or among themselves in one figure; no figure has two of one look.
const VARIANTS: [(&str, Look); 14] = [
    ("hybrid-no-preload", Look::new(PINK, Marker::Circle, Dash::Long)),
    ("hybrid-direct", Look::new(BLACK, Marker::Square, Dash::DashDot)),
    ("hybrid-mmap", Look::new(SKY, Marker::Triangle, Dash::Long)),
    ("hybrid-metadata", Look::new(OLIVE, Marker::Circle, Dash::Long)),
    ("hybrid-mmap-metadata", Look::new(SKY, Marker::Down, Dash::Long)),
    ("hybrid-exact", Look::new(BLACK, Marker::Circle, Dash::Long)),
    ("hybrid-sharded", Look::new(SKY, Marker::Square, Dash::DashDot)),
    ("hybrid-system-clock", Look::new(BLACK, Marker::Circle, Dash::Long)),
    ("hybrid-counter-clock", Look::new(SKY, Marker::Square, Dash::DashDot)),
    ("hybrid-coarse-clock", Look::new(OLIVE, Marker::Triangle, Dash::Short)),
    ("5-bytes", Look::new(PINK, Marker::Circle, Dash::Solid)),
    ("6-bytes", Look::new(SKY, Marker::Square, Dash::Solid)),
    ("7-bytes", Look::new(OLIVE, Marker::Triangle, Dash::Solid)),
    ("8-bytes", Look::new(BLACK, Marker::Down, Dash::Solid)),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Down,
    Cross,
}

/// Those that enclose an area and so can be hollow.
const MARKERS: [Marker; 5] = [Marker::Circle, Marker::Down, Marker::Square, Marker::Diamond, Marker::Triangle];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    Solid,
    Long,
    DashDot,
    Short,
    /// Kept for A/A twins.
    Dotted,
}

impl Dash {
    /// Lengths of stroke and gap in turn, logical pixels; empty for an unbroken line.
    pub fn lengths(self) -> &'static [f64] {
        match self {
            Self::Solid => &[],
            Self::Long => &[12.0, 4.0],
            Self::DashDot => &[10.0, 3.0, 2.5, 3.0],
            Self::Short => &[6.0, 4.0],
            Self::Dotted => &[2.5, 3.0],
        }
    }
}

/// What a store looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub colour: RGBColor,
    pub marker: Marker,
    pub dash: Dash,
    /// An A/A twin: hollow markers and bars.
    pub twin: bool,
}

impl Look {
    const fn new(colour: usize, marker: Marker, dash: Dash) -> Self {
        Self { colour: COLOURS[colour], marker, dash, twin: false }
    }

    /// The look of a store: from the table, or from a hash of its name, so that it is the same in every figure and run.
    pub fn of(store: &str) -> Self {
        match store.strip_suffix(TWIN) {
            Some(original) => Self { dash: Dash::Dotted, twin: true, ..Self::of(original) },
            None => match KNOWN.iter().chain(&VARIANTS).find(|(name, _)| *name == store) {
                Some((_, look)) => *look,
                None => Self::of_step(store).unwrap_or_else(|| Self::from_hash(store)),
            },
        }
    }

    /// The steps of a ladder (`dns-3-boxes`) are compared among themselves, so that each may have any of the colours.
    fn of_step(store: &str) -> Option<Self> {
        let step: usize = store.split('-').nth(1)?.parse().ok()?;
        let marker = MARKERS[step % MARKERS.len()];
        let dash = if step.is_multiple_of(2) { Dash::Solid } else { Dash::Long };
        Some(Self::new(step % COLOURS.len(), marker, dash))
    }

    fn from_hash(store: &str) -> Self {
        const DASHES: [Dash; 3] = [Dash::Long, Dash::DashDot, Dash::Short];
        let hash = fnv(store.as_bytes());
        let pick = |shift: u32, choices: usize| (hash >> shift) as usize % choices;
        Self::new(
            OTHERS + pick(0, COLOURS.len() - OTHERS),
            MARKERS[pick(16, MARKERS.len())],
            DASHES[pick(32, DASHES.len())],
        )
    }
}

/// FNV-1a, 64 bits, with its high bits folded down. The standard library's hasher may change between releases; colours
/// shouldn't.
fn fnv(bytes: &[u8]) -> u64 {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    hash ^ (hash >> 29)
}

/// The colour of the part at this place of a stack.
pub fn part(place: usize) -> RGBColor {
    PARTS[place % PARTS.len()]
}

/// Lighter by series, so that the bars of one store share its hue: 0 is the full colour, 1 is white.
pub fn tint(colour: RGBColor, lightness: f64) -> RGBColor {
    let lightness = lightness.clamp(0.0, 1.0);
    let mix = |channel: u8| (f64::from(channel) + (255.0 - f64::from(channel)) * lightness).round() as u8;
    RGBColor(mix(colour.0), mix(colour.1), mix(colour.2))
}

/// How light the series at this place is, of so many.
pub fn lightness(place: usize, series: usize) -> f64 {
    const LIGHTEST: f64 = 0.82;
    if series < 2 { 0.0 } else { LIGHTEST * place as f64 / (series - 1) as f64 }
}

/// Black or white, whichever reads better on this colour (relative luminance of WCAG 2.1, gamma taken as 2.2).
pub fn ink_on(colour: RGBColor) -> RGBColor {
    let linear = |channel: u8| (f64::from(channel) / 255.0).powf(2.2);
    let luminance = 0.2126 * linear(colour.0) + 0.7152 * linear(colour.1) + 0.0722 * linear(colour.2);
    if luminance > 0.25 { INK } else { PAPER }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twin_has_the_colour_of_its_store_and_never_its_dash() {
        for store in ["sync-map", "packed", "null", "someone-elses-store", ""] {
            let (store_look, twin) = (Look::of(store), Look::of(&format!("{store}+twin")));
            assert_eq!((store_look.colour, store_look.marker), (twin.colour, twin.marker), "{store}");
            assert!(twin.twin && !store_look.twin, "{store}");
            assert_ne!(store_look.dash, twin.dash, "{store}");
        }
    }

    #[test]
    fn no_known_store_shares_colour_marker_or_name_with_another() {
        for (place, (name, look)) in KNOWN.iter().enumerate() {
            for (other_name, other) in &KNOWN[place + 1..] {
                assert_ne!(name, other_name);
                assert_ne!(look.colour, other.colour, "{name} and {other_name}");
                assert_ne!(look.marker, other.marker, "{name} and {other_name}");
            }
        }
    }

    #[test]
    fn an_unknown_store_never_wears_the_colour_of_a_known_one() {
        for number in 0..500 {
            let name = format!("store{number}");
            assert!(KNOWN.iter().all(|(_, known)| known.colour != Look::of(&name).colour), "{name}");
        }
    }

    #[test]
    fn series_of_one_store_differ_in_lightness() {
        for series in 2..=6 {
            let tints: Vec<RGBColor> = (0..series).map(|place| tint(COLOURS[BLUE], lightness(place, series))).collect();
            assert!(tints.windows(2).all(|pair| pair[0] != pair[1]), "{series}: {tints:?}");
        }
    }
}
