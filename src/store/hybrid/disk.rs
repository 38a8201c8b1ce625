//! Files of shards behind two small traits, so that tests can put a failing disk in their place. Knows nothing of records.
//!
//! A file has no name from the start (`O_TMPFILE`) or, where the file system can't do that, loses it right after it was
//! opened, inside a directory of its own that only its owner may enter. Either way the files vanish with the store, also when
//! the process is killed. What a kill in the short life of a name leaves is swept away by the next store that makes such files.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::named;

/// Makes the files of one store.
pub trait Disk: Debug + Send + Sync {
    /// A new, empty file for a shard.
    ///
    /// # Errors
    /// The system's own.
    fn create(&self, shard: u8) -> io::Result<Box<dyn ShardFile>>;

    /// Where the files are, for messages.
    fn place(&self) -> String;
}

/// One shard's file. Reads go on beside a write; writes never overlap, and never touch what was written before.
pub trait ShardFile: Debug + Send + Sync {
    /// Reads up to `buffer.len()` bytes at `offset`; fewer are no error, 0 is the end of the file.
    ///
    /// # Errors
    /// The system's own.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes up to `bytes.len()` bytes at `offset`; says how many.
    ///
    /// # Errors
    /// The system's own.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
}

/// How records are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// One `pread` through the page cache. Pages of the file count as nobody's memory.
    #[default]
    Pread,
    /// A copy out of a mapping: cheaper for what the page cache holds, but its pages count in the process's resident memory.
    Mmap,
    /// `O_DIRECT`, past the page cache: what a read costs when memory is full, at any time.
    Direct,
}

/// The disk of this way to read, with files in `directory` or the system's temporary directory.
pub fn open(access: Access, directory: Option<&Path>) -> Arc<dyn Disk> {
    let directory = directory.map_or_else(std::env::temp_dir, Path::to_owned);
    Arc::new(Directory { directory, access })
}

#[derive(Debug)]
struct Directory {
    directory: PathBuf,
    access: Access,
}

impl Directory {
    fn open(&self) -> io::Result<Box<dyn ShardFile>> {
        let file = nameless(&self.directory)?;
        Ok(match self.access {
            Access::Pread => Box::new(file),
            Access::Mmap => Box::new(super::mapped::Mapped::new(file)?),
            Access::Direct => Box::new(super::direct::Direct::new(file)?),
        })
    }
}

impl Disk for Directory {
    /// When the process has too many open files, its soft limit is raised as far as it may be: the stores of a refresh keep 512
    /// files open, twice as many with [`Access::Direct`], and the usual soft limit is 1,024.
    fn create(&self, _shard: u8) -> io::Result<Box<dyn ShardFile>> {
        match self.open() {
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                // Tried again even if nothing was raised here: another thread may have been faster.
                let _ = raise_limit();
                self.open()
            }
            opened => opened,
        }
        .map_err(|error| if error.raw_os_error() == Some(libc::EMFILE) { too_many(&error) } else { error })
    }

    fn place(&self) -> String {
        self.directory.display().to_string()
    }
}

impl ShardFile for std::fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(self, bytes, offset)
    }
}

/// A file without a name that nobody else can open.
fn nameless(directory: &Path) -> io::Result<std::fs::File> {
    match named::anonymous(directory) {
        Err(error) if named::is_unsupported(&error) => named::unlinked(directory),
        made => made,
    }
}

fn too_many(error: &io::Error) -> io::Error {
    let limit = limit().map_or_else(|_| "unknown".to_owned(), |limit| limit.rlim_max.to_string());
    let advice = "a hybrid store keeps up to 256 files open (512 with O_DIRECT), and two stores are open in a refresh; \
                  raise the limit with `ulimit -n 4096` or LimitNOFILE";
    io::Error::new(error.kind(), format!("{error} (the limit is {limit}): {advice}"))
}

/// Raises the soft limit of open files to the hard one.
fn raise_limit() -> io::Result<()> {
    let limit = limit()?;
    let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: setrlimit only reads the struct, which lives until it returns.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn limit() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit writes the struct, which lives until it returns.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } {
        0 => Ok(limit),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes all of `bytes`, as often as it takes.
pub(super) fn write_all(file: &dyn ShardFile, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills the buffer as far as the file goes; says how far.
pub(super) fn read_full(file: &dyn ShardFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
