//! Whole figures: that both files are written, that odd values never panic, and what the SVG says.

use std::fs;
use std::path::PathBuf;

use plotters::prelude::BitMapBackend;

use super::canvas::Dialect;
use super::letters::Type;
use super::style::{INK, WIDTH};
use super::*;

fn whisker(mid: f64, spread: f64) -> Whisker {
    Whisker { low: mid * (1.0 - spread), mid, high: mid * (1.0 + spread) }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn picture(file: &str, title: &str, axis: &str, drawing: Drawing) -> Picture {
    Picture { file: file.to_owned(), title: title.to_owned(), axis: axis.to_owned(), from_zero: true, drawing }
}

/// Draws the picture in both formats, the bitmap small and unsaved, and returns the SVG.
fn svg_of(picture: &Picture) -> String {
    letters::prepare().unwrap();
    let size = (WIDTH as u32, height(picture) as u32);
    let mut pixels = vec![0; 3 * size.0 as usize * size.1 as usize];
    let mut canvas = Canvas::new(BitMapBackend::with_buffer(&mut pixels, size), 1.0, Dialect::Bitmap).unwrap();
    paint(&mut canvas, picture).unwrap();
    output::svg(picture).unwrap()
}

/// The pieces of text of an SVG, in the order drawn.
fn texts(svg: &str) -> Vec<String> {
    let pieces = svg.split("<text ").skip(1).filter_map(|piece| piece.split_once('>'));
    pieces
        .filter_map(|(_, rest)| rest.split_once("</text>"))
        .map(|(text, _)| text.trim().replace("&apos;", "'"))
        .collect()
}

fn blocks() -> Picture {
    let groups = names(&["sync-map", "flat-map", "packed", "hybrid", "null"]);
    let values = [6.0, 2.0, 1.0, 0.02, 0.0].map(|blocks| vec![Some(Whisker::exact(blocks))]).to_vec();
    let drawing = Drawing::Bars { groups, series: names(&["live blocks"]), values };
    picture("blocks", "Heap blocks per entry, 500 000 entries", "heap blocks per entry", drawing)
}

fn memory() -> Picture {
    let groups =
        names(&["sync-map", "sync-map+twin", "flat-map", "packed", "a-store-of-someone-else-with-a-long-name"]);
    let rows = [
        (303.4, 356.4, 404.4),
        (303.4, 356.4, 405.2),
        (297.8, 310.8, 326.8),
        (231.7, 235.7, 243.7),
        (208.5, 208.5, 208.8),
    ];
    let mut values: Vec<Vec<Option<Whisker>>> = rows
        .iter()
        .map(|(requested, usable, rss)| {
            vec![Some(Whisker::exact(*requested)), Some(Whisker::exact(*usable)), Some(whisker(*rss, 0.06))]
        })
        .collect();
    values[3][1] = None;
    let series = names(&[
        "requested from the allocator",
        "set aside by the allocator",
        "resident set, growth above the baseline",
    ]);
    let title = "What an entry costs: bytes asked for, bytes set aside, and growth of the resident set at 2 000 000 entries of real translations";
    picture("memory", title, "bytes per entry", Drawing::Bars { groups, series, values })
}

fn parts() -> Picture {
    let groups = names(&["sync-map", "flat-map", "flat-map+twin", "packed", "hybrid"]);
    let values = vec![
        vec![52.4, 45.0, 150.0, 56.0],
        vec![52.4, 45.0, 150.0, 32.0],
        vec![52.4, 45.0, 150.0, 32.0],
        vec![35.2, 45.0, 150.0, 3.0],
        vec![2.1, 0.0, 0.0, 0.4],
    ];
    let parts = names(&["tables", "keys", "values", "boxes, headers, padding"]);
    picture(
        "parts",
        "Where the bytes go",
        "bytes per entry, by the store's own account",
        Drawing::Stack { groups, parts, values },
    )
}

fn by_size() -> Picture {
    let sizes = [100_000.0, 200_000.0, 458_752.0, 500_000.0, 1_000_000.0, 2_000_000.0];
    let lines = [
        ("sync-map", 290.0),
        ("sync-map+twin", 292.0),
        ("flat-map", 260.0),
        ("packed", 215.0),
        ("hybrid", 23.0),
        ("other", 240.0),
    ]
    .map(|(name, bytes)| Line {
        name: name.to_owned(),
        points: sizes
            .iter()
            .enumerate()
            .map(|(place, size)| (*size, whisker(bytes + [0.0, 25.0][place % 2], 0.04)))
            .collect(),
    });
    let drawing = Drawing::Lines { x_axis: "entries (log scale)".into(), log_x: true, lines: lines.to_vec() };
    picture(
        "by-size",
        "Bytes per entry rise and fall with the doublings of the tables",
        "resident bytes per entry",
        drawing,
    )
}

fn by_threads() -> Picture {
    let lines = [("sync-map", 4.1), ("flat-map", 3.9), ("packed", 4.6), ("null", 300.0)].map(|(name, rate)| Line {
        name: name.to_owned(),
        points: [1.0, 2.0, 4.0, 8.0].map(|threads: f64| (threads, whisker(rate * threads.powf(0.8), 0.07))).to_vec(),
    });
    let drawing = Drawing::Lines { x_axis: "threads".into(), log_x: false, lines: lines.to_vec() };
    picture("by-threads", "Gets per second by threads", "million gets per second", drawing)
}

fn timeline() -> Picture {
    let lines = [("sync-map", 404.0), ("flat-map", 326.0), ("packed", 243.0)].map(|(name, settled)| Line {
        name: name.to_owned(),
        points: (0..400)
            .map(|step| {
                let at = f64::from(step) / 100.0;
                let refresh = if (2.0..3.0).contains(&at) { at - 2.0 } else { 0.0 };
                (at, whisker(settled * (at.min(1.0) + refresh) + 2.0, if name == "packed" { 0.05 } else { 0.0 }))
            })
            .collect(),
    });
    let drawing = Drawing::Lines { x_axis: "seconds since the baseline".into(), log_x: false, lines: lines.to_vec() };
    picture(
        "timeline",
        "Resident set through load, steady state and refresh",
        "resident set above the baseline, MB",
        drawing,
    )
}

fn latency() -> Picture {
    let percentiles = [0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999, 100.0];
    let lines = [
        ("sync-map", 252.0),
        ("sync-map+twin", 255.0),
        ("flat-map", 250.0),
        ("packed", 235.0),
        ("null", 3.0),
        ("disk", 900.0),
    ]
    .map(|(name, base): (&str, f64)| {
        let curve = |p: f64| base * (0.6 + 0.2 * (1.0 / (1.0 - p.min(99.9995) / 100.0)).powf(0.45));
        (name.to_owned(), percentiles.map(|p| (p, curve(p))).to_vec())
    });
    let drawing = Drawing::Latency { lines: lines.to_vec() };
    picture(
        "latency",
        "Latency of one get, 500 000 entries, Zipf 0.99, one thread",
        "time of one get (log scale)",
        drawing,
    )
}

fn ladder() -> Picture {
    let groups: Vec<String> = ["vec", "exact", "boxed", "one-box", "elided", "wire", "scratch"]
        .iter()
        .enumerate()
        .map(|(step, name)| format!("dns-{step}-{name}"))
        .collect();
    let values =
        [950.9, 510.4, 478.4, 446.4, 399.2, 139.7, 109.7].map(|bytes| vec![Some(whisker(bytes, 0.02))]).to_vec();
    let drawing = Drawing::Bars { groups, series: names(&["requested"]), values };
    picture("ladder", "Seven steps from a vector of records to one buffer", "requested bytes per entry", drawing)
}

fn examples() -> [Picture; 8] {
    [blocks(), memory(), parts(), by_size(), by_threads(), timeline(), latency(), ladder()]
}

#[test]
fn a_figure_becomes_an_svg_and_a_png_of_twice_its_size() {
    // For looking at all of them: set LARDER_FIGURES to a folder.
    let kept = std::env::var_os("LARDER_FIGURES").map(PathBuf::from);
    let temporary = tempfile::tempdir().unwrap();
    let examples = examples().into_iter().take(if kept.is_some() { usize::MAX } else { 1 });
    for example in examples {
        let folder = kept.as_deref().unwrap_or(temporary.path());
        draw(&example, folder).unwrap();
        let svg = fs::read_to_string(folder.join(format!("{}.svg", example.file))).unwrap();
        let png = fs::read(folder.join(format!("{}.png", example.file))).unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        let logical = format!("width=\"{}\" height=\"{}\"", side(16) / 2, side(20) / 2);
        assert!(svg.contains(&logical), "{logical} of {}", &svg[..200]);
    }
}

#[test]
fn every_kind_of_figure_names_its_title_its_axis_and_its_stores_in_text_that_stays_text() {
    for example in examples() {
        let svg = svg_of(&example);
        let text = texts(&svg).join(" ");
        assert!(svg.contains(&format!("<title>{}</title>", example.title)));
        assert!(svg.contains("font-family=\"DejaVu Sans, sans-serif\""));
        assert!(text.contains(&example.title) && text.contains(&example.axis), "{}: {text}", example.file);
        assert!(text.contains("sync-map") || text.contains("dns-0-vec"), "{}: {text}", example.file);
    }
}

/// An attribute of the piece of an SVG that starts here.
fn attribute<'a>(piece: &'a str, name: &str) -> &'a str {
    let (_, rest) = piece.split_once(&format!(" {name}=\"")).unwrap();
    rest.split_once('"').unwrap().0
}

