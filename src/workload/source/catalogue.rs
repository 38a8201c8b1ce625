//! One gettext catalogue (.mo), whole in memory, every offset checked before it is followed. Knows nothing of where the file
//! lies.
//!
//! The format: GNU gettext manual, "The Format of GNU MO Files". A header of seven numbers, two tables of (length, offset), one
//! for the original strings and one for the translations; each string ends with a NUL that its length does not count.

/// The first number of a catalogue, in the byte order of all others.
const MAGIC: u32 = 0x9504_12de;
/// Bytes of the part of the header that every revision has.
const HEADER: usize = 20;
/// Bytes of an entry in a table.
const ENTRY: u64 = 8;

/// A fault at a byte of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub byte: u64,
    pub complaint: String,
}

fn fault<T>(byte: u64, complaint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { byte, complaint: complaint.into() })
}

/// A catalogue and a place in it.
#[derive(Debug)]
pub struct Catalogue {
    bytes: Vec<u8>,
    big_endian: bool,
    strings: u64,
    originals: u64,
    translations: u64,
    next: u64,
}

/// An original string and its translation.
pub type Pair<'a> = (&'a [u8], &'a [u8]);

impl Catalogue {
    /// # Errors
    /// No catalogue, one of a revision that is not known, and tables outside the file.
    pub fn new(bytes: Vec<u8>) -> Result<Self, Fault> {
        let big_endian = match bytes.first_chunk::<4>().copied() {
            Some(first) if u32::from_le_bytes(first) == MAGIC => false,
            Some(first) if u32::from_be_bytes(first) == MAGIC => true,
            _ => return fault(0, "not a gettext catalogue: it does not begin with the number 0x950412de"),
        };
        if bytes.len() < HEADER {
            return fault(bytes.len() as u64, format!("the file ends inside its header of {HEADER} bytes"));
        }
        let mut catalogue = Self { bytes, big_endian, strings: 0, originals: 0, translations: 0, next: 0 };
        let revision = catalogue.number(4)?;
        // Major revision 1 differs in strings that depend on the system; they lie in tables of their own and are left out.
        if revision >> 16 > 1 {
            return fault(4, format!("format revision {}.{}; 0 and 1 are known", revision >> 16, revision & 0xffff));
        }
        catalogue.strings = u64::from(catalogue.number(8)?);
        catalogue.originals = catalogue.table(12, "original strings")?;
        catalogue.translations = catalogue.table(16, "translations")?;
        Ok(catalogue)
    }

    /// The next pair of an original string and its translation that is an item: not the header, and translated. Of plural
    /// forms the first is taken.
    ///
    /// # Errors
    /// A string outside the file, or one without its NUL.
    pub fn next_pair(&mut self) -> Result<Option<Pair<'_>>, Fault> {
        while self.next < self.strings {
            let entry = self.next * ENTRY;
            self.next += 1;
            let original = self.string(self.originals + entry)?;
            let translation = self.string(self.translations + entry)?;
            if !original.is_empty() && !translation.is_empty() {
                return Ok(Some((&self.bytes[original], &self.bytes[translation])));
            }
        }
        Ok(None)
    }

    /// The offset of a table, all of which lies in the file.
    fn table(&self, at: u64, name: &str) -> Result<u64, Fault> {
        let offset = u64::from(self.number(at)?);
        let (end, size) = (offset + self.strings * ENTRY, self.bytes.len() as u64);
        if end > size {
            return fault(
                at,
                format!(
                    "the table of {} {name} at byte {offset} ends at {end}, outside the file of {size} bytes",
                    self.strings
                ),
            );
        }
        Ok(offset)
    }

    /// Where the first form of the string lies whose table entry is at byte `at`.
    fn string(&self, at: u64) -> Result<std::ops::Range<usize>, Fault> {
        let (length, offset) = (u64::from(self.number(at)?), u64::from(self.number(at + 4)?));
        let (end, size) = (offset + length, self.bytes.len() as u64);
        if end >= size {
            let complaint = format!("a string of {length} bytes at byte {offset}, outside the file of {size} bytes");
            return fault(at, complaint);
        }
        // In the file, so in memory: both fit.
        let (start, end) = (offset as usize, end as usize);
        if self.bytes[end] != 0 {
            return fault(
                end as u64,
                format!("the string at byte {offset} does not end with a NUL after {length} bytes"),
            );
        }
        let form = self.bytes[start..end].iter().position(|byte| *byte == 0);
        Ok(start..form.map_or(end, |length| start + length))
    }

    fn number(&self, at: u64) -> Result<u32, Fault> {
        let found = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..)).and_then(<[u8]>::first_chunk::<4>);
        match found {
            Some(bytes) if self.big_endian => Ok(u32::from_be_bytes(*bytes)),
            Some(bytes) => Ok(u32::from_le_bytes(*bytes)),
            None => fault(at, "the file ends here, inside a number"),
        }
    }
}
