//! The rules of a storage.

use std::time::Duration;

use crate::error::ErrorKind;
use crate::storage::{EntryKind, Storage};

fn put(storage: &dyn Storage, path: &str, bytes: &[u8]) {
    let mut staged = storage.create(path).unwrap();
    staged.write(bytes).unwrap();
    staged.commit().unwrap();
}

fn get(storage: &dyn Storage, path: &str) -> Vec<u8> {
    let size = storage.size(path).unwrap();
    storage.read(path, std::slice::from_ref(&(0..size))).unwrap()[0].to_vec()
}

/// Checks the rules stated by [`Storage`] and [`Staged`](crate::storage::Staged). `base` is an empty folder; it is
/// empty again afterwards.
pub fn storage_conformance(storage: &dyn Storage, base: &str) {
    storage.create_dir(base).unwrap();
    what_is_missing(storage, &format!("{base}/missing"));
    staging(storage, &format!("{base}/staged"));
    ranges(storage, &format!("{base}/ranges"));
    folders(storage, &format!("{base}/folders"));
    replacing(storage, &format!("{base}/replaced"));
    locking(storage, &format!("{base}/locked"));
    many_readers(storage, &format!("{base}/shared"));
    assert_eq!(storage.list(base).unwrap(), [], "the suite has cleaned up after itself");
    let hints = storage.hints();
    assert!(hints.max_request > 0 && hints.concurrency > 0, "hints allow at least one request: {hints:?}");
}

fn what_is_missing(storage: &dyn Storage, path: &str) {
    assert_eq!(storage.kind(path).unwrap(), None, "a missing path has no kind");
    assert_eq!(storage.size(path).unwrap_err().kind(), ErrorKind::Io, "a missing path has no size");
    let read = storage.read(path, std::slice::from_ref(&(0..1)));
    assert_eq!(read.unwrap_err().kind(), ErrorKind::Io, "a missing path cannot be read");
    storage.remove(path).expect("removing a missing path succeeds");
}

/// A storage may have no locks; its locks exclude other holders and show what the last holder wrote.
fn locking(storage: &dyn Storage, path: &str) {
    put(storage, path, b"0");
    let lock = match storage.lock(path, Duration::ZERO) {
        Ok(lock) => lock,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "a storage locks or reports that it cannot");
            return storage.remove(path).unwrap();
        }
    };
    let error = storage.lock(path, Duration::ZERO).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "a lock has one holder");
    drop(lock);
    let count = || {
        for _ in 0..10 {
            let _lock = storage.lock(path, Duration::from_mins(10)).unwrap();
            let n: u32 = String::from_utf8(get(storage, path)).unwrap().parse().unwrap();
            put(storage, path, (n + 1).to_string().as_bytes());
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(count))));
    assert_eq!(get(storage, path), b"40", "no holder overwrites what another one wrote");
    storage.remove(path).unwrap();
}

/// A storage may not support replacing folders; if it does, replacing is atomic.
fn replacing(storage: &dyn Storage, path: &str) {
    let new = format!("{path}.new");
    for round in 0..3 {
        storage.create_dir(&format!("{new}/inner")).unwrap();
        put(storage, &format!("{new}/inner/{round}"), &[round]);
        put(storage, &format!("{new}/same"), &[round; 100]);
        match storage.replace(&new, path) {
            Err(error) => {
                assert_eq!(
                    error.kind(),
                    ErrorKind::Unsupported,
                    "a storage replaces folders or reports that it cannot"
                );
                return storage.remove(&new).unwrap();
            }
            Ok(()) => assert_eq!(storage.kind(&new).unwrap(), None, "the new folder has moved"),
        }
        let names = storage.list(&format!("{path}/inner")).unwrap();
        let names: Vec<&str> = names.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, [round.to_string()], "nothing of the old folder is left");
        assert_eq!(get(storage, &format!("{path}/same")), [round; 100], "readers see the new files");
    }
    storage.remove(path).unwrap();
    put(storage, path, b"a file");
    storage.create_dir(&new).unwrap();
    put(storage, &format!("{new}/inner"), b"1");
    storage.replace(&new, path).unwrap();
    assert_eq!(storage.kind(path).unwrap(), Some(EntryKind::Folder), "a folder replaces a file");
    storage.remove(path).unwrap();
}

