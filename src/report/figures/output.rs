//! The two files of a figure. The SVG is drawn on a sheet eight times its size, as plotters' SVG coordinates are whole
//! numbers; the PNG on one twice its size and then averaged down, as plotters doesn't smooth the edges of shapes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use plotters::prelude::{BitMapBackend, DrawingBackend, SVGBackend};

use super::canvas::{Canvas, Dialect};
use super::style::WIDTH;
use super::{Picture, height, paint};

const SVG_SCALE: f64 = 8.0;
const PNG_SCALE: u32 = 2;
/// Samples per pixel of the PNG, in each direction.
const SAMPLES: u32 = 2;

pub fn write(picture: &Picture, directory: &Path) -> Result<()> {
    let path = |ending: &str| directory.join(format!("{}.{ending}", picture.file));
    let failed =
        |path: &Path| format!("can't write the figure {}: does its folder exist, and is it writable?", path.display());
    let svg_path = path("svg");
    fs::write(&svg_path, svg(picture)?).with_context(|| failed(&svg_path))?;
    let png_path = path("png");
    png(picture, &png_path).with_context(|| failed(&png_path))
}

pub(super) fn svg(picture: &Picture) -> Result<String> {
    let height = height(picture).ceil();
    let sheet = ((WIDTH * SVG_SCALE) as u32, (height * SVG_SCALE) as u32);
    let mut drawn = String::new();
    let mut canvas = Canvas::new(SVGBackend::with_string(&mut drawn, sheet), SVG_SCALE, Dialect::Svg)?;
    paint(&mut canvas, picture)?;
    canvas.finish()?;
    let (_, body) = drawn.split_once('>').context("plotters wrote an SVG without an opening tag")?;
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {} {}\" role=\"img\" \
         stroke-linejoin=\"round\">\n<title>{}</title>{body}",
        sheet.0,
        sheet.1,
        escaped(&picture.title)
    ))
}

/// Text as XML takes it.
fn escaped(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.fold(String::new(), |mut escaped, c| {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other => escaped.push(other),
        }
        escaped
    })
}

fn png(picture: &Picture, path: &Path) -> Result<()> {
    let size = (WIDTH as u32 * PNG_SCALE, height(picture).ceil() as u32 * PNG_SCALE);
    let fine = (size.0 * SAMPLES, size.1 * SAMPLES);
    let mut pixels = vec![0; 3 * fine.0 as usize * fine.1 as usize];
    let backend = BitMapBackend::with_buffer(&mut pixels, fine);
    let mut canvas = Canvas::new(backend, f64::from(PNG_SCALE * SAMPLES), Dialect::Bitmap)?;
    paint(&mut canvas, picture)?;
    canvas.finish()?;
    let averaged = averaged(&pixels, fine.0 as usize);
    let mut file = BitMapBackend::new(path, size);
    file.blit_bitmap((0, 0), size, &averaged).map_err(|error| anyhow!("{error}"))?;
    file.present().map_err(|error| anyhow!("{error}"))
}

/// RGB pixels, each the mean of a square of [`SAMPLES`] by [`SAMPLES`].
fn averaged(pixels: &[u8], width: usize) -> Vec<u8> {
    let samples = SAMPLES as usize;
    let coarse = width / samples * 3;
    let mut averaged = Vec::with_capacity(pixels.len() / (samples * samples));
    let mut sums = vec![0_u32; coarse];
    for band in pixels.chunks_exact(width * 3 * samples) {
        sums.fill(0);
        for row in band.chunks_exact(width * 3) {
            for (place, pixel) in row.chunks_exact(3).enumerate() {
                let at = place / samples * 3;
                for channel in 0..3 {
                    sums[at + channel] += u32::from(pixel[channel]);
                }
            }
        }
        averaged.extend(sums.iter().map(|sum| (sum / (SAMPLES * SAMPLES)) as u8));
    }
    averaged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pixel_is_the_mean_of_its_samples() {
        // Two rows of four pixels: the red of the first column, one green of the third.
        let mut pixels = vec![0_u8; 4 * 3 * 2];
        (pixels[0], pixels[12], pixels[7]) = (90, 90, 40);
        assert_eq!(averaged(&pixels, 4), [45, 0, 0, 0, 10, 0]);
    }

    #[test]
    fn a_title_can_not_break_the_svg() {
        assert_eq!(escaped("a<b>&\u{0}c"), "a&lt;b&gt;&amp; c");
    }
}
