//! The title of a figure, and what stands beneath it where there is nothing to draw.

use anyhow::Result;
use plotters::prelude::DrawingBackend;

use super::canvas::{Align, Canvas};
use super::letters::Type;
use super::style::{INK, MARGIN, QUIET, TEXT_EM, TITLE_EM, WIDTH};

const MOST_LINES: usize = 4;

fn kind() -> Type {
    Type::new(TITLE_EM, INK).bold()
}

fn lines(title: &str) -> Vec<String> {
    kind().wrap(title, WIDTH - 2.0 * MARGIN, MOST_LINES)
}

/// Where the figure begins beneath its title.
pub fn bottom(title: &str) -> f64 {
    let lines = lines(title).len() as f64;
    MARGIN + lines * kind().leading()
}

pub fn paint<B: DrawingBackend>(canvas: &mut Canvas<B>, title: &str) -> Result<()> {
    canvas.paragraph(&lines(title), (MARGIN, MARGIN + kind().cap()), Align::Left, kind())?;
    Ok(())
}

/// A figure of which no value was measured.
pub fn nothing<B: DrawingBackend>(canvas: &mut Canvas<B>, title: &str, height: f64) -> Result<()> {
    paint(canvas, title)?;
    let middle = (bottom(title) + height) / 2.0;
    canvas.text("no rows", (WIDTH / 2.0, middle), Align::Centre, Type::new(TEXT_EM, QUIET))
}