#[test]
fn no_text_leaves_the_paper() {
    let long = "an-exceedingly-long-store-name-that-nobody-would-choose-but-somebody-will".repeat(2);
    let mut examples = examples().to_vec();
    for example in &mut examples {
        example.title = example.title.repeat(4);
        example.axis = example.axis.repeat(8);
        match &mut example.drawing {
            Drawing::Bars { groups, series, .. } => {
                series.iter_mut().chain(groups).for_each(|name| *name = long.clone())
            }
            Drawing::Stack { groups, parts, .. } => {
                parts.iter_mut().chain(groups).for_each(|name| *name = long.clone())
            }
            Drawing::Lines { x_axis, lines, .. } => {
                *x_axis = x_axis.repeat(20);
                lines.iter_mut().for_each(|line| line.name = long.clone());
            }
            Drawing::Latency { lines } => lines.iter_mut().for_each(|line| line.0 = long.clone()),
        }
    }
    for example in self::examples().into_iter().chain(examples) {
        let svg = svg_of(&example);
        let scale = 8.0;
        let bottom: f64 = attribute(&svg, "height").parse::<f64>().unwrap() * scale;
        for piece in svg.split("<text").skip(1) {
            let text = piece.split_once('>').unwrap().1.split_once("</text>").unwrap().0.trim();
            let number = |name: &str| attribute(piece, name).parse::<f64>().unwrap();
            let kind = Type::new(number("font-size"), INK);
            let kind = if piece.contains("font-weight") { kind.bold() } else { kind };
            let (x, width) = (number("x"), kind.width(&text.replace("&apos;", "'")));
            let (left, right) = match attribute(piece, "text-anchor") {
                "start" => (x, x + width),
                "middle" => (x - width / 2.0, x + width / 2.0),
                _ => (x - width, x),
            };
            assert!(left >= 0.0 && right <= WIDTH * scale, "{}: {text:?} from {left} to {right}", example.file);
            assert!((0.0..bottom - 20.0).contains(&number("y")), "{}: {text:?}", example.file);
        }
    }
}

