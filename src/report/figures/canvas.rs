//! A sheet in logical pixels over any plotters backend: text, lines, dashes, shapes.
//! Knows nothing of axes, stores or files.

use anyhow::{Result, anyhow};
use plotters::prelude::{
    Color, DrawingBackend, FontDesc, FontFamily, FontStyle, RGBAColor, RGBColor, ShapeStyle, TextStyle,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::letters::Type;
use super::style::{FONT, Marker, PAPER};

pub type Point = (f64, f64);

/// A rectangle, from its upper left to its lower right corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub fn centre(&self) -> Point {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }
}

/// What plotters' backends do differently (found by reading plotters 0.3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Text stays text.
    Svg,
    /// Text and wide paths are drawn by us: the backend sets letters without their side bearings ("percen tiles"), and
    /// fills a wide path as one outline, with holes where it crosses itself.
    Bitmap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Centre,
    Right,
}

pub struct Canvas<B: DrawingBackend> {
    backend: B,
    scale: f64,
    dialect: Dialect,
}

impl<B: DrawingBackend> Canvas<B> {
    /// A white sheet; `scale` is backend pixels per logical pixel.
    pub fn new(backend: B, scale: f64, dialect: Dialect) -> Result<Self> {
        let mut canvas = Self { backend, scale, dialect };
        canvas.backend.ensure_prepared().map_err(failed)?;
        let (width, height) = canvas.backend.get_size();
        let paper = ShapeStyle { color: PAPER.into(), filled: true, stroke_width: 0 };
        canvas.backend.draw_rect((0, 0), (width as i32, height as i32), &paper, true).map_err(failed)?;
        Ok(canvas)
    }

    /// Completes the picture.
    pub fn finish(mut self) -> Result<()> {
        self.backend.present().map_err(failed)
    }

    /// `at` is the end of the text that `align` names, on the baseline.
    pub fn text(&mut self, text: &str, at: Point, align: Align, kind: Type) -> Result<()> {
        // A name may hold anything, XML 1.0 may not.
        let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        match self.dialect {
            Dialect::Svg => self.typeset(&printable, at, align, kind),
            Dialect::Bitmap => self.glyphs(&printable, at, align, kind),
        }
    }

    fn typeset(&mut self, text: &str, (x, baseline): Point, align: Align, kind: Type) -> Result<()> {
        // The backend divides sizes by 1.24, and lowers a centred text by half an ex, which is 0.547 em in DejaVu Sans.
        const SIZE_PER_EM: f64 = 1.24;
        const LOWERED: f64 = 0.547 / 2.0;
        let horizontal = match align {
            Align::Left => HPos::Left,
            Align::Centre => HPos::Center,
            Align::Right => HPos::Right,
        };
        let weight = if kind.bold { FontStyle::Bold } else { FontStyle::Normal };
        let font = FontDesc::new(FontFamily::Name(FONT), kind.em * SIZE_PER_EM * self.scale, weight);
        let style = TextStyle::from(font).color(&kind.colour).pos(Pos::new(horizontal, VPos::Center));
        let anchor = self.pixels((x, baseline - LOWERED * kind.em));
        self.backend.draw_text(text, &style, anchor).map_err(failed)
    }

    fn glyphs(&mut self, text: &str, (x, baseline): Point, align: Align, kind: Type) -> Result<()> {
        let left = match align {
            Align::Left => x,
            Align::Centre => x - kind.width(text) / 2.0,
            Align::Right => x - kind.width(text),
        };
        let colour = RGBAColor::from(kind.colour);
        for (pixel, coverage) in kind.pixels(text, (left * self.scale, baseline * self.scale), self.scale) {
            self.backend.draw_pixel(pixel, colour.mix(coverage).to_backend_color()).map_err(failed)?;
        }
        Ok(())
    }

    /// Lines of text below each other; the first baseline is at `y`. Returns the baseline that would come next.
    pub fn paragraph(&mut self, lines: &[String], (x, mut y): Point, align: Align, kind: Type) -> Result<f64> {
        for line in lines {
            self.text(line, (x, y), align, kind)?;
            y += kind.leading();
        }
        Ok(y)
    }

    pub fn line(&mut self, from: Point, to: Point, width: f64, colour: RGBColor) -> Result<()> {
        self.path(&[from, to], width, colour)
    }

    /// An unbroken path.
    pub fn path(&mut self, points: &[Point], width: f64, colour: RGBColor) -> Result<()> {
        let style = self.stroke(width, colour);
        let pixels: Vec<(i32, i32)> = points.iter().map(|point| self.pixels(*point)).collect();
        if self.dialect == Dialect::Svg {
            return self.backend.draw_path(pixels, &style).map_err(failed);
        }
        for pair in pixels.windows(2) {
            self.backend.draw_line(pair[0], pair[1], &style).map_err(failed)?;
        }
        let inner = pixels.len().saturating_sub(1).max(1);
        for joint in &pixels[1.min(pixels.len())..inner] {
            self.backend.draw_circle(*joint, style.stroke_width / 2, &style.filled(), true).map_err(failed)?;
        }
        Ok(())
    }

    /// A path in strokes and gaps of these lengths; unbroken where there are none.
    pub fn dashed(&mut self, points: &[Point], lengths: &[f64], width: f64, colour: RGBColor) -> Result<()> {
        if lengths.is_empty() {
            return self.path(points, width, colour);
        }
        for stroke in strokes(points, lengths) {
            self.path(&stroke, width, colour)?;
        }
        Ok(())
    }

