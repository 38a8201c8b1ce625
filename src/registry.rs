//! Every store: one row each. A row names the type; [`visit`] hands it to generic code, so that timed loops are
//! monomorphised. Knows nothing of the harness, and is the only place outside `store` that names a design.

use crate::store::hybrid::preset::{self, With};
use crate::store::{Store, bad, flat_map, hybrid, null, packed, sync_map};

/// Marks rows that are planted to test the harness; such rows are hidden.
const HIDDEN: &str = "bad";

/// Marks rows that are another row's store under other settings.
const VARIANT: &str = "variant";

/// Marks rows whose answers are not what was loaded.
const CONTROL: &str = "control";

/// What a user sees of a store.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// As users type it.
    pub name: &'static str,
    /// Without their `@`.
    pub tags: &'static [&'static str],
    /// One line for `larder list`.
    pub about: &'static str,
    /// Whether the store takes live updates ([`Store::TAKES_UPDATES`]).
    pub takes_updates: bool,
    /// Whether the store has a tier in memory above one on disk ([`Store::HAS_TIER`]).
    pub has_tier: bool,
}

impl Row {
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.contains(&tag)
    }

    /// Whether the row is selected only by its name or by `@bad`, and left out of lists.
    pub fn is_hidden(&self) -> bool {
        self.has_tag(HIDDEN)
    }

    /// Whether the row is another one's store under other settings. Selected by its name or a tag, and left out of `all`.
    pub fn is_variant(&self) -> bool {
        self.has_tag(VARIANT)
    }

    /// Whether a get returns what was loaded. Controls don't: there is nothing to verify in their answers.
    pub fn answers(&self) -> bool {
        !self.has_tag(CONTROL)
    }
}

/// Generic code that is run with the type of one row.
pub trait Visitor {
    type Output;

    fn visit<S: Store>(self, row: &'static Row) -> Self::Output;
}

/// Declares the rows once: the list for people and the dispatch for code come from the same lines.
macro_rules! rows {
    ($($name:literal, $store:ty, [$($tag:literal),*], $about:literal;)*) => {
        static ROWS: &[Row] = &[$(Row {
            name: $name,
            tags: &[$($tag),*],
            about: $about,
            takes_updates: <$store as Store>::TAKES_UPDATES,
            has_tier: <$store as Store>::HAS_TIER,
        }),*];

        /// Runs the visitor with the type of the store of this name; `None` when there is no such store.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            let row = find(name)?;
            match row.name {
                $($name => Some(visitor.visit::<$store>(row)),)*
                _ => None,
            }
        }
    };
}

