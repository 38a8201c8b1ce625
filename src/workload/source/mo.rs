//! A tree of gettext catalogues (`LANG/LC_MESSAGES/DOMAIN.mo`): real translations that nearly every Linux machine has. The format is that
//! of the gettext manual, "The Format of GNU MO Files".

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::items::{Item, Items, SourceError};

/// A larger catalogue is a fault: the largest real ones have a few MB.
const LARGEST: u64 = 256 << 20;
const MAGIC: u32 = 0x9504_12de;
/// Between a message's context and its text.
const CONTEXT: u8 = 4;

/// Messages of all catalogues below a folder, in the order of their paths; one catalogue is in memory at a time.
pub struct Mo {
    files: std::vec::IntoIter<PathBuf>,
    catalogue: Option<Catalogue>,
    key: Vec<u8>,
}

impl Mo {
    /// Lists the catalogues below `folder`.
    pub fn open(folder: &Path) -> Result<Self, SourceError> {
        let files = catalogues(folder)?;
        Ok(Self { files: files.into_iter(), catalogue: None, key: Vec::new() })
    }
}

/// Size of all catalogues below `folder`, bytes.
pub fn total_bytes(folder: &Path) -> Result<u64, SourceError> {
    Ok(catalogues(folder)?.iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum())
}

/// Catalogues by path. Links are left out: distributions link one domain's catalogue to another's name.
fn catalogues(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let fail = |path: &Path, cause: std::io::Error| SourceError::caused(format!("{}: {cause}", path.display()), cause);
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|cause| fail(&folder, cause))? {
            let entry = entry.map_err(|cause| fail(&folder, cause))?;
            let kind = entry.file_type().map_err(|cause| fail(&entry.path(), cause))?;
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && path.extension() == Some(OsStr::new("mo")) {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        return Err(SourceError::new(format!(
            "{}: no .mo catalogue below this folder; /usr/share/locale often has some",
            folder.display()
        )));
    }
    found.sort();
    Ok(found)
}

impl Items for Mo {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        loop {
            if self.catalogue.as_ref().is_none_or(|catalogue| catalogue.next >= catalogue.count) {
                let Some(path) = self.files.next() else { return Ok(None) };
                self.catalogue = Some(Catalogue::read(path)?);
                continue;
            }
            let catalogue = self.catalogue.as_mut().expect("checked above");
            if catalogue.step(&mut self.key)? {
                break;
            }
        }
        let catalogue = self.catalogue.as_ref().expect("the loop ended in it");
        Ok(Some(Item { key: &self.key, value: &catalogue.bytes[catalogue.value.clone()] }))
    }
}

struct Catalogue {
    path: PathBuf,
    bytes: Vec<u8>,
    big_endian: bool,
    count: usize,
    originals: usize,
    translations: usize,
    next: usize,
    value: std::ops::Range<usize>,
    domain: Vec<u8>,
    language: Vec<u8>,
}

impl Catalogue {
    fn read(path: PathBuf) -> Result<Self, SourceError> {
        let fail = |cause: std::io::Error| SourceError::caused(format!("{}: {cause}", path.display()), cause);
        let mut bytes = Vec::new();
        fs::File::open(&path).map_err(fail)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(fail)?;
        let name = |name: Option<&OsStr>| name.unwrap_or_default().as_encoded_bytes().to_vec();
        let parent = path.parent().unwrap_or(Path::new(""));
        let folder = if parent.file_name() == Some(OsStr::new("LC_MESSAGES")) { parent.parent() } else { Some(parent) };
        let mut catalogue = Self {
            domain: name(path.file_stem()),
            language: name(folder.and_then(Path::file_name)),
            path,
            bytes,
            big_endian: false,
            count: 0,
            originals: 0,
            translations: 0,
            next: 0,
            value: 0..0,
        };
        catalogue.read_header()?;
        Ok(catalogue)
    }

    fn read_header(&mut self) -> Result<(), SourceError> {
        if self.bytes.len() as u64 > LARGEST {
            return Err(self.fault(0, "the catalogue is larger than 256 MiB"));
        }
        self.big_endian = self.word(0)? == MAGIC.swap_bytes();
        if self.word(0)? != MAGIC {
            return Err(self.fault(0, "this is no .mo catalogue (its first four bytes are not those of one)"));
        }
        if self.word(4)? >> 16 > 1 {
            return Err(self.fault(4, "a revision of the format that is not known"));
        }
        self.count = self.word(8)? as usize;
        self.originals = self.word(12)? as usize;
        self.translations = self.word(16)? as usize;
        for (at, table) in [(12, self.originals), (16, self.translations)] {
            if table.saturating_add(self.count.saturating_mul(8)) > self.bytes.len() {
                return Err(self.fault(at, "its table of texts does not lie inside the file"));
            }
        }
        Ok(())
    }

    fn fault(&self, at: usize, message: &str) -> SourceError {
        let path = self.path.display();
        SourceError::new(format!("{path}: byte {at}: {message}; the file is damaged, remove it or install it again"))
    }

    fn word(&self, at: usize) -> Result<u32, SourceError> {
        let bytes: Option<[u8; 4]> = self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or_else(|| self.fault(at, "the file ends here, inside its header"))?;
        let word = u32::from_le_bytes(bytes);
        Ok(if self.big_endian { word.swap_bytes() } else { word })
    }

    /// Where the text lies that row `self.next` of a table describes.
    fn text(&self, table: usize) -> Result<std::ops::Range<usize>, SourceError> {
        let row = table + self.next * 8;
        let (length, start) = (self.word(row)? as usize, self.word(row + 4)? as usize);
        let range = start..start.saturating_add(length);
        if range.end > self.bytes.len() {
            return Err(self.fault(row, "a text that does not lie inside the file"));
        }
        Ok(range)
    }

    /// The first of the forms that a plural message has, each ended by a zero byte.
    fn first_form(&self, text: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let length = self.bytes[text.clone()].iter().position(|&byte| byte == 0).unwrap_or(text.len());
        text.start..text.start + length
    }

    /// Goes on to the next message; `false` for the header and for messages without a translation.
    fn step(&mut self, key: &mut Vec<u8>) -> Result<bool, SourceError> {
        let original = self.text(self.originals)?;
        let original = self.first_form(original);
        let translation = self.text(self.translations)?;
        self.value = self.first_form(translation);
        self.next += 1;
        key.clear();
        key.extend_from_slice(&self.domain);
        key.push(b'/');
        key.extend(self.bytes[original.clone()].iter().map(|&byte| if byte == CONTEXT { b'|' } else { byte }));
        key.push(b'-');
        key.extend_from_slice(&self.language);
        Ok(!original.is_empty() && !self.value.is_empty())
    }
}
