//! Real files on a real system: a full disk, a directory that goes, too few descriptors, `kill -9`.
//!
//! What changes a whole process (limits, being killed) happens to a child: this test binary again, running one test that
//! does nothing unless it is told what to play.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use larder::items::Slice;
use larder::store::hybrid::disk::Access;
use larder::store::hybrid::{Hybrid, Options};
use larder::store::swapped::Swapped;
use larder::store::{Config, Store, StoreError};

use crate::{Model, Pairs, assert_holds, config, errno, error, get, load, numbered, options, updates};

const ACCESSES: [Access; 3] = [Access::Pread, Access::Mmap, Access::Direct];

fn files_in(directory: &Path, access: Access) -> Config {
    let config = config(Options { access, resident_items: 10, load_buffer: 1000, ..options() });
    Config { directory: Some(directory.to_owned()), ..config }
}

fn model(pairs: &Pairs) -> Model {
    pairs.iter().cloned().collect()
}

/// Whether files can be read this way here; says so if they can't.
fn works(access: Access, directory: &Path) -> bool {
    match load(&numbered(1, 1), &files_in(directory, access)) {
        Err(error) if error.to_string().contains("no O_DIRECT") => {
            eprintln!("skipped: {}: {error}", directory.display());
            false
        }
        loaded => loaded.is_ok_and(|_| true) || panic!("{access:?} does not work in {}", directory.display()),
    }
}

fn left_in(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Between its birth and its program a child has a copy of every descriptor, and so keeps the space of files that are gone:
/// no child is born while a test counts on that space.
static BIRTHS: Mutex<()> = Mutex::new(());

fn spawn(command: &mut Command) -> Child {
    let _alone = BIRTHS.lock().unwrap_or_else(PoisonError::into_inner);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Runs the test on a file system of 1 MiB that only the test's thread sees, and that goes with the thread.
fn on_a_small_disk(test: impl FnOnce(&Path) + Send) {
    let _no_births = BIRTHS.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = tempfile::tempdir().unwrap();
    let path = std::ffi::CString::new(directory.path().to_str().unwrap()).unwrap();
    let mount = || -> std::io::Result<()> {
        let check = |code| if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) };
        let none = std::ptr::null();
        // SAFETY: only the calling thread leaves the common view of mounts.
        check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
        // SAFETY: every pointer is null or a string with a zero at its end.
        check(unsafe { libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) })?;
        let (kind, size) = (c"tmpfs".as_ptr(), c"size=1m".as_ptr());
        // SAFETY: as above.
        check(unsafe { libc::mount(kind, path.as_ptr(), kind, 0, size.cast()) })
    };
    thread::scope(|scope| {
        scope.spawn(|| match mount() {
            Ok(()) => test(directory.path()),
            Err(error) => eprintln!("skipped: mounting a small tmpfs: {error}"),
        });
    });
}

#[test]
fn a_full_disk_fails_a_load_and_a_refresh_and_the_old_contents_keep_serving() {
    on_a_small_disk(|directory| {
        // A file takes a page at least: 40 small records are at most 160 KiB, and 800 long ones do not fit.
        let (small, large) =
            (numbered(40, 1), vec![(0..800).map(|at| (vec![at as u8, (at >> 8) as u8], vec![1; 4000]))]);
        let large: Pairs = large.into_iter().flatten().collect();
        for access in ACCESSES.into_iter().filter(|access| works(*access, directory)) {
            let config = files_in(directory, access);
            let full = error(load(&large, &config));
            assert_eq!(errno(&full), Some(libc::ENOSPC), "{access:?}");
            assert!(full.to_string().contains(&directory.display().to_string()), "{full}");
            let store =
                Swapped::<Hybrid>::load(&mut Slice::new(&small), &config).expect("the failed load left no file");
            assert_eq!(errno(&error(store.refresh(&mut Slice::new(&large), &config))), Some(libc::ENOSPC));
            assert_holds(&store, &model(&small));
            store.refresh(&mut Slice::new(&numbered(40, 2)), &config).expect("the failed refresh left no file");
            assert_holds(&store, &model(&numbered(40, 2)));
            assert_eq!(left_in(directory).len(), 0);
        }
    });
}

