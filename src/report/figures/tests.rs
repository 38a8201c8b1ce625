//! Whole figures: that both files are written, that odd values never panic, and what the SVG says.

use std::fs;
use std::path::PathBuf;

use super::*;

fn whisker(mid: f64, spread: f64) -> Whisker {
    Whisker { low: mid * (1.0 - spread), mid, high: mid * (1.0 + spread) }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn picture(file: &str, title: &str, axis: &str, drawing: Drawing) -> Picture {
    Picture { file: file.to_owned(), title: title.to_owned(), axis: axis.to_owned(), drawing }
}

/// Draws the picture and returns its SVG.
fn svg_of(picture: &Picture) -> String {
    let directory = tempfile::tempdir().unwrap();
    draw(picture, directory.path()).unwrap();
    let png = fs::read(directory.path().join(format!("{}.png", picture.file))).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    fs::read_to_string(directory.path().join(format!("{}.svg", picture.file))).unwrap()
}

/// The pieces of text of an SVG, in the order drawn.
fn texts(svg: &str) -> Vec<String> {
    let pieces = svg.split("<text ").skip(1).filter_map(|piece| piece.split_once('>'));
    pieces.filter_map(|(_, rest)| rest.split_once("</text>")).map(|(text, _)| text.trim().to_owned()).collect()
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
fn every_kind_of_figure_becomes_an_svg_and_a_png_with_its_title_and_its_stores() {
    // For looking at: set LARDER_FIGURES to a folder.
    let kept = std::env::var_os("LARDER_FIGURES").map(PathBuf::from);
    for example in examples() {
        if let Some(folder) = &kept {
            draw(&example, folder).unwrap();
        }
        let svg = svg_of(&example);
        let text = texts(&svg).join(" ");
        assert!(text.contains(&example.title), "{}: {text}", example.file);
        assert!(text.contains("sync-map") || text.contains("dns-0-vec"), "{}: {text}", example.file);
    }
}
