//! Whole figures: that they are written, that odd values never panic, and what the SVG says.