rows! {
    "null", null::Null, ["control"],
        "control: keeps nothing, answers every get with the same short value";
    "sync-map", sync_map::SyncMap, ["memory", "uber"],
        "Go's sync.Map before 1.24: lock-free reads, boxed keys and values; 6 blocks per entry";
    "flat-map", flat_map::FlatMap, ["memory", "uber"],
        "one hash map of key bytes to value bytes behind a reader-writer lock; 2 blocks per entry";
    "packed", packed::Packed, ["memory", "uber"],
        "key and value in one block behind one-word pointers, reader-writer lock; 1 block per entry";
    "hybrid", hybrid::Hybrid, ["hybrid", "uber"],
        "keys in memory as 48-bit hashes, values on disk, 50,000 hot entries resident; 10 bytes a slot";
    "hybrid-metadata", With<preset::MetadataOnly>, ["hybrid", "variant"],
        "hybrid with nothing resident: every get of a held key reads from disk";
    "hybrid-mmap", With<preset::Mmap>, ["hybrid", "variant"],
        "hybrid that reads out of a mapping: cheaper misses, but their pages are resident";
    "hybrid-mmap-metadata", With<preset::MmapMetadataOnly>, ["hybrid", "variant"],
        "hybrid-mmap with nothing resident";
    "hybrid-direct", With<preset::Direct>, ["hybrid", "variant"],
        "hybrid that reads past the page cache: what a miss costs when memory is full";
    "hybrid-exact", With<preset::Exact>, ["hybrid", "variant"],
        "hybrid whose resident tier keeps the exact order of use, behind one lock";
    "hybrid-sharded", With<preset::Sharded>, ["hybrid", "variant"],
        "hybrid whose resident tier is cut into 256 equal parts, each with its own order of use";
    "hybrid-no-preload", With<preset::NoPreload>, ["hybrid", "variant"],
        "hybrid that starts every refresh with nothing resident";
    "hybrid-system-clock", With<preset::SystemClock>, ["clock", "variant"],
        "hybrid whose gets read the standard library's clock";
    "hybrid-counter-clock", With<preset::CounterClock>, ["clock", "variant"],
        "hybrid whose gets read the processor's time stamp counter";
    "hybrid-coarse-clock", With<preset::CoarseClock>, ["clock", "variant"],
        "hybrid whose gets read the system's coarse clock";
    "hybrid-no-clock", With<preset::NoClock>, ["clock", "variant"],
        "control of the clocks: hybrid whose clock stands still";
    "bad-liar", bad::Bad<bad::Liar>, ["bad"],
        "planted fault: a wrong value for one key in 1000";
    "bad-loser", bad::Bad<bad::Loser>, ["bad"],
        "planted fault: one key in 1000 is lost";
    "bad-leaker", bad::Bad<bad::Leaker>, ["bad"],
        "planted fault: 100 blocks of 64 bytes are left behind at drop";
    "bad-panicker", bad::Bad<bad::Panicker>, ["bad"],
        "planted fault: panics after 1000 gets";
    "bad-hanger", bad::Bad<bad::Hanger>, ["bad"],
        "planted fault: the load never returns";
    "bad-eater", bad::Bad<bad::Eater>, ["bad"],
        "planted fault: the load takes memory without end";
    "bad-slow", bad::Bad<bad::Slow>, ["bad"],
        "planted fault: one get in eight looks up twice, about 20% slower than flat-map";
    "bad-double", bad::Double, ["bad", "control"],
        "planted peak: one block of 1024 bytes per entry, so that a refresh needs exactly twice";
}

/// Every row, hidden ones too, in the order of lists and figures.
pub fn rows() -> &'static [Row] {
    ROWS
}

/// The row of this name.
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Why a selection of stores can't be met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownStore {
    #[error("no store is named `{name}`{}; `larder list` names them all", suggestion(nearest.as_deref()))]
    Name { name: String, nearest: Option<String> },
    #[error("no store has the tag `@{tag}`{}; `larder list` shows the tags", suggestion(nearest.as_deref()))]
    Tag { tag: String, nearest: Option<String> },
    #[error("the selection `{patterns}` leaves no store; name at least one that is not excluded")]
    Nothing { patterns: String },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!(" (did you mean `{nearest}`?)")).unwrap_or_default()
}

/// The rows that the patterns select, each once, in the order in which the patterns name them.
///
/// A pattern is a name, `@tag`, `all` (every store once: variants come by name or tag), or one of these behind `-` to leave out what it names, wherever it stands. Where
/// nothing but exclusions is given they are taken from `all`. A pattern may be a list with commas. Hidden rows come only
/// by their name or by `@bad`.
///
/// # Errors
/// [`UnknownStore`] when a pattern names nothing, or when nothing is left.
pub fn select(patterns: &[String]) -> Result<Vec<&'static Row>, UnknownStore> {
    let parts =
        || patterns.iter().flat_map(|pattern| pattern.split(',')).map(str::trim).filter(|part| !part.is_empty());
    let (mut chosen, mut excluded) = (Vec::new(), Vec::new());
    for part in parts() {
        match part.strip_prefix('-') {
            Some(part) => excluded.extend(matching(part)?),
            None => chosen.extend(matching(part)?),
        }
    }
    if parts().all(|part| part.starts_with('-')) && parts().next().is_some() {
        chosen = matching("all")?;
    }
    let mut selected: Vec<&'static Row> = Vec::new();
    for row in chosen {
        if !excluded.contains(&row) && !selected.contains(&row) {
            selected.push(row);
        }
    }
    if selected.is_empty() {
        return Err(UnknownStore::Nothing { patterns: patterns.join(",") });
    }
    Ok(selected)
}

