//! gettext catalogues.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;

use larder::items::Items;
use larder::workload;

use crate::kit::{complaint, file, folder, pairs, read, spec};

/// A catalogue in the byte order of `number`.
fn catalogue(number: fn(u32) -> [u8; 4], messages: &[(&[u8], &[u8])]) -> Vec<u8> {
    let count = messages.len() as u32;
    let (originals, translations) = (28, 28 + 8 * count);
    let mut bytes: Vec<u8> =
        [0x9504_12de, 0, count, originals, translations, 0, 28 + 16 * count].into_iter().flat_map(number).collect();
    let mut strings = Vec::new();
    let first = 28 + 16 * count;
    for text in messages.iter().map(|message| message.0).chain(messages.iter().map(|message| message.1)) {
        bytes.extend(number(text.len() as u32));
        bytes.extend(number(first + strings.len() as u32));
        strings.extend_from_slice(text);
        strings.push(0);
    }
    bytes.extend(strings);
    bytes
}

const MESSAGES: &[(&[u8], &[u8])] = &[
    (b"", b"Content-Type: text/plain; charset=UTF-8\n"),
    (b"%d file\0%d files", b"%d Datei\0%d Dateien"),
    (b"Open", "Öffnen".as_bytes()),
    (b"Untranslated", b""),
    (b"menu\x04Open", b"Aufmachen"),
];

#[test]
fn catalogues_of_both_byte_orders_give_the_same_items() {
    for number in [u32::to_le_bytes, u32::to_be_bytes] {
        let folder = folder();
        file(&folder, "de/LC_MESSAGES/app.mo", &catalogue(number, MESSAGES));
        let expected = [("app/%d file-de", "%d Datei"), ("app/Open-de", "Öffnen"), ("app/menu|Open-de", "Aufmachen")];
        assert_eq!(read(&spec("mo", folder.path())).expect("reads"), pairs(&expected));
    }
}

#[test]
fn a_tree_is_walked_in_order_and_its_links_are_skipped() {
    let folder = folder();
    let one = catalogue(u32::to_le_bytes, &[(b"x", b"y")]);
    for path in ["tree/pt_BR/LC_MESSAGES/b.mo", "tree/pt_BR/LC_MESSAGES/a.mo", "tree/de/LC_TIME/c.mo", "tree/fr/d.mo"] {
        file(&folder, path, &one);
    }
    file(&folder, "tree/de/LC_TIME/notes.txt", b"no catalogue");
    file(&folder, "tree/none/e.mo", &catalogue(u32::to_be_bytes, &[]));
    let link = |to: &str, at: &str| symlink(to, folder.path().join(at)).expect("a link");
    link("a.mo", "tree/pt_BR/LC_MESSAGES/again.mo");
    link("..", "tree/fr/round");
    link("tree", "link");
    let expected = pairs(&[("c/x-de", "y"), ("d/x-fr", "y"), ("a/x-pt_BR", "y"), ("b/x-pt_BR", "y")]);
    for typed in ["tree", "link", "tree/de/.."] {
        assert_eq!(read(&spec("mo", &folder.path().join(typed))).expect(typed), expected, "{typed}");
    }
    let survey = workload::survey(&spec("mo", &folder.path().join("link")), None, 0).expect("a survey");
    assert_eq!(survey.document_bytes, 4 * one.len() as u64 + 28);
}

#[test]
fn a_folder_without_catalogues_is_refused() {
    let folder = folder();
    file(&folder, "de/LC_MESSAGES/app.po", b"");
    let error = complaint(&spec("mo", folder.path()));
    assert!(error.contains("no gettext catalogue (.mo)"), "{error}");
}

/// Changes one number of a good catalogue; the numbers are those of the header, then the tables.
fn damaged(word: usize, value: u32) -> Vec<u8> {
    let mut bytes = catalogue(u32::to_be_bytes, MESSAGES);
    bytes[4 * word..4 * word + 4].copy_from_slice(&value.to_be_bytes());
    bytes
}

#[test]
fn a_bad_catalogue_is_refused_with_its_name_and_byte() {
    let good = catalogue(u32::to_be_bytes, MESSAGES);
    let size = good.len() as u32;
    for (bytes, words) in [
        (Vec::new(), "byte 0: not a gettext catalogue"),
        (b"\x95\x04\x12\xdf".repeat(9), "byte 0: not a gettext catalogue"),
        (good[..19].to_vec(), "byte 19: the file ends inside its header"),
        (damaged(1, 0x0002_0000), "byte 4: format revision 2.0"),
        (damaged(2, u32::MAX), "byte 12: the table of 4294967295 original strings"),
        (damaged(3, u32::MAX), "byte 12: the table of 5 original strings at byte 4294967295"),
        (damaged(4, size - 39), "byte 16: the table of 5 translations"),
        (damaged(7 + 2, u32::MAX), "byte 36: a string of 4294967295 bytes"),
        (damaged(7 + 3, size), "byte 36: a string of 16 bytes at byte"),
        (damaged(7 + 4, 3), "does not end with a NUL after 3 bytes"),
        (good[..good.len() - 1].to_vec(), "outside the file of"),
    ] {
        let folder = folder();
        let path = file(&folder, "de/LC_MESSAGES/app.mo", &bytes);
        let error = complaint(&spec("mo", folder.path()));
        let path = path.canonicalize().expect("there");
        assert!(error.starts_with(&path.display().to_string()) && error.contains(words), "{words}\n{error}");
    }
}

#[test]
fn no_damage_to_a_catalogue_makes_the_reader_panic() {
    let good = catalogue(u32::to_le_bytes, MESSAGES);
    for at in 0..good.len() {
        for byte in [0, 1, 0x7f, 0xff] {
            let folder = folder();
            let mut bytes = good.clone();
            bytes[at] = byte;
            file(&folder, "de/app.mo", &bytes);
            let mut items = workload::open(&spec("mo", folder.path()), None, 0).expect("opens");
            while let Ok(Some(_)) = items.next_item() {}
        }
    }
}

#[test]
fn the_catalogues_of_this_machine_are_read_whole() {
    let locales = Path::new("/usr/share/locale");
    let data = spec("mo", locales);
    if workload::open(&data, None, 0).is_err() {
        eprintln!("skipped: no .mo under {}", locales.display());
        return;
    }
    let mut items = workload::open(&data, None, 0).expect("opens");
    let (mut count, mut languages) = (0_u64, BTreeSet::new());
    while let Some(item) = items.next_item().expect("good catalogues") {
        assert!(!item.value.is_empty());
        assert!(!item.key.contains(&0) && !item.value.contains(&0));
        let dash = item.key.iter().rposition(|byte| *byte == b'-').expect("a language");
        languages.insert(item.key[dash + 1..].to_vec());
        count += 1;
    }
    eprintln!("{count} messages in {} languages", languages.len());
    assert!(!languages.iter().any(|language| language.starts_with(b"LC_")));
    assert!(count as usize > languages.len());
}
