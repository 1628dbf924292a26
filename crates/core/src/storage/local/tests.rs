//! Local files: links, pipes, modes, leftovers, and few descriptors.

use std::sync::Arc;

use super::open::{MAX_COPIED, most_open};
use super::*;
use crate::storage::{Location, StagedFolder};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn put(storage: &LocalStorage, path: &Path, bytes: &[u8]) {
    let mut staged = storage.create(text(path)).unwrap();
    staged.write(bytes).unwrap();
    staged.commit().unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_mapped_read_equals_a_positioned_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let data: Vec<u8> = (0..200_000_u32).map(|i| (i * 7) as u8).collect();
    fs::write(&path, &data).unwrap();
    let path = path.to_str().unwrap();
    let ranges = [0..10, 199_990..200_000, 70_000..170_000, 5..5];
    let mapped = LocalStorage::mapped().read(path, &ranges).unwrap();
    let copied = LocalStorage::new().read(path, &ranges).unwrap();
    assert_eq!(mapped, copied);
    assert_eq!(mapped[2], data[70_000..170_000]);
    assert!(LocalStorage::new().read(path, std::slice::from_ref(&(0..200_001))).is_err());
    let tiny: Vec<Range<u64>> = (0..300).map(|i| i * 600..i * 600 + i % 7 * 100).collect();
    let read = LocalStorage::new().read(path, &tiny).unwrap();
    assert!(read.iter().zip(&tiny).all(|(b, r)| b[..] == data[r.start as usize..r.end as usize]));
    assert!(LocalStorage::new().read(path, &[0..9, 199_990..200_001]).is_err());
}

#[test]
fn a_file_is_mapped_when_it_is_worth_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let data: Vec<u8> = (0..200_000_u32).map(|i| (i * 7) as u8).collect();
    fs::write(&path, &data).unwrap();
    let path = path.to_str().unwrap();
    let is_mapped = |storage: &LocalStorage| storage.open(path).unwrap().mapping.get().is_some();
    let read = |storage: &LocalStorage, range: Range<u64>| {
        let bytes = storage.read(path, std::slice::from_ref(&range)).unwrap();
        assert!(bytes[0] == data[range.start as usize..range.end as usize]);
    };

    let large = LocalStorage::mapped();
    read(&large, 100..140);
    read(&large, 0..16_000);
    assert!(!is_mapped(&large), "a few small reads do not map");
    read(&large, 0..100_000);
    assert!(is_mapped(&large));
    read(&large, 100..140);

    let often = LocalStorage::mapped();
    for i in 0..=MAX_COPIED / READ_COST {
        read(&often, i..i + 9);
    }
    assert!(is_mapped(&often), "many small reads do");
}

#[test]
fn a_file_truncated_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, vec![1; 300_000]).unwrap();
    let storage = LocalStorage::new();
    assert_eq!(storage.read(text(&path), std::slice::from_ref(&(0..300_000))).unwrap()[0].len(), 300_000);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(10).unwrap();
    for range in [0..300_000, 5..20, 200_000..200_010] {
        let error = storage.read(text(&path), std::slice::from_ref(&range)).unwrap_err();
        assert_eq!(error.kind(), crate::error::ErrorKind::Io, "{range:?}");
        assert!(error.to_string().contains("became shorter while it was read"), "{error}");
    }
}

#[test]
fn a_file_that_is_read_once_is_not_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "old").unwrap();
    let (storage, path) = (LocalStorage::new(), text(&path));
    assert_eq!(storage.read_once(path, 3).unwrap(), "old");
    fs::write(path, "newer").unwrap();
    assert_eq!(storage.read_once(path, 5).unwrap(), "newer");
    let error = storage.read_once(path, 4).unwrap_err();
    assert!(error.to_string().contains("5 bytes, more than the limit of 4"), "{error}");
    // One that is open shows the state that it was opened in, or fails.
    assert_eq!(storage.size(path).unwrap(), 5);
    fs::write(path, "cut").unwrap();
    let error = storage.read_once(path, 5).unwrap_err();
    assert!(error.to_string().contains("became shorter"), "{error}");
    assert_eq!(
        storage.read_once(&format!("{path}-missing"), 5).unwrap_err().class_name(),
        Error::missing(path).class_name()
    );
    assert!(storage.read_once(text(folder.path()), 5).is_err());
}

