//! Seeded translations at any size: the default data. Item `i` is a function of the seed and `i` alone; nothing is kept.
//!
//! Keys name a place in an application and a language, `rider_app.checkout.payment_method.primary_button.title-pt-BR`, all languages of a
//! message one after the other, as in a sorted document. Values are text in the scripts of 30 languages, put together from phrases that
//! come again, as they do in real applications. Lengths follow the shape of real translations (`LENGTHS`), stretched to the size of the
//! article's entries; how well both fit, and how well they compress beside real ones, stands in `data/README.md`.

mod language;
mod places;

use std::sync::OnceLock;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::items::{Item, Items, SourceError};
use language::{LANGUAGES, Vocabulary};

/// Quantiles of value lengths of 2.24 million real translations (Home Assistant), bytes: probability and length.
const LENGTHS: [(f64, f64); 9] = [
    (0.0, 1.0),
    (0.01, 3.0),
    (0.25, 11.0),
    (0.5, 21.0),
    (0.75, 38.0),
    (0.9, 70.0),
    (0.99, 257.0),
    (0.999, 584.0),
    (1.0, 2767.0),
];
/// Stretches real lengths (mean 35 bytes) to the article's: 2 million entries make 800 MB in a flat map.
const STRETCH: f64 = 5.5;
/// 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// One value in so many has a placeholder that the application fills in.
const PLACEHOLDER_ONE_IN: u32 = 6;
const PLACEHOLDERS: [&str; 6] = ["{name}", "{count}", "%s", "{time}", "%1$s", "{price}"];

/// Vocabularies do not depend on the seed: made once per process.
static VOCABULARIES: OnceLock<Vec<Vocabulary>> = OnceLock::new();

/// The items `0..entries` of a seed.
pub struct Synthetic {
    next: u64,
    entries: u64,
    seed: u64,
    vocabularies: &'static [Vocabulary],
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Synthetic {
    pub fn new(entries: u64, seed: u64) -> Self {
        let vocabularies = VOCABULARIES.get_or_init(|| LANGUAGES.iter().map(Vocabulary::of).collect());
        Self { next: 0, entries, seed, vocabularies, key: Vec::new(), value: Vec::new() }
    }

    fn make(&mut self, index: u64) {
        let (message, language) = (index / LANGUAGES.len() as u64, (index % LANGUAGES.len() as u64) as usize);
        self.key.clear();
        places::write(message, &mut self.key);
        self.key.push(b'-');
        self.key.extend_from_slice(LANGUAGES[language].tag.as_bytes());
        // A message is long or short in every language; each language tells it with its own length. Multiples of the golden ratio
        // spread evenly over the law at any number of messages, so that sizes differ by what a design does and not by the draw.
        let draw = message.wrapping_mul(GOLDEN).wrapping_add(xxh3_64_with_seed(b"lengths", self.seed));
        let own = xxh3_64_with_seed(&index.to_le_bytes(), self.seed);
        let language = language::text_of(language, own);
        let text = message * LANGUAGES.len() as u64 + language as u64;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(&text.to_le_bytes(), self.seed));
        let target = length(draw) * rng.random_range(0.8..1.25);
        self.value.clear();
        self.vocabularies[language].write(target, &mut rng, &mut self.value);
        if rng.random_range(0..PLACEHOLDER_ONE_IN) == 0 {
            self.value.push(b' ');
            let placeholder = PLACEHOLDERS[rng.random_range(0..PLACEHOLDERS.len())];
            self.value.extend_from_slice(placeholder.as_bytes());
        }
    }
}

/// A stretched length by inverse transform of the real quantiles; 64 random bits in.
fn length(draw: u64) -> f64 {
    let probability = (draw >> 11) as f64 / (1u64 << 53) as f64;
    let above = LENGTHS.iter().position(|(p, _)| probability < *p).unwrap_or(LENGTHS.len() - 1).max(1);
    let ((p0, l0), (p1, l1)) = (LENGTHS[above - 1], LENGTHS[above]);
    // Between two quantiles lengths grow by factors rather than by steps: the law is close to a log-normal one.
    STRETCH * l0 * (l1 / l0).powf((probability - p0) / (p1 - p0))
}

impl Items for Synthetic {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        if self.next == self.entries {
            return Ok(None);
        }
        self.make(self.next);
        self.next += 1;
        Ok(Some(Item { key: &self.key, value: &self.value }))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.entries - self.next)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn digest(entries: u64, seed: u64) -> (u64, usize, usize) {
        let mut items = Synthetic::new(entries, seed);
        let (mut hash, mut keys, mut values) = (0, 0, 0);
        while let Some(item) = items.next_item().unwrap() {
            hash = xxh3_64_with_seed(item.value, xxh3_64_with_seed(item.key, hash));
            keys += item.key.len();
            values += item.value.len();
        }
        (hash, keys, values)
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_on_every_machine() {
        assert_eq!(digest(3000, 1).0, PINNED, "items of seed 1 have changed: rows of earlier runs no longer compare");
        assert_ne!(digest(3000, 1).0, digest(3000, 2).0);
    }

    /// Changes only with a change of the data that is meant.
    const PINNED: u64 = 7_887_209_260_605_047_930;

    #[test]
    fn keys_are_distinct_and_values_are_text() {
        let mut items = Synthetic::new(100_000, 1);
        let mut keys = HashSet::new();
        while let Some(item) = items.next_item().unwrap() {
            assert!(std::str::from_utf8(item.value).is_ok() && !item.value.is_empty());
            assert!(keys.insert(item.key.to_vec()), "{} comes twice", String::from_utf8_lossy(item.key));
        }
        assert_eq!(keys.len(), 100_000);
    }

    #[test]
    fn an_item_does_not_depend_on_how_many_are_made() {
        let mut few = Synthetic::new(100, 3);
        let mut many = Synthetic::new(5000, 3);
        while let Some(item) = few.next_item().unwrap() {
            let other = many.next_item().unwrap().unwrap();
            assert_eq!((item.key, item.value), (other.key, other.value));
        }
    }

    #[test]
    fn sizes_are_those_of_the_article() {
        let (_, keys, values) = digest(60_000, 1);
        let (key, value) = (keys as f64 / 60_000.0, values as f64 / 60_000.0);
        assert!((76.0..86.0).contains(&key), "mean key {key}");
        assert!((215.0..228.0).contains(&value), "mean value {value}");
    }
}