#[test]
fn a_put_on_a_full_disk_leaves_the_old_value_standing_and_works_once_there_is_room() {
    on_a_small_disk(|directory| {
        for access in ACCESSES.into_iter().filter(|access| works(*access, directory)) {
            let store = load(&numbered(40, 1), &files_in(directory, access)).unwrap();
            let mut expected = model(&numbered(40, 1));
            let rest = directory.join("rest");
            // What is left of the disk goes to another file.
            let filled = fs::write(&rest, vec![1; 2 << 20]);
            assert_eq!(filled.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
            let (key, long) = (b"screen0.label0".to_vec(), vec![9; 10_000]);
            assert_eq!(errno(&error(updates(&store).put(&key, &long))), Some(libc::ENOSPC), "{access:?}");
            assert_holds(&store, &expected);
            fs::remove_file(&rest).unwrap();
            updates(&store).put(&key, &long).unwrap();
            expected.insert(key, long);
            assert_holds(&store, &expected);
        }
    });
}

#[test]
fn a_directory_that_goes_while_the_store_serves_fails_the_next_refresh_alone() {
    for access in ACCESSES {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("hybrid");
        fs::create_dir(&directory).unwrap();
        if !works(access, &directory) {
            continue;
        }
        let (pairs, config) = (numbered(80, 1), files_in(&directory, access));
        let store = Swapped::<Hybrid>::load(&mut Slice::new(&pairs), &config).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        let mut expected = model(&pairs);
        assert_holds(&store, &expected);
        updates(&store).put(&pairs[0].0, b"put").expect("the file of this shard is still there");
        expected.insert(pairs[0].0.clone(), b"put".to_vec());
        let refresh = |generation| store.refresh(&mut Slice::new(&numbered(80, generation)), &config);
        let gone = error(refresh(2));
        assert_eq!(errno(&gone), Some(libc::ENOENT));
        assert!(gone.to_string().contains(&directory.display().to_string()), "{gone}");
        assert_holds(&store, &expected);
        fs::create_dir(&directory).unwrap();
        refresh(3).unwrap();
        assert_holds(&store, &model(&numbered(80, 3)));
    }
}

/// Mode and number of names of every open file that was made in the directory.
fn open_files(directory: &Path) -> Vec<(u32, u64)> {
    let mut found = Vec::new();
    for descriptor in fs::read_dir("/proc/self/fd").unwrap().flatten() {
        // Other tests close files meanwhile.
        let Ok(target) = fs::read_link(descriptor.path()) else { continue };
        if target.starts_with(directory) {
            assert!(target.to_string_lossy().ends_with(" (deleted)"), "{}", target.display());
            let metadata = fs::metadata(descriptor.path()).unwrap();
            found.push((metadata.mode() & 0o7777, metadata.nlink()));
        }
    }
    found
}

#[test]
fn files_have_no_name_and_are_their_owners_alone_and_go_with_the_store() {
    for access in ACCESSES {
        let directory = tempfile::tempdir().unwrap();
        if !works(access, directory.path()) {
            continue;
        }
        let store = load(&numbered(600, 1), &files_in(directory.path(), access)).unwrap();
        let shards = store.statistics().disk_items.iter().filter(|items| **items > 0).count();
        let files = open_files(directory.path());
        assert_eq!(files.len(), if access == Access::Direct { 2 * shards } else { shards }, "{access:?}");
        assert!(files.iter().all(|file| *file == (0o600, 0)), "{files:?}");
        assert_eq!(left_in(directory.path()).len(), 0);
        drop(store);
        assert_eq!(open_files(directory.path()).len(), 0);
    }
}

/// Tells a child what to play: `descriptors` or `refreshes`, the access, the directory.
const ROLE: &str = "LARDER_HYBRID_CHILD";

fn child(role: &str, access: Access, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "real_disk::the_part_of_a_child", "--ignored", "--nocapture"]);
    command.env(ROLE, format!("{role} {access:?} {}", directory.display()));
    command
}

#[test]
#[ignore = "other tests run it in a process of its own"]
fn the_part_of_a_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let mut words = role.splitn(3, ' ');
    let [role, access, directory] = [(); 3].map(|()| words.next().unwrap());
    let access = ACCESSES.into_iter().find(|known| format!("{known:?}") == access).unwrap();
    let directory = Path::new(directory);
    match role {
        "refreshes" => refresh_until_killed(&files_in(directory, access)),
        "raised" => descriptors_are_raised(&files_in(directory, access)),
        "few" => descriptors_end_in_a_refresh(&files_in(directory, access)),
        other => panic!("no part {other:?}"),
    }
    println!("played to the end");
}

