//! Languages, their scripts, and words and phrases in them. The words mean nothing; their letters, lengths and frequencies do.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// A language tag with the letters its words are made of.
pub struct Language {
    pub tag: &'static str,
    script: Script,
}

/// Sounds that make syllables, or signs that make words by themselves.
enum Script {
    /// Syllables of an opening, a middle and an ending part.
    Syllables { open: &'static [&'static str], middle: &'static [&'static str], close: &'static [&'static str] },
    /// Signs of a Unicode block, one to three a word, no spaces between words.
    Signs { first: u32, count: u32 },
}

use Script::{Signs, Syllables};

const LATIN_OPEN: &[&str] =
    &["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pr", "ch", "qu", ""];
const LATIN_CLOSE: &[&str] = &["", "", "", "n", "r", "s", "t", "l", "nt", "m"];
const NORTH_OPEN: &[&str] =
    &["b", "d", "f", "g", "h", "k", "l", "m", "n", "s", "t", "v", "w", "sch", "st", "sp", "br", "kr", "z", ""];
const NORTH_CLOSE: &[&str] = &["", "", "n", "r", "s", "t", "ng", "nd", "ck", "l", "rt"];
const SLAVIC_OPEN: &[&str] =
    &["b", "c", "d", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "š", "č", "ř", "př", "st"];
const CYRILLIC_OPEN: &[&str] =
    &["б", "в", "г", "д", "ж", "з", "к", "л", "м", "н", "п", "р", "с", "т", "х", "ч", "ш", "пр", "ст", ""];
const CYRILLIC_CLOSE: &[&str] = &["", "", "", "н", "л", "т", "ть", "й", "м", "сь"];
const DEVANAGARI_OPEN: &[&str] =
    &["क", "ख", "ग", "च", "ज", "ट", "ड", "त", "द", "न", "प", "ब", "म", "य", "र", "ल", "व", "श", "स", "ह"];

macro_rules! syllables {
    ($tag:literal, $open:expr, $middle:expr, $close:expr) => {
        Language { tag: $tag, script: Syllables { open: $open, middle: $middle, close: $close } }
    };
}

