//! Items from a tree of gettext catalogues, as an operating system installs them (`LANG/LC_MESSAGES/DOMAIN.mo`): the names of
//! files and the keys made of them. Knows nothing of what is inside a catalogue.
//!
//! An item's key is `domain/msgid-language`; where the message has a context, `domain/context|msgid-language`. Catalogues are
//! read in the order of their paths, one at a time. Symbolic links below the folder are skipped: they name a catalogue that is
//! in the tree already (`iso_639.mo`), or lead out of it. Values are the bytes of the file, in whatever encoding.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::LONGEST;
use super::catalogue::{Catalogue, Fault};
use crate::items::{Item, Items, SourceError};

/// Bytes of the largest catalogue that is read. The largest ones in use have about 5 MB.
const LARGEST: u64 = 256 << 20;
/// What gettext puts between the context of a message and the message.
const CONTEXT_END: u8 = 0x04;

/// The items of all catalogues under a folder.
pub struct Mo {
    rest: std::vec::IntoIter<PathBuf>,
    open: Option<Named>,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// A catalogue and what its path says of it.
struct Named {
    path: PathBuf,
    domain: Vec<u8>,
    language: Vec<u8>,
    catalogue: Catalogue,
}

impl Mo {
    /// # Errors
    /// A folder that cannot be walked, or that holds no catalogue.
    pub fn open(folder: &Path) -> Result<Self, SourceError> {
        let rest = catalogues(folder)?.into_iter();
        Ok(Self { rest, open: None, key: Vec::new(), value: Vec::new() })
    }

    /// Reads the next item into key and value; false behind the last catalogue.
    fn advance(&mut self) -> Result<bool, SourceError> {
        loop {
            if let Some(named) = &mut self.open
                && named.next_pair(&mut self.key, &mut self.value)?
            {
                return Ok(true);
            }
            // The last one goes before the next one comes.
            self.open = None;
            let Some(path) = self.rest.next() else { return Ok(false) };
            self.open = Some(Named::open(path)?);
        }
    }
}

impl Items for Mo {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        Ok(self.advance()?.then_some(Item { key: &self.key, value: &self.value }))
    }
}

impl Named {
    fn open(path: PathBuf) -> Result<Self, SourceError> {
        let bytes =
            contents(&path).map_err(|cause| SourceError::caused(format!("{}: {cause}", path.display()), cause))?;
        let catalogue = Catalogue::new(bytes).map_err(|fault| complain(&path, &fault))?;
        let domain = path.file_stem().unwrap_or_default().as_bytes().to_owned();
        let language = language(&path);
        Ok(Self { path, domain, language, catalogue })
    }

    fn next_pair(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<bool, SourceError> {
        let pair = self.catalogue.next_pair().map_err(|fault| complain(&self.path, &fault))?;
        let Some((original, translation)) = pair else { return Ok(false) };
        if original.len().max(translation.len()) > LONGEST {
            let name = self.path.display();
            return Err(SourceError::new(format!("{name}: a message longer than {LONGEST} bytes; remove the file")));
        }
        key.clear();
        key.extend_from_slice(&self.domain);
        key.push(b'/');
        key.extend(original.iter().map(|byte| if *byte == CONTEXT_END { b'|' } else { *byte }));
        key.push(b'-');
        key.extend_from_slice(&self.language);
        value.clear();
        value.extend_from_slice(translation);
        Ok(true)
    }
}

fn complain(path: &Path, Fault { byte, complaint }: &Fault) -> SourceError {
    SourceError::new(format!("{}: byte {byte}: {complaint}; install the file again or remove it", path.display()))
}

/// The name of the locale: the folder above `LC_MESSAGES` (or another category, `LC_TIME`), otherwise the folder of the file.
fn language(path: &Path) -> Vec<u8> {
    let folder = path.parent().unwrap_or(path);
    let is_category = folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"LC_"));
    let locale = if is_category { folder.parent().unwrap_or(folder) } else { folder };
    locale.file_name().unwrap_or_default().as_bytes().to_owned()
}

fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > LARGEST {
        return Err(io::Error::other(format!(
            "a catalogue of {size} bytes, more than {LARGEST}; remove it or split it"
        )));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether `folder` is a folder; a link to one is followed.
///
/// # Errors
/// Nothing there, or a file.
pub fn check(folder: &Path) -> Result<(), SourceError> {
    let name = folder.display();
    match fs::metadata(folder) {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => {
            Err(SourceError::new(format!("{name} is not a folder; mo: takes the folder that holds the catalogues")))
        }
        Err(cause) => {
            Err(SourceError::caused(format!("{name}: {cause}; give a folder such as /usr/share/locale"), cause))
        }
    }
}

/// Bytes of all catalogues under a folder.
///
/// # Errors
/// As [`Mo::open`].
pub fn size(folder: &Path) -> Result<u64, SourceError> {
    catalogues(folder)?.iter().map(|path| super::size_of(path)).sum()
}

/// The paths of all catalogues under a folder, sorted.
fn catalogues(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    check(folder)?;
    // Resolved, so that the name of the language is there even when the folder is typed as `.`.
    let top = folder.canonicalize().map_err(|cause| unreadable(folder, cause))?;
    let mut found = Vec::new();
    let mut folders = vec![top];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|cause| unreadable(&folder, cause))? {
            let entry = entry.map_err(|cause| unreadable(&folder, cause))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|cause| unreadable(&path, cause))?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "mo") {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        let name = folder.display();
        return Err(SourceError::new(format!(
            "{name}: no gettext catalogue (.mo) in this folder or below it, symbolic links aside; try /usr/share/locale"
        )));
    }
    found.sort();
    Ok(found)
}

fn unreadable(path: &Path, cause: io::Error) -> SourceError {
    SourceError::caused(format!("{}: {cause}; make it readable or choose a smaller folder", path.display()), cause)
}
