//! Files that nobody can find: without a name, or with one that is gone before anyone could use it. Knows nothing of stores.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;
use std::{fs, process};

use parking_lot::Mutex;

/// How the short-lived directories of [`unlinked`] begin; the process and a number follow.
const PREFIX: &str = "larder-hybrid-";

/// A file that never has a name, readable and writable by its owner alone. `O_EXCL`: nor can it be given one later.
pub(super) fn anonymous(directory: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE | libc::O_EXCL).open(directory)
}

/// Whether the file system has no files without a name. One that knows nothing of the flag says that it can't write a directory.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL))
}

/// A file whose name is removed right after it was made. The name stands in a directory of its own with mode 0700, so that nobody
/// else can have put anything in its place, be it a link.
pub(super) fn unlinked(directory: &Path) -> io::Result<File> {
    sweep_once(directory)?;
    let private = private_directory(directory)?;
    let name = private.join("shard");
    let made = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&name)
        .and_then(|file| fs::remove_file(&name).map(|()| file));
    let removed = fs::remove_dir(&private);
    made.and_then(|file| removed.map(|()| file))
}

fn private_directory(directory: &Path) -> io::Result<PathBuf> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Relaxed);
        let private = directory.join(format!("{PREFIX}{}-{number}", process::id()));
        match DirBuilder::new().mode(0o700).create(&private) {
            Ok(()) => return Ok(private),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sweeps the directory if this process has not done so yet, and so before it makes any name there itself.
fn sweep_once(directory: &Path) -> io::Result<()> {
    // One directory may go by several paths. Numbers are given again when a directory goes, and birthdays are not; where the
    // file system keeps none, the number has to do.
    static SWEPT: Mutex<BTreeSet<(u64, u64, Option<SystemTime>)>> = Mutex::new(BTreeSet::new());
    let metadata = fs::metadata(directory)?;
    let mut swept = SWEPT.lock();
    if swept.insert((metadata.dev(), metadata.ino(), metadata.created().ok())) {
        sweep(directory);
    }
    Ok(())
}

/// Removes what processes left that were killed between making a name and removing it. What can't be removed is another
/// user's and stays.
pub(super) fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten().filter(|entry| is_left_over(&entry.file_name())) {
        // Not recursive: anything but the one file and the empty directory is not ours.
        let _ = fs::remove_file(entry.path().join("shard"));
        let _ = fs::remove_dir(entry.path());
    }
}

/// Whether the name is that of a directory whose process is gone. This process has made none yet, so that one of its number
/// comes from an earlier process: in a container every run may have the same.
fn is_left_over(name: &OsStr) -> bool {
    let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
    process.is_some_and(|number| number == process::id() || !Path::new("/proc").join(number.to_string()).exists())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_file_of_either_kind_is_private_and_leaves_no_name() {
        let directory = tempfile::tempdir().unwrap();
        for make in [anonymous, unlinked] {
            let file = match make(directory.path()) {
                Err(error) if is_unsupported(&error) => continue,
                made => made.unwrap(),
            };
            file.write_at(b"something", 0).unwrap();
            let metadata = file.metadata().unwrap();
            assert_eq!((metadata.mode() & 0o777, metadata.nlink(), metadata.len()), (0o600, 0, 9));
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let make = |name: String| {
            fs::create_dir(directory.path().join(&name)).unwrap();
            fs::write(directory.path().join(&name).join("shard"), b"left").unwrap();
            name
        };
        // Process numbers end at 4,194,304. The first process of the system always lives.
        let gone = [make(format!("{PREFIX}4194999-0")), make(format!("{PREFIX}{}-7", process::id()))];
        let kept = [make(format!("{PREFIX}1-7")), make("larder-other-1-0".to_owned()), make(format!("{PREFIX}x"))];
        sweep(directory.path());
        assert!(!gone.iter().any(|name| directory.path().join(name).exists()));
        assert!(kept.iter().all(|name| directory.path().join(name).join("shard").exists()));
    }

    #[test]
    fn every_directory_is_swept_before_the_first_name_is_made_in_it_and_never_again() {
        for _ in 0..2 {
            let directory = tempfile::tempdir().unwrap();
            // As an earlier process with this one's number would have left it.
            let left = directory.path().join(format!("{PREFIX}{}-0", process::id()));
            fs::create_dir(&left).unwrap();
            unlinked(directory.path()).unwrap();
            assert!(!left.exists());
            fs::create_dir(&left).unwrap();
            unlinked(directory.path()).unwrap();
            assert!(left.exists(), "by now it might be a name of this process in use");
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap().path().to_owned();
        assert_eq!(unlinked(&directory).unwrap_err().kind(), io::ErrorKind::NotFound);
        let error = anonymous(&directory).unwrap_err();
        assert!(error.kind() == io::ErrorKind::NotFound || is_unsupported(&error));
    }
}