#[test]
fn any_number_of_files_takes_few_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let count = most_open() + 40;
    let storages: Vec<(LocalStorage, String)> = (0..count)
        .map(|i| {
            let path = folder.path().join(i.to_string());
            fs::write(&path, i.to_string()).unwrap();
            (LocalStorage::new(), text(&path).to_owned())
        })
        .collect();
    let inside = |target: std::path::PathBuf| target.starts_with(folder.path());
    for _ in 0..2 {
        for (i, (storage, path)) in storages.iter().enumerate() {
            let size = storage.size(path).unwrap();
            assert_eq!(storage.read(path, std::slice::from_ref(&(0..size))).unwrap()[0], i.to_string());
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            let open = open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
            assert!(open.filter(|target| inside(target.clone())).count() <= most_open());
        }
    }
    // A file that replaced a closed one is detected.
    let (storage, path) = &storages[0];
    storages
        .iter()
        .skip(1)
        .for_each(|(storage, path)| drop(storage.read(path, std::slice::from_ref(&(0..1)))));
    let new = folder.path().join("new");
    fs::write(&new, "0").unwrap();
    fs::rename(&new, path).unwrap();
    for (other, path) in storages.iter().skip(1) {
        drop(other.read(path, std::slice::from_ref(&(0..1))));
    }
    match storage.read(path, std::slice::from_ref(&(0..1))) {
        Ok(bytes) => assert_eq!(bytes[0], "0"),
        Err(error) => assert!(error.to_string().contains("was replaced while it was read"), "{error}"),
    }
    drop(storages);
    // Files that are not read any more make room, not those that are.
    let (storage, kept) = (LocalStorage::new(), folder.path().join("kept"));
    fs::write(&kept, "still here").unwrap();
    storage.pin(&[text(&kept).to_owned()]).unwrap();
    fs::remove_file(&kept).unwrap();
    let other = folder.path().join("1");
    for _ in 0..3 * most_open() {
        LocalStorage::new().size(text(&other)).unwrap();
    }
    assert_eq!(storage.read(text(&kept), std::slice::from_ref(&(0..10))).unwrap()[0], "still here");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn pipe(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let (path, fresh) = (folder.path().join("f"), folder.path().join("fresh"));
        let storage = LocalStorage::new();
        fs::write(&path, "old").unwrap();
        fs::write(&fresh, "new").unwrap();
        let usual = mode(&fresh);
        fs::remove_file(&fresh).unwrap();
        put(&storage, &fresh, b"new");
        assert_eq!(mode(&fresh), usual, "a new file has the usual mode");
        for kept in [0o600, 0o640, 0o444] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            put(&storage, &path, b"new");
            assert_eq!((mode(&path), fs::read(&path).unwrap()), (kept, b"new".to_vec()));
        }
    }

    #[test]
    fn what_is_replaced_keeps_its_owner() {
        use std::os::unix::fs::{MetadataExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let [file, tree, fresh] = ["f", "d", "e"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        for folder in [&tree, &fresh] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("inner"), "x").unwrap();
        }
        let (user, group) = (65_534, 65_534);
        // Only privileged users may give files away, and only they can lose an owner.
        if [&file, &tree].iter().any(|path| chown(path, Some(user), Some(group)).is_err()) {
            return;
        }
        let storage = LocalStorage::new();
        put(&storage, &file, b"new");
        storage.replace(fresh.to_str().unwrap(), tree.to_str().unwrap()).unwrap();
        for path in [file, tree.join("inner"), tree] {
            let owner = fs::metadata(&path).unwrap();
            assert_eq!((owner.uid(), owner.gid()), (user, group), "{}", path.display());
        }
    }

    #[test]
    fn a_replaced_folder_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let target = Location::local(&path).unwrap();
        let staged = StagedFolder::try_new(&target).unwrap();
        fs::write(staged.location().path().to_owned() + "/x", "1").unwrap();
        staged.commit().unwrap();
        assert_eq!((mode(&path), names(&path)), (0o700, vec!["x".to_owned()]));
        assert_eq!(names(folder.path()), ["d"]);
    }

    #[test]
    fn links_are_followed_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("inner")).unwrap();
        fs::write(at("inner/real"), "old").unwrap();
        symlink("inner/real", at("one")).unwrap();
        symlink("one", at("two")).unwrap();
        symlink("inner/absent", at("dangling")).unwrap();
        let storage = LocalStorage::new();
        put(&storage, &at("two"), b"new");
        assert!(at("two").is_symlink() && at("one").is_symlink());
        assert_eq!(fs::read(at("inner/real")).unwrap(), b"new");
        assert_eq!(storage.kind(text(&at("dangling"))).unwrap(), None);
        assert!(storage.is_taken(text(&at("dangling"))).unwrap(), "a dangling link takes its name");
        assert!(Location::local(at("dangling")).unwrap().create(false).is_err());
        put(&storage, &at("dangling"), b"made");
        assert_eq!(fs::read(at("inner/absent")).unwrap(), b"made");
        symlink("inner", at("folder")).unwrap();
        StagedFolder::try_new(&Location::local(at("folder")).unwrap()).unwrap().commit().unwrap();
        assert!(at("folder").is_symlink() && names(&at("inner")).is_empty());
        symlink("loop", at("loop")).unwrap();
        assert!(storage.create(text(&at("loop"))).is_err());
    }

    #[test]
    fn pipes_and_devices_are_written_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        let storage = LocalStorage::new();
        assert_eq!(storage.kind(text(&path)).unwrap(), Some(EntryKind::Other));
        assert!(!storage.is_taken(text(&path)).unwrap());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read(path).unwrap()
        });
        let mut staged = Location::local(&path).unwrap().create(false).unwrap();
        staged.write(b"abc").unwrap();
        staged.write_at(1, b"B").unwrap();
        staged.write(b"d").unwrap();
        staged.commit().unwrap();
        assert_eq!(reader.join().unwrap(), b"aBcd");
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(names(folder.path()), ["pipe"]);
        let mut null = Location::local("/dev/null").unwrap().create(false).unwrap();
        null.write(&vec![0; 3 << 20]).unwrap();
        null.commit().unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(StagedFolder::try_new(&Location::local(&path).unwrap()).is_err());
    }

    #[test]
    fn a_pipe_is_refused_as_a_file_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        let storage = LocalStorage::new();
        for error in [storage.size(text(&path)).unwrap_err(), storage.size("/dev/null").unwrap_err()] {
            assert!(error.to_string().contains("a pipe or a device"), "{error}");
        }
        let listed = storage.list(text(folder.path())).unwrap();
        assert_eq!(listed, [Entry { name: "pipe".into(), kind: EntryKind::Other }]);
    }

    #[test]
    fn a_rename_that_fails_leaves_nothing_staged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d");
        fs::create_dir(&path).unwrap();
        let mut staged = LocalStorage::new().create(text(&path)).unwrap();
        staged.write(b"x").unwrap();
        assert!(staged.commit().is_err());
        assert_eq!(names(folder.path()), ["d"]);
    }

    /// A free process number: that of a child that has ended.
    fn ended() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn leftovers_of_ended_processes_are_removed_and_live_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let ended = ended();
        let running = std::os::unix::process::parent_id();
        let left = format!(".f.{ended}-0.tmp");
        let (locked, other) = (format!(".f.{ended}-1.tmp"), format!(".g.{ended}-0.tmp"));
        let alive = format!(".f.{running}-0.tmp");
        for name in [&left, &locked, &other, &alive] {
            fs::write(at(name), "x").unwrap();
        }
        fs::create_dir(at(&format!(".f.{ended}-7.tmp"))).unwrap();
        let lock = fs::File::open(at(&locked)).unwrap();
        lock.try_lock().unwrap();
        put(&LocalStorage::new(), &at("f"), b"new");
        let mut want = vec![locked, alive, "f".to_owned()];
        want.sort();
        assert_eq!(names(folder.path()), want);
    }

    #[test]
    fn a_crash_between_two_renames_is_undone_by_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let ended = ended();
        let (old, new) = (format!(".t.{ended}-0.tmp.old"), format!(".t.{ended}-0.tmp"));
        for name in [&old, &new] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("is"), name).unwrap();
        }
        let target = Location::local(at("t")).unwrap();
        assert!(!target.exists().unwrap());
        assert!(target.storage().recover(target.path()).unwrap());
        assert_eq!(fs::read_to_string(at("t/is")).unwrap(), old);
        assert_eq!(names(folder.path()), ["t"]);
    }

    #[test]
    fn two_renames_do_what_one_exchange_does() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| text(&folder.path().join(name)).to_owned();
        for (name, is) in [("to", "old"), ("from", "new")] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name) + "/is", is).unwrap();
        }
        swap::replace_stepwise(&at("from"), &at("to")).unwrap();
        assert_eq!(fs::read_to_string(at("to/is")).unwrap(), "new");
        assert_eq!(names(folder.path()), ["to"]);
    }

    #[test]
    fn a_backup_keeps_its_content_and_mode() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| text(&folder.path().join(name)).to_owned();
        let storage = LocalStorage::new();
        fs::write(at("f"), "old").unwrap();
        fs::set_permissions(at("f"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(at("n"), "new").unwrap();
        storage.put_aside(&at("n"), &at("f"), &at("f.damaged")).unwrap();
        assert_eq!((fs::read(at("f")).unwrap(), mode(Path::new(&at("f")))), (b"new".to_vec(), 0o600));
        assert_eq!(fs::read(at("f.damaged")).unwrap(), b"old");
        fs::create_dir(at("d")).unwrap();
        fs::create_dir(at("e")).unwrap();
        fs::write(at("e/x"), "new").unwrap();
        storage.put_aside(&at("e"), &at("d"), &at("d.damaged")).unwrap();
        assert!(Path::new(&at("d/x")).exists() && Path::new(&at("d.damaged")).is_dir());
        assert_eq!(names(folder.path()), ["d", "d.damaged", "f", "f.damaged"]);
    }

    /// A process killed between any two steps leaves the results of the earlier steps.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_name_is_never_missing_while_something_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| text(&folder.path().join(name)).to_owned();
        let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
        fs::write(at("f"), "0").unwrap();
        fs::create_dir(at("d")).unwrap();
        let watch = std::thread::spawn({
            let (paths, done) = ([at("f"), at("d")], Arc::clone(&done));
            move || {
                let mut missing = 0;
                while !done.load(Ordering::Relaxed) {
                    missing += paths.iter().filter(|path| fs::symlink_metadata(path).is_err()).count();
                }
                missing
            }
        });
        let storage = LocalStorage::new();
        for round in 0..200 {
            fs::write(at("new"), round.to_string()).unwrap();
            storage.put_aside(&at("new"), &at("f"), &at(&format!("f.{round}"))).unwrap();
            fs::create_dir(at("new")).unwrap();
            storage.put_aside(&at("new"), &at("d"), &at(&format!("d.{round}"))).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(watch.join().unwrap(), 0);
    }

    #[test]
    fn entries_that_vanish_while_a_folder_is_listed_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = Arc::new(folder.path().to_owned());
        fs::write(path.join("stays"), "1").unwrap();
        let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let churn = std::thread::spawn({
            let (path, done) = (Arc::clone(&path), Arc::clone(&done));
            move || {
                while !done.load(Ordering::Relaxed) {
                    for i in 0..20 {
                        fs::write(path.join(i.to_string()), "").unwrap();
                    }
                    for i in 0..20 {
                        fs::remove_file(path.join(i.to_string())).unwrap();
                    }
                }
            }
        });
        let storage = LocalStorage::new();
        for _ in 0..300 {
            assert!(storage.list(text(&path)).unwrap().iter().any(|entry| entry.name == "stays"));
        }
        done.store(true, Ordering::Relaxed);
        churn.join().unwrap();
    }
}