fn staging(storage: &dyn Storage, path: &str) {
    let mut staged = storage.create(path).unwrap();
    assert_eq!(staged.position(), 0);
    staged.write(b"0123").unwrap();
    staged.write(b"").unwrap();
    staged.write(b"456789").unwrap();
    assert_eq!(staged.position(), 10, "the position counts what was appended");
    staged.write_at(2, b"ab").unwrap();
    staged.write_at(9, b"z").unwrap();
    assert_eq!(staged.position(), 10, "overwriting does not move the position");
    assert!(staged.write_at(9, b"xy").is_err(), "only what was appended is overwritten");
    assert!(staged.write_at(u64::MAX, b"x").is_err());
    staged.write(b"!").unwrap();
    assert_eq!(storage.kind(path).unwrap(), None, "a file is invisible until its commit");
    staged.commit().unwrap();
    assert_eq!(storage.kind(path).unwrap(), Some(EntryKind::File));
    assert_eq!(get(storage, path), b"01ab45678z!");

    let mut dropped = storage.create(path).unwrap();
    dropped.write(b"never").unwrap();
    drop(dropped);
    assert_eq!(get(storage, path), b"01ab45678z!", "a dropped file leaves the old one unchanged");

    let mut staged = storage.create(path).unwrap();
    staged.write(b"new").unwrap();
    assert_eq!(get(storage, path), b"01ab45678z!", "the old file exists until the commit");
    staged.commit().unwrap();
    assert_eq!(get(storage, path), b"new", "a commit replaces, and readers see it");

    // Few and many bytes, more slices than a system call takes, and empty ones among them.
    for (len, count) in [(0, 3), (1, 7), (300, 5000), (200_000, 2)] {
        let parts: Vec<Vec<u8>> =
            (0..count).map(|number| vec![number as u8; if number % 3 == 1 { 0 } else { len }]).collect();
        let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let mut staged = storage.create(path).unwrap();
        staged.write(b"<").unwrap();
        staged.write_parts(&slices).unwrap();
        staged.write_parts(&[]).unwrap();
        staged.write(b">").unwrap();
        let whole = [b"<".to_vec(), parts.concat(), b">".to_vec()].concat();
        assert_eq!(staged.position(), whole.len() as u64);
        staged.commit().unwrap();
        assert!(get(storage, path) == whole, "{count} slices of {len} bytes follow each other");
    }

    put(storage, path, b"");
    assert_eq!(storage.size(path).unwrap(), 0);
    assert!(storage.read(path, std::slice::from_ref(&(0..0))).unwrap()[0].is_empty());
    storage.remove(path).unwrap();
    assert_eq!(storage.kind(path).unwrap(), None);

    let other = format!("{path}.other");
    let mut dropped = storage.create(&other).unwrap();
    dropped.write(&vec![7; 3 << 20]).unwrap();
    drop(dropped);
    assert_eq!(storage.kind(&other).unwrap(), None, "a dropped file leaves nothing");
}

fn ranges(storage: &dyn Storage, path: &str) {
    // Small and large files may be read in different ways.
    for size in [100_usize, 300_000] {
        let data: Vec<u8> = (0..size).map(|i| (i * 31 / 7) as u8).collect();
        put(storage, path, &data);
        let n = size as u64;
        let ranges = [n - 1..n, 0..n, 5..5, 3..40, 0..1, n..n, 3..40, 30..60];
        let answers = storage.read(path, &ranges).unwrap();
        assert_eq!(answers.len(), ranges.len());
        for (range, bytes) in ranges.iter().zip(&answers) {
            let want = &data[range.start as usize..range.end as usize];
            assert!(bytes == want, "range {range:?} has other bytes");
        }
        assert_eq!(storage.read(path, &[]).unwrap().len(), 0);
        for (start, end) in [(0, n + 1), (n, n + 1), (n + 5, n + 6), (n + 1, n + 1), (9, 3), (0, u64::MAX)] {
            let error =
                storage.read(path, &[0..1, start..end]).expect_err("a range past the end is an error");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{start}..{end}: {error}");
        }
    }
    storage.remove(path).unwrap();
}

fn folders(storage: &dyn Storage, base: &str) {
    for name in ["b/2", "b/10", "b/deep/er/x", "a", "bb/1", "c d/ü.bin"] {
        let path = format!("{base}/{name}");
        if let Some((folder, _)) = path.rsplit_once('/') {
            storage.create_dir(folder).unwrap();
            storage.create_dir(folder).expect("an existing folder may be created again");
        }
        put(storage, &path, name.as_bytes());
    }
    let names = |path: &str| {
        let entries = storage.list(path).unwrap();
        entries.into_iter().map(|e| (e.name, e.kind)).collect::<Vec<_>>()
    };
    let (file, folder) = (EntryKind::File, EntryKind::Folder);
    let want = [("a", file), ("b", folder), ("bb", folder), ("c d", folder)];
    let listed = names(base);
    assert_eq!(listed.iter().map(|(n, k)| (n.as_str(), *k)).collect::<Vec<_>>(), want, "list is sorted");
    assert_eq!(names(&format!("{base}/")), listed, "a trailing slash changes nothing");
    let inside = names(&format!("{base}/b"));
    let want = [("10", file), ("2", file), ("deep", folder)];
    assert_eq!(inside.iter().map(|(n, k)| (n.as_str(), *k)).collect::<Vec<_>>(), want);
    assert_eq!(storage.kind(&format!("{base}/b")).unwrap(), Some(folder));
    assert_eq!(get(storage, &format!("{base}/c d/ü.bin")), "c d/ü.bin".as_bytes());

    storage.remove(&format!("{base}/b")).unwrap();
    assert_eq!(storage.kind(&format!("{base}/b")).unwrap(), None, "a folder is removed with its contents");
    assert_eq!(storage.kind(&format!("{base}/b/deep/er/x")).unwrap(), None);
    assert_eq!(get(storage, &format!("{base}/bb/1")), b"bb/1", "a name with the same prefix stays");
    storage.remove(base).unwrap();
    assert_eq!(storage.kind(base).unwrap(), None);
}

fn many_readers(storage: &dyn Storage, path: &str) {
    let data: Vec<u8> = (0..100_000_u32).map(|i| (i / 3) as u8).collect();
    put(storage, path, &data);
    std::thread::scope(|scope| {
        for start in 0..8_u64 {
            let data = &data;
            scope.spawn(move || {
                for step in 0..20 {
                    let from = start * 11_000 + step * 500;
                    let bytes = storage.read(path, std::slice::from_ref(&(from..from + 3000))).unwrap();
                    assert!(bytes[0] == data[from as usize..from as usize + 3000]);
                }
            });
        }
    });
    storage.remove(path).unwrap();
}