/// Values that arithmetic stumbles over.
const ODD: [f64; 12] =
    [0.0, -0.0, -3.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 5e-324, 1e-9, 1e15, 42.0];

#[test]
fn odd_values_in_bars_never_panic() {
    for low in ODD {
        for high in ODD {
            let values = vec![
                vec![Some(Whisker { low, mid: high, high }), None],
                vec![Some(Whisker { low, mid: low, high })],
                vec![],
            ];
            let drawing = Drawing::Bars { groups: names(&["a", "b", "c"]), series: names(&["x", "y"]), values };
            svg_of(&picture("odd", "odd", "odd", drawing));
            let values = vec![vec![low, high], vec![high], vec![]];
            svg_of(&picture(
                "odd",
                "odd",
                "odd",
                Drawing::Stack { groups: names(&["a", "b", "c"]), parts: names(&["x", "y"]), values },
            ));
        }
    }
}

#[test]
fn odd_values_in_lines_never_panic() {
    for low in ODD {
        for high in ODD {
            for log_x in [false, true] {
                let points = vec![
                    (low, Whisker { low, mid: high, high }),
                    (high, Whisker::exact(low)),
                    (high, Whisker::exact(high)),
                ];
                let lines =
                    vec![Line { name: "a".into(), points: points.clone() }, Line { name: "a+twin".into(), points }];
                svg_of(&picture("odd", "odd", "odd", Drawing::Lines { x_axis: "x".into(), log_x, lines }));
            }
            let lines = vec![("a".to_owned(), vec![(low, high), (high, low), (99.0, high), (100.0, low)])];
            svg_of(&picture("odd", "odd", "odd", Drawing::Latency { lines }));
        }
    }
}

