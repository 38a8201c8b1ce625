//! From a figure's description and a run's rows to what is drawn.

use std::collections::BTreeMap;

use super::figures::{Drawing, Line, Picture, Whisker};
use super::rows::{Columns, Filter, Rows, allows, matches};
use crate::experiment::file::{Figure, FigureKind};
use crate::record::find_metric;
use crate::registry;
use crate::stats;

/// The picture of a figure; `order` is the order of stores in the experiment.
pub fn picture(figure: &Figure, rows: &Rows, order: &[&str], seed: u64) -> Picture {
    let wanted = figure.only.get("store");
    let shown = |store: &String| wanted.is_none_or(|wanted| allows(wanted, store.trim_end_matches("+twin")));
    let stores = rows.stores(order).into_iter().filter(shown).collect();
    let draft = Draft { figure, rows, stores, seed };
    let drawing = match figure.kind {
        FigureKind::Bars => draft.bars(),
        FigureKind::Stack => draft.stack(),
        FigureKind::BySize => draft.lines("entries", "entries", true),
        FigureKind::ByThreads => draft.lines("threads", "threads", false),
        FigureKind::Timeline => draft.timeline(),
        FigureKind::Latency => draft.latency(),
    };
    let Figure { file, title, axis, from_zero, .. } = figure.clone();
    Picture { file, title, axis, from_zero, drawing }
}

struct Draft<'a> {
    figure: &'a Figure,
    rows: &'a Rows,
    stores: Vec<String>,
    seed: u64,
}

impl Draft<'_> {
    /// Names of the metrics in the legend.
    fn labels(&self) -> Vec<String> {
        let meaning = |name: &String| find_metric(name).map_or(name.clone(), |metric| metric.name.replace('_', " "));
        if self.figure.labels.len() == self.figure.metrics.len() {
            self.figure.labels.clone()
        } else {
            self.figure.metrics.iter().map(meaning).collect()
        }
    }

    fn filter(&self, store: &str) -> Filter {
        let mut filter = self.figure.only.clone();
        filter.insert("store".to_owned(), store.to_owned());
        filter
    }

    /// Values of one metric of one store, by a column, over rounds; in the axis's unit.
    fn values(&self, store: &str, metric: &str, column: &str) -> BTreeMap<u64, Vec<f64>> {
        let filter = self.filter(store);
        let mut values: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for row in self.rows.good.iter().filter(|row| row.metric == metric && matches(*row, &filter)) {
            if let Some(x) = row.column(column).and_then(|text| text.parse().ok()) {
                values.entry(x).or_default().push(row.value / self.figure.per);
            }
        }
        values
    }

    fn whisker(&self, samples: &[f64]) -> Option<Whisker> {
        let interval = stats::bootstrap_median(samples, self.seed)?;
        Some(Whisker { low: interval.low, mid: interval.mid, high: interval.high })
    }

    /// At the largest size of each store.
    fn largest(&self, store: &str, metric: &str) -> Option<Whisker> {
        let values = self.values(store, metric, "entries");
        self.whisker(values.last_key_value()?.1)
    }

    fn bars(&self) -> Drawing {
        let metrics = &self.figure.metrics;
        let of = |store: &String| metrics.iter().map(|metric| self.largest(store, metric)).collect::<Vec<_>>();
        let (groups, values) = self.shown().map(|store| (store.clone(), of(store))).unzip();
        Drawing::Bars { groups, series: self.labels(), values }
    }

    fn stack(&self) -> Drawing {
        let part = |store: &String, metric: &String| self.largest(store, metric).map_or(0.0, |whisker| whisker.mid);
        let of = |store: &String| self.figure.metrics.iter().map(|metric| part(store, metric)).collect::<Vec<_>>();
        let (groups, values) = self.shown().map(|store| (store.clone(), of(store))).unzip();
        Drawing::Stack { groups, parts: self.labels(), values }
    }

    /// Stores that have a row of the figure's metrics. Twins are left out of bars of exact counts: they stand in the table.
    fn shown(&self) -> impl Iterator<Item = &String> {
        self.stores.iter().filter(|store| {
            !store.ends_with("+twin") && self.figure.metrics.iter().any(|metric| self.largest(store, metric).is_some())
        })
    }

    /// Stores without controls, whose lines would only stretch the axis.
    fn real_stores(&self) -> impl Iterator<Item = &String> {
        self.stores.iter().filter(|store| registry::find(store).is_none_or(registry::Row::answers))
    }

    fn lines(&self, column: &str, x_axis: &str, log_x: bool) -> Drawing {
        let metric = self.figure.metrics.first().map_or("", String::as_str);
        let line = |store: &String| {
            let values = self.values(store, metric, column);
            let points = values.iter().filter_map(|(&x, samples)| Some((x as f64, self.whisker(samples)?))).collect();
            Line { name: store.clone(), points }
        };
        let lines = self.real_stores().map(line).filter(|line: &Line| !line.points.is_empty()).collect();
        Drawing::Lines { x_axis: x_axis.to_owned(), log_x, lines }
    }

    /// The time series of the first round: others would lie over it. A simulated day is shown in hours.
    fn timeline(&self) -> Drawing {
        let longest = self.rows.timeline.iter().map(|row| row.at_ns).max().unwrap_or(0) as f64 / 1e9;
        let (x_axis, second) = if longest > 2.0 * 3600.0 { ("hours", 1.0 / 3600.0) } else { ("seconds", 1.0) };
        let metric = self.figure.metrics.first().map_or("", String::as_str);
        let line = |store: &String| {
            let filter = self.filter(store);
            let chosen = self.rows.timeline.iter().filter(|row| row.metric == metric && matches(*row, &filter));
            let first = chosen.clone().map(|row| row.round).min();
            let exact = |value: f64| Whisker { low: value, mid: value, high: value };
            let points = chosen
                .filter(|row| Some(row.round) == first)
                .map(|row| (row.at_ns as f64 / 1e9 * second, exact(row.value / self.figure.per)))
                .collect();
            Line { name: store.clone(), points }
        };
        let lines = self.real_stores().map(line).filter(|line: &Line| !line.points.is_empty()).collect();
        Drawing::Lines { x_axis: x_axis.to_owned(), log_x: false, lines }
    }

    /// Percentiles, each the median over rounds.
    fn latency(&self) -> Drawing {
        let line = |store: &String| {
            let filter = self.filter(store);
            let mut percentiles: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
            for row in self.rows.latency.iter().filter(|row| matches(*row, &filter)) {
                // The maximum has no place on an axis that never reaches 100.
                if let Some(percentile) = row.percentile.filter(|percentile| *percentile < 100.0) {
                    percentiles.entry((percentile * 1e6) as u64).or_default().push(row.nanoseconds as f64);
                }
            }
            let points = percentiles
                .iter()
                .filter_map(|(&percentile, samples)| Some((percentile as f64 / 1e6, stats::median(samples)?)))
                .collect::<Vec<_>>();
            (store.clone(), points)
        };
        let lines = self.stores.iter().map(line).filter(|(_, points)| !points.is_empty()).collect();
        Drawing::Latency { lines }
    }
}