/// The rows that one pattern without its `-` names.
fn matching(pattern: &str) -> Result<Vec<&'static Row>, UnknownStore> {
    if pattern == "all" {
        return Ok(ROWS.iter().filter(|row| !row.is_hidden() && !row.is_variant()).collect());
    }
    let Some(tag) = pattern.strip_prefix('@') else {
        return find(pattern).map(|row| vec![row]).ok_or_else(|| UnknownStore::Name {
            name: pattern.to_owned(),
            nearest: nearest(pattern, ROWS.iter().filter(|row| !row.is_hidden()).map(|row| row.name)),
        });
    };
    let tagged = |row: &&'static Row| row.has_tag(tag) && (tag == HIDDEN || !row.is_hidden());
    let rows: Vec<_> = ROWS.iter().filter(tagged).collect();
    if rows.is_empty() {
        let tags = ROWS.iter().flat_map(|row| row.tags).copied();
        return Err(UnknownStore::Tag {
            tag: tag.to_owned(),
            nearest: nearest(tag, tags).map(|tag| format!("@{tag}")),
        });
    }
    Ok(rows)
}

/// The known name most like this one, where one is alike enough to be a slip of the fingers.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // Below 0.7 the Jaro-Winkler measure finds kinship between names that share no more than a letter or two.
    const ALIKE: f64 = 0.7;
    known
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, known)| known.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(patterns: &[&str]) -> Result<Vec<&'static str>, UnknownStore> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        select(&patterns).map(|rows| rows.iter().map(|row| row.name).collect())
    }

    struct NameOf;

    impl Visitor for NameOf {
        type Output = &'static str;

        fn visit<S: Store>(self, row: &'static Row) -> &'static str {
            assert_eq!(row.takes_updates, S::TAKES_UPDATES);
            row.name
        }
    }

    #[test]
    fn every_row_is_found_and_visited_under_its_own_name() {
        for row in rows() {
            assert_eq!(visit(row.name, NameOf), Some(row.name));
            assert_eq!(rows().iter().filter(|other| other.name == row.name).count(), 1, "{} stands twice", row.name);
        }
        assert_eq!(visit("no-such-store", NameOf), None);
    }

    #[test]
    fn a_selection_keeps_the_order_of_its_patterns_and_names_each_row_once() {
        assert_eq!(names(&["packed", "flat-map", "packed"]), Ok(vec!["packed", "flat-map"]));
        assert_eq!(names(&["packed,null"]), Ok(vec!["packed", "null"]));
    }

    #[test]
    fn an_exclusion_counts_wherever_it_stands() {
        assert!(!names(&["-packed", "@memory"]).unwrap().contains(&"packed"));
        assert!(!names(&["all", "-@control"]).unwrap().contains(&"null"));
        assert!(names(&["-packed"]).unwrap().contains(&"null"), "exclusions alone are taken from all");
    }

    #[test]
    fn hidden_rows_come_only_by_name_or_by_their_tag() {
        for row in rows().iter().filter(|row| row.is_hidden()) {
            assert_eq!(names(&[row.name]), Ok(vec![row.name]));
            assert!(names(&["@bad"]).unwrap().contains(&row.name));
        }
        for visible in ["all", "@control", "@memory", "-null"] {
            let rows = names(&[visible]).unwrap();
            assert!(rows.iter().all(|name| !find(name).unwrap().is_hidden()), "{visible} selects {rows:?}");
        }
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest_known_one() {
        let error = names(&["flatmap"]).unwrap_err().to_string();
        assert!(error.contains("`flatmap`") && error.contains("did you mean `flat-map`?"), "{error}");
        let error = names(&["@memroy"]).unwrap_err().to_string();
        assert!(error.contains("did you mean `@memory`?"), "{error}");
        assert_eq!(names(&["zzz"]), Err(UnknownStore::Name { name: "zzz".to_owned(), nearest: None }));
    }

    #[test]
    fn a_selection_that_ends_up_empty_is_an_error() {
        assert!(matches!(names(&["packed", "-packed"]), Err(UnknownStore::Nothing { .. })));
        assert!(matches!(names(&[]), Err(UnknownStore::Nothing { .. })));
        assert!(matches!(names(&[" , "]), Err(UnknownStore::Nothing { .. })));
    }
}