#[track_caller]
fn assert_plays_to_the_end(mut child: Command) {
    let output = spawn(child.stderr(Stdio::piped())).wait_with_output().unwrap();
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("played to the end"), "{said}\n{complained}");
}

fn limit_descriptors(soft: u64, hard: u64) {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: setrlimit only reads the struct, which lives until it returns.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}

/// Entries enough for every shard to have a file.
const EVERY_SHARD: usize = 4000;

fn descriptors_are_raised(config: &Config) {
    limit_descriptors(64, 1200);
    let store = Swapped::<Hybrid>::load(&mut Slice::new(&numbered(EVERY_SHARD, 1)), config).unwrap();
    store.refresh(&mut Slice::new(&numbered(EVERY_SHARD, 2)), config).unwrap();
    assert_holds(&store, &model(&numbered(EVERY_SHARD, 2)));
}

/// As many as one store needs, and hardly more.
fn descriptors_end_in_a_refresh(config: &Config) {
    let hard = 50 + 256 * if config.hybrid.access == Access::Direct { 2 } else { 1 };
    limit_descriptors(64, hard);
    let store = Swapped::<Hybrid>::load(&mut Slice::new(&numbered(EVERY_SHARD, 1)), config).unwrap();
    let refused = error(store.refresh(&mut Slice::new(&numbered(EVERY_SHARD, 2)), config)).to_string();
    for part in ["the file of shard", &hard.to_string(), "ulimit -n", "LimitNOFILE"] {
        assert!(refused.contains(part), "{part} is not in: {refused}");
    }
    assert_holds(&store, &model(&numbered(EVERY_SHARD, 1)));
}

#[test]
fn the_limit_of_descriptors_is_raised_as_far_as_it_may_be() {
    for access in ACCESSES {
        let directory = tempfile::tempdir().unwrap();
        if works(access, directory.path()) {
            assert_plays_to_the_end(child("raised", access, directory.path()));
        }
    }
}

#[test]
fn a_refresh_that_runs_out_of_descriptors_says_the_limit_and_what_to_do_and_the_old_contents_serve() {
    for access in ACCESSES {
        let directory = tempfile::tempdir().unwrap();
        if works(access, directory.path()) {
            assert_plays_to_the_end(child("few", access, directory.path()));
        }
    }
}

fn refresh_until_killed(config: &Config) {
    let store = Swapped::<Hybrid>::load(&mut Slice::new(&numbered(100, 1)), config).unwrap();
    for generation in 2.. {
        let pairs = numbered(100, generation);
        store.refresh(&mut Slice::new(&pairs), config).unwrap();
        get(&store, &pairs[0].0).unwrap();
        println!("refreshed");
    }
}

/// Waits until the child has refreshed once. While the reader lives the child can go on speaking.
fn wait_for_a_refresh(child: &mut Child) -> BufReader<ChildStdout> {
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("refreshed") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "the child ended before it was killed");
    }
    said
}

#[test]
fn a_process_killed_during_a_refresh_leaves_nothing_in_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    // All ways to read make their files in the same way.
    let access = Access::Pread;
    for moment in 0..5 {
        let mut child = spawn(child("refreshes", access, directory.path()).stderr(Stdio::null()));
        let _said = wait_for_a_refresh(&mut child);
        thread::sleep(Duration::from_micros(2300 * moment));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        let next = load(&numbered(60, 1), &files_in(directory.path(), access)).unwrap();
        assert_eq!(left_in(directory.path()), Vec::<PathBuf>::new(), "killed at moment {moment}");
        assert_holds(&next, &model(&numbered(60, 1)));
    }
}

#[test]
fn a_directory_that_is_a_file_is_an_error_that_names_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    match error(load(&numbered(5, 1), &files_in(file.path(), Access::Pread))) {
        StoreError::Io { doing, .. } => assert!(doing.contains(file.path().to_str().unwrap()), "{doing}"),
        other => panic!("{other}"),
    }
}