#[test]
fn a_figure_of_one_point_has_no_line_and_one_marker() {
    let lines = vec![Line { name: "packed".into(), points: vec![(500_000.0, Whisker::exact(208.0))] }];
    let svg = svg_of(&picture("one", "one", "bytes", Drawing::Lines { x_axis: "entries".into(), log_x: true, lines }));
    assert!(texts(&svg).iter().any(|text| text == "500\u{202f}000"), "{:?}", texts(&svg));
    let lines = vec![("packed".to_owned(), vec![(50.0, 250.0)])];
    assert!(
        texts(&svg_of(&picture("one", "one", "ns", Drawing::Latency { lines }))).iter().any(|text| text == "packed")
    );
}

#[test]
fn a_figure_without_values_says_that_it_has_no_rows() {
    let groups = || names(&["packed"]);
    let nan = Whisker::exact(f64::NAN);
    let empty = [
        Drawing::Bars { groups: vec![], series: vec![], values: vec![] },
        Drawing::Bars { groups: groups(), series: groups(), values: vec![vec![None]] },
        Drawing::Bars { groups: groups(), series: groups(), values: vec![vec![Some(nan)]] },
        Drawing::Stack { groups: vec![], parts: vec![], values: vec![] },
        Drawing::Stack { groups: groups(), parts: vec![], values: vec![vec![]] },
        Drawing::Lines { x_axis: String::new(), log_x: false, lines: vec![] },
        Drawing::Lines {
            x_axis: String::new(),
            log_x: true,
            lines: vec![Line { name: "a".into(), points: vec![(0.0, Whisker::exact(1.0))] }],
        },
        Drawing::Latency { lines: vec![] },
        Drawing::Latency { lines: vec![("packed".into(), vec![(50.0, 0.0)])] },
    ];
    for drawing in empty {
        let text = texts(&svg_of(&picture("empty", "Nothing measured", "bytes", drawing.clone())));
        assert_eq!(text, ["Nothing measured", "no rows"], "{drawing:?}");
    }
    assert!(!texts(&svg_of(&blocks())).contains(&"no rows".to_owned()));
}

#[test]
fn a_missing_value_is_written_as_missing_and_not_as_zero() {
    let text = texts(&svg_of(&memory()));
    assert_eq!(text.iter().filter(|text| *text == "n/a").count(), 1, "{text:?}");
}

#[test]
fn hundreds_of_stores_are_cut_off_with_a_note() {
    let groups: Vec<String> = (0..300).map(|number| format!("store{number}")).collect();
    let values = vec![vec![Some(Whisker::exact(1.0))]; 300];
    let svg = svg_of(&picture("many", "many", "bytes", Drawing::Bars { groups, series: names(&["x"]), values }));
    assert!(texts(&svg).iter().any(|text| text.starts_with("220 more")), "{:?}", texts(&svg).last());
}

#[test]
fn names_with_markup_and_control_characters_stay_well_formed() {
    let groups = names(&["<script>&\"'", "nul\u{0}bell\u{7}", "日本語", ""]);
    let values = vec![vec![Some(Whisker::exact(1.0))]; 4];
    let svg = svg_of(&picture("names", "a <b> & c", "x", Drawing::Bars { groups, series: vec![], values }));
    assert!(svg.contains("&lt;script&gt;&amp;") && !svg.contains("<script"));
    assert!(!svg.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn a_file_name_with_a_folder_in_it_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for file in ["", "..", "../up", "a/b", "/root"] {
        let error = draw(&Picture { file: file.to_owned(), ..blocks() }, directory.path()).unwrap_err();
        assert!(error.to_string().contains("plain name"), "{file}: {error}");
    }
    let missing = directory.path().join("missing");
    let error = format!("{:#}", draw(&blocks(), &missing).unwrap_err());
    assert!(error.contains("missing/blocks.svg"), "{error}");
}