    pub fn fill(&mut self, area: Area, colour: RGBColor) -> Result<()> {
        let style = ShapeStyle { color: colour.into(), filled: true, stroke_width: 0 };
        let (from, to) = (self.pixels((area.left, area.top)), self.pixels((area.right, area.bottom)));
        self.backend.draw_rect(from, to, &style, true).map_err(failed)
    }

    pub fn polygon(&mut self, points: &[Point], colour: RGBColor) -> Result<()> {
        let style = ShapeStyle { color: colour.into(), filled: true, stroke_width: 0 };
        let pixels: Vec<(i32, i32)> = points.iter().map(|point| self.pixels(*point)).collect();
        self.backend.fill_polygon(pixels, &style).map_err(failed)
    }

    /// The outline of an area.
    pub fn frame(&mut self, area: Area, lengths: &[f64], width: f64, colour: RGBColor) -> Result<()> {
        let Area { left, top, right, bottom } = area;
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        self.dashed(&corners, lengths, width, colour)
    }

    /// A point's mark; hollow ones are filled with paper, so that the line beneath doesn't show through.
    pub fn marker(&mut self, at: Point, marker: Marker, hollow: bool, colour: RGBColor) -> Result<()> {
        const RADIUS: f64 = 4.2;
        const EDGE: f64 = 1.5;
        if marker == Marker::Cross {
            let arm = RADIUS * 0.8;
            self.line((at.0 - arm, at.1 - arm), (at.0 + arm, at.1 + arm), 1.8, colour)?;
            return self.line((at.0 - arm, at.1 + arm), (at.0 + arm, at.1 - arm), 1.8, colour);
        }
        // A rim of paper keeps markers apart that lie on one another.
        self.shape(at, marker, RADIUS + 0.9, PAPER)?;
        self.shape(at, marker, RADIUS, colour)?;
        if hollow { self.shape(at, marker, RADIUS - EDGE, PAPER) } else { Ok(()) }
    }

    fn shape(&mut self, at: Point, marker: Marker, radius: f64, colour: RGBColor) -> Result<()> {
        // Shapes of about the same area; a triangle stands on its base, so that its middle is at the point.
        let corners: &[Point] = match marker {
            Marker::Circle | Marker::Cross => {
                let style = ShapeStyle { color: colour.into(), filled: true, stroke_width: 0 };
                let pixels = (radius * self.scale).round() as u32;
                return self.backend.draw_circle(self.pixels(at), pixels, &style, true).map_err(failed);
            }
            Marker::Square => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
            Marker::Triangle => &[(0.0, -1.25), (1.15, 0.75), (-1.15, 0.75)],
            Marker::Down => &[(0.0, 1.25), (1.15, -0.75), (-1.15, -0.75)],
            Marker::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
        };
        let points: Vec<Point> = corners.iter().map(|(x, y)| (at.0 + x * radius, at.1 + y * radius)).collect();
        self.polygon(&points, colour)
    }

    fn stroke(&self, width: f64, colour: RGBColor) -> ShapeStyle {
        let pixels = (width * self.scale).round().max(1.0) as u32;
        ShapeStyle { color: colour.into(), filled: false, stroke_width: pixels }
    }

    /// Kept within what plotters' own integer arithmetic can bear.
    fn pixels(&self, (x, y): Point) -> (i32, i32) {
        const FAR: f64 = 1e6;
        let pixel = |logical: f64| (logical * self.scale).round().clamp(-FAR, FAR) as i32;
        (pixel(x), pixel(y))
    }
}

/// Backends' errors aren't all `'static`, so that only their text is kept.
fn failed<E: std::fmt::Display>(error: E) -> anyhow::Error {
    anyhow!("{error}")
}

/// The strokes that remain when a path is cut into strokes and gaps by turns.
fn strokes(points: &[Point], lengths: &[f64]) -> Vec<Vec<Point>> {
    let mut done = Vec::new();
    let mut stroke: Vec<Point> = points.first().copied().into_iter().collect();
    let (mut turn, mut left) = (0, lengths[0]);
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        let mut distance = (to.0 - from.0).hypot(to.1 - from.1);
        while distance > left {
            let share = left / distance;
            from = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            distance -= left;
            if turn % 2 == 0 {
                stroke.push(from);
                done.push(std::mem::take(&mut stroke));
            } else {
                stroke = vec![from];
            }
            turn += 1;
            left = lengths[turn % lengths.len()];
        }
        left -= distance;
        if turn % 2 == 0 {
            stroke.push(to);
        }
    }
    if stroke.len() > 1 {
        done.push(stroke);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_of_a_dashed_path_have_the_lengths_asked_for() {
        let cut = strokes(&[(0.0, 0.0), (6.0, 0.0), (6.0, 6.0)], &[4.0, 1.0]);
        assert_eq!(
            cut,
            [vec![(0.0, 0.0), (4.0, 0.0)], vec![(5.0, 0.0), (6.0, 0.0), (6.0, 3.0)], vec![(6.0, 4.0), (6.0, 6.0)],]
        );
        assert!(strokes(&[(1.0, 1.0)], &[4.0, 1.0]).is_empty());
    }
}