/// Thirty languages of a large consumer application.
pub const LANGUAGES: &[Language] = &[
    syllables!(
        "ar",
        &["ب", "ت", "ج", "ح", "د", "ر", "س", "ش", "ع", "ف", "ق", "ك", "ل", "م", "ن", "ه", "ال", "م"],
        &["ا", "و", "ي", "", ""],
        &["", "", "ة", "ن", "ت"]
    ),
    syllables!("bg", CYRILLIC_OPEN, &["а", "е", "и", "о", "у", "ъ"], CYRILLIC_CLOSE),
    syllables!(
        "bn",
        &["ক", "খ", "গ", "চ", "জ", "ট", "ড", "ত", "দ", "ন", "প", "ব", "ম", "য", "র", "ল", "স", "হ"],
        &["া", "ি", "ে", "ো", "", "ু"],
        &["", "", "র", "ন"]
    ),
    syllables!("cs", SLAVIC_OPEN, &["a", "e", "i", "o", "u", "á", "é", "í", "ě", "ů"], LATIN_CLOSE),
    syllables!("da", NORTH_OPEN, &["a", "e", "i", "o", "u", "æ", "ø", "å"], NORTH_CLOSE),
    syllables!("de", NORTH_OPEN, &["a", "e", "i", "o", "u", "ei", "ie", "ä", "ö", "ü", "au"], NORTH_CLOSE),
    syllables!(
        "el",
        &["β", "γ", "δ", "θ", "κ", "λ", "μ", "ν", "π", "ρ", "σ", "τ", "φ", "χ", "στ", "πρ"],
        &["α", "ε", "η", "ι", "ο", "ω", "ου", "ά", "έ", "ί"],
        &["", "", "ς", "ν", ""]
    ),
    syllables!("en", LATIN_OPEN, &["a", "e", "i", "o", "u", "ea", "ou"], LATIN_CLOSE),
    syllables!("en-GB", LATIN_OPEN, &["a", "e", "i", "o", "u", "ea", "ou"], LATIN_CLOSE),
    syllables!("es", LATIN_OPEN, &["a", "e", "i", "o", "u", "ie", "á", "ó"], LATIN_CLOSE),
    syllables!("es-MX", LATIN_OPEN, &["a", "e", "i", "o", "u", "ie", "á", "ó"], LATIN_CLOSE),
    syllables!(
        "fi",
        &["h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", ""],
        &["a", "e", "i", "o", "u", "y", "ä", "aa", "ii", "uo"],
        &["", "", "n", "s", "tt", "ll"]
    ),
    syllables!("fr", LATIN_OPEN, &["a", "e", "i", "o", "u", "é", "è", "ou", "ai", "eau"], LATIN_CLOSE),
    syllables!("fr-CA", LATIN_OPEN, &["a", "e", "i", "o", "u", "é", "è", "ou", "ai", "eau"], LATIN_CLOSE),
    syllables!(
        "he",
        &["א", "ב", "ג", "ד", "ה", "ח", "ט", "כ", "ל", "מ", "נ", "ס", "ע", "פ", "צ", "ק", "ר", "ש", "ת"],
        &["ו", "י", "", ""],
        &["", "", "ים", "ת"]
    ),
    syllables!("hi", DEVANAGARI_OPEN, &["ा", "ि", "ी", "े", "ो", "", "ु"], &["", "", "र", "न", "ं"]),
    syllables!("hu", SLAVIC_OPEN, &["a", "e", "i", "o", "u", "á", "é", "ö", "ő", "ü"], LATIN_CLOSE),
    syllables!("id", LATIN_OPEN, &["a", "e", "i", "o", "u"], LATIN_CLOSE),
    syllables!("it", LATIN_OPEN, &["a", "e", "i", "o", "u", "ia", "io"], &["", "", "n", "l", "r"]),
    Language { tag: "ja", script: Signs { first: 0x3042, count: 70 } },
    Language { tag: "ko", script: Signs { first: 0xac00, count: 1200 } },
    syllables!("nl", NORTH_OPEN, &["a", "e", "i", "o", "u", "ee", "ij", "oo"], NORTH_CLOSE),
    syllables!("pl", SLAVIC_OPEN, &["a", "e", "i", "o", "u", "ą", "ę", "y", "ie"], LATIN_CLOSE),
    syllables!("pt-BR", LATIN_OPEN, &["a", "e", "i", "o", "u", "ã", "ç", "ê", "ão"], LATIN_CLOSE),
    syllables!("ru", CYRILLIC_OPEN, &["а", "е", "и", "о", "у", "я", "ы"], CYRILLIC_CLOSE),
    syllables!(
        "th",
        &["ก", "ข", "ค", "ง", "จ", "ช", "ต", "ท", "น", "บ", "ป", "พ", "ม", "ย", "ร", "ล", "ว", "ส"],
        &["า", "ิ", "ี", "ุ", "เ", "แ", ""],
        &["", "น", "ง", "ม"]
    ),
    syllables!("tr", LATIN_OPEN, &["a", "e", "ı", "i", "o", "ö", "u", "ü"], LATIN_CLOSE),
    syllables!("uk", CYRILLIC_OPEN, &["а", "е", "и", "і", "о", "у", "я"], CYRILLIC_CLOSE),
    Language { tag: "zh-CN", script: Signs { first: 0x4e00, count: 1500 } },
    Language { tag: "zh-TW", script: Signs { first: 0x5200, count: 1500 } },
];

/// Varieties that mostly say what another language says, and how often, out of 100.
const VARIETIES: [(&str, &str, u64); 3] = [("en-GB", "en", 85), ("es-MX", "es", 65), ("fr-CA", "fr", 65)];
/// Texts that nobody has translated stand in English, out of 100. (Real catalogues have more; translators' tools drop some.)
const UNTRANSLATED: u64 = 11;

