//! Type: how wide a piece of text is, where it wraps, and which pixels it covers. Knows nothing of canvases.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, GlyphId, PxScaleFont, ScaleFont, point};
use anyhow::{Context, Result};
use plotters::prelude::{FontStyle, RGBColor};
use plotters::style::register_font;

use super::style::FONT;

/// Size, weight and colour of a piece of text.
#[derive(Debug, Clone, Copy)]
pub struct Type {
    pub em: f64,
    pub bold: bool,
    pub colour: RGBColor,
}

impl Type {
    pub fn new(em: f64, colour: RGBColor) -> Self {
        Self { em, bold: false, colour }
    }

    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    fn font(&self) -> &'static FontRef<'static> {
        static FONTS: LazyLock<[FontRef<'static>; 2]> = LazyLock::new(|| FILES.map(|file| parse(file())));
        &FONTS[usize::from(self.bold)]
    }

    /// ab_glyph's size is the font's height and not its em.
    fn scaled(&self, scale: f64) -> PxScaleFont<&'static FontRef<'static>> {
        let font = self.font();
        let height_per_em = font.height_unscaled() / font.units_per_em().unwrap_or(2048.0);
        font.as_scaled((self.em * scale) as f32 * height_per_em)
    }

    /// Advance width of the text in logical pixels; the same for every backend, so that all have one layout.
    pub fn width(&self, text: &str) -> f64 {
        const FINE: f64 = 16.0;
        advances(&self.scaled(FINE), text).last().map_or(0.0, |(_, _, end)| f64::from(end)) / FINE
    }

    /// The pixels that this text covers, and how much of each, with its baseline's left end at this pixel.
    pub fn pixels(&self, text: &str, (left, baseline): (f64, f64), scale: f64) -> Vec<((i32, i32), f64)> {
        let font = self.scaled(scale);
        let mut pixels = Vec::new();
        for (glyph, start, _) in advances(&font, text) {
            let at = point(left as f32 + start, baseline as f32);
            let Some(outline) = font.outline_glyph(glyph.with_scale_and_position(font.scale(), at)) else { continue };
            let corner = outline.px_bounds().min;
            outline.draw(|x, y, coverage| {
                if coverage > 0.0 {
                    pixels
                        .push(((corner.x as i32 + x as i32, corner.y as i32 + y as i32), f64::from(coverage.min(1.0))));
                }
            });
        }
        pixels
    }

    /// From one baseline to the next.
    pub fn leading(&self) -> f64 {
        self.em * 1.3
    }

    /// From the baseline to the top of capitals and digits.
    pub fn cap(&self) -> f64 {
        self.em * 0.729
    }

    /// Broken into lines of at most this width: at spaces, then behind hyphens and the like, then anywhere.
    /// What doesn't fit into `lines` is cut off with an ellipsis.
    pub fn wrap(&self, text: &str, width: f64, lines: usize) -> Vec<String> {
        let mut wrapped: Vec<String> = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() && wrapped.len() + 1 < lines.max(1) {
            let end = self.line_end(rest, width);
            wrapped.push(rest[..end].trim_end().to_owned());
            rest = rest[end..].trim_start();
        }
        if !rest.is_empty() {
            wrapped.push(self.cut(rest, width));
        }
        wrapped
    }

    /// Where the first line of this text ends, as a byte offset past at least one character.
    fn line_end(&self, text: &str, width: f64) -> usize {
        if self.width(text) <= width {
            return text.len();
        }
        let mut best = [None; 2];
        let mut last = 0;
        for (start, character) in text.char_indices() {
            let end = start + character.len_utf8();
            if last > 0 && self.width(text[..end].trim_end()) > width {
                break;
            }
            last = end;
            match character {
                ' ' => best[0] = Some(end),
                '-' | '+' | '/' | '_' | ':' | ',' => best[1] = Some(end),
                _ => {}
            }
        }
        best[0].or(best[1]).unwrap_or(last)
    }

    fn cut(&self, text: &str, width: f64) -> String {
        if self.width(text) <= width {
            return text.to_owned();
        }
        let mut kept = text.to_owned();
        while kept.pop().is_some() && self.width(&kept) + self.width("…") > width {}
        kept.trim_end().to_owned() + "…"
    }
}

/// Each glyph of a line, with where it starts and where the next one would, in pixels.
fn advances<'a>(
    font: &'a PxScaleFont<&'static FontRef<'static>>,
    text: &'a str,
) -> impl Iterator<Item = (GlyphId, f32, f32)> + 'a {
    let (mut x, mut last) = (0.0, None);
    text.chars().map(move |character| {
        let glyph = font.glyph_id(character);
        let start = x + last.map_or(0.0, |last| font.kern(last, glyph));
        x = start + font.h_advance(glyph);
        last = Some(glyph);
        (glyph, start, x)
    })
}

/// Regular, bold.
const FILES: [fn() -> &'static [u8]; 2] = [dejavu::sans::regular, dejavu::sans::bold];

fn parse(file: &'static [u8]) -> FontRef<'static> {
    FontRef::try_from_slice(file).expect("the fonts of the dejavu crate are valid; the tests draw with both")
}

/// Registers the fonts with plotters, whose SVG backend asks for them, once per process.
pub fn prepare() -> Result<()> {
    static REGISTERED: LazyLock<bool> = LazyLock::new(|| {
        register_font(FONT, FontStyle::Normal, FILES[0]()).is_ok()
            && register_font(FONT, FontStyle::Bold, FILES[1]()).is_ok()
    });
    REGISTERED.then_some(()).context("the built-in font of the figures is unreadable; this build of larder is broken")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::style::INK;

    #[test]
    fn a_wrapped_text_loses_no_letter_unless_it_ends_in_an_ellipsis() {
        let kind = Type::new(12.0, INK);
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        for text in
            ["sync-map", "a-very-long-store-name+twin", "ein langer Titel mit Wörtern", "oneunbrokenwordwithoutend"]
        {
            let lines = kind.wrap(text, 60.0, 20);
            assert_eq!(letters(&lines.concat()), letters(text));
            assert!(lines.iter().all(|line| kind.width(line) <= 60.0), "{lines:?}");
            let cut = kind.wrap(text, 60.0, 1);
            assert!(cut.len() == 1 && (cut[0].ends_with('…') || cut[0] == text), "{cut:?}");
        }
        assert_eq!(kind.wrap("", 60.0, 2), Vec::<String>::new());
        assert_eq!(kind.wrap("abc", 0.0, 9).concat(), "abc");
    }

    #[test]
    fn a_glyph_is_drawn_between_its_start_and_its_end() {
        let kind = Type::new(100.0, INK);
        let pixels = kind.pixels("l", (1000.0, 500.0), 1.0);
        let columns = || pixels.iter().map(|((x, _), _)| *x);
        let (left, right) = (columns().min().unwrap(), columns().max().unwrap());
        // An l has its side bearings: a stem in the middle of its advance of 0.278 em.
        assert!(left >= 1005 && right <= 1023, "{left}..{right}");
        assert!((kind.width("l") - 27.8).abs() < 0.1);
        assert!(pixels.iter().all(|((_, y), _)| (420..=500).contains(y)));
        assert!((kind.bold().width("ll") - 68.6).abs() < 0.2, "{}", kind.bold().width("ll"));
    }
}