/// The language in whose words a text of `language` stands, by an even draw.
pub fn text_of(language: usize, draw: u64) -> usize {
    let numbered = |tag: &str| LANGUAGES.iter().position(|language| language.tag == tag).unwrap_or(language);
    let chance = draw % 100;
    match VARIETIES.iter().find(|(tag, ..)| *tag == LANGUAGES[language].tag) {
        Some((_, of, often)) if chance < *often => numbered(of),
        None if chance < UNTRANSLATED => numbered("en"),
        _ => language,
    }
}

/// Words of a language, and phrases that come again.
const WORDS: usize = 700;
const PHRASES: usize = 120;
/// Share of a text that is made of phrases rather than of single words, out of 100.
const PHRASED: u32 = 90;

/// Words and phrases of one language, the frequent ones first.
pub struct Vocabulary {
    words: Vec<String>,
    phrases: Vec<String>,
    spaced: bool,
}

impl Vocabulary {
    pub fn of(language: &Language) -> Self {
        let seed = language.tag.bytes().fold(17, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let spaced = matches!(language.script, Syllables { .. });
        let words: Vec<String> = (0..WORDS).map(|rank| language.script.word(rank, &mut rng)).collect();
        let mut vocabulary = Self { words, phrases: Vec::new(), spaced };
        for _ in 0..PHRASES {
            let mut phrase = Vec::new();
            for _ in 0..rng.random_range(4..13) {
                vocabulary.add_word(&mut rng, &mut phrase);
            }
            vocabulary.phrases.push(String::from_utf8(phrase).expect("words are text"));
        }
        vocabulary
    }

    /// Writes text of about `target` bytes.
    pub fn write(&self, target: f64, rng: &mut Xoshiro256PlusPlus, into: &mut Vec<u8>) {
        loop {
            let left = target - into.len() as f64;
            let phrase = &self.phrases[frequent_first(PHRASES, rng)];
            if rng.random_range(0..100) < PHRASED && (phrase.len() as f64) < left * 1.5 {
                self.separate(into);
                into.extend_from_slice(phrase.as_bytes());
            } else {
                self.add_word(rng, into);
            }
            if into.len() as f64 + 4.0 >= target {
                return;
            }
        }
    }

    fn add_word(&self, rng: &mut Xoshiro256PlusPlus, into: &mut Vec<u8>) {
        self.separate(into);
        into.extend_from_slice(self.words[frequent_first(WORDS, rng)].as_bytes());
    }

    fn separate(&self, into: &mut Vec<u8>) {
        if self.spaced && !into.is_empty() {
            into.push(b' ');
        }
    }
}

/// A rank below `count` by Zipf's law with exponent 1, to the accuracy that text needs: the logarithm of ranks is even.
fn frequent_first(count: usize, rng: &mut Xoshiro256PlusPlus) -> usize {
    let even: f64 = rng.random();
    ((count as f64 + 1.0).powf(even) as usize).clamp(1, count) - 1
}

impl Script {
    /// Frequent words are short (Zipf's law of abbreviation).
    fn word(&self, rank: usize, rng: &mut Xoshiro256PlusPlus) -> String {
        let length =
            1 + rng.random_range(0..=(1 + (rank >= 8) as usize + (rank >= 60) as usize + (rank >= 500) as usize));
        let mut word = String::new();
        for _ in 0..length {
            match self {
                Syllables { open, middle, close } => {
                    for part in [open, middle, close] {
                        word.push_str(part[rng.random_range(0..part.len())]);
                    }
                }
                Signs { first, count } => {
                    word.push(char::from_u32(first + rng.random_range(0..*count)).unwrap_or('〇'));
                }
            }
        }
        if word.is_empty() { "a".to_owned() } else { word }
    }
}
