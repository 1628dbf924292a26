#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::{Guarded, fault};
use crate::storage::{LocalStorage, Storage};

const PAGE: usize = 1 << 16;
const ROWS: usize = 64;
/// Bytes of a row that are read.
const PART: usize = 1000;

/// Tests that need free slots, one after the other.
static SLOTS: Mutex<()> = Mutex::new(());

fn byte(at: usize) -> u8 {
    (at * 7 / 3 + at / PAGE) as u8
}

/// A file of rows, each a page or more.
fn rows(path: &Path) -> File {
    let bytes: Vec<u8> = (0..ROWS * PAGE).map(byte).collect();
    std::fs::write(path, bytes).unwrap();
    File::options().read(true).write(true).open(path).unwrap()
}

/// The parts of a window, each from the start of a row on.
fn window(buffers: &mut [Vec<u8>]) -> Vec<(u64, &mut [u8])> {
    buffers.iter_mut().enumerate().map(|(row, part)| ((row * PAGE) as u64, part.as_mut_slice())).collect()
}

fn assert_rows(buffers: &[Vec<u8>]) {
    for (row, part) in buffers.iter().enumerate() {
        assert!(part.iter().enumerate().all(|(i, found)| *found == byte(row * PAGE + i)), "row {row}");
    }
}

#[test]
fn parts_get_their_bytes() {
    let _alone = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let file = rows(&folder.path().join("f"));
    let guarded = Guarded::try_new(&file).unwrap();
    let mut buffers = vec![vec![0; PART]; ROWS];
    assert!(guarded.copy(&file, &mut window(&mut buffers)));
    assert_rows(&buffers);
    let mut past = vec![0; 2];
    assert!(!guarded.copy(&file, &mut [((ROWS * PAGE - 1) as u64, past.as_mut_slice())]));
    assert!(!guarded.copy(&file, &mut [(u64::MAX, past.as_mut_slice())]));
}

#[test]
fn missing_bytes_are_no_signal() {
    let _alone = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    // Whole pages are missing, a part of the last page, or everything.
    for left in [3 * PAGE, (ROWS - 1) * PAGE + PART - 1, 0] {
        let file = rows(&folder.path().join("f"));
        let guarded = Guarded::try_new(&file).unwrap();
        let mut buffers = vec![vec![0; PART]; ROWS];
        assert!(guarded.copy(&file, &mut window(&mut buffers)));
        file.set_len(left as u64).unwrap();
        assert!(!guarded.copy(&file, &mut window(&mut buffers)), "{left} bytes are left");
        let faulted = guarded.slot.has_faulted();
        assert_eq!(faulted, left < (ROWS - 1) * PAGE);
        // A mapping with pages of zeros is not used again, even if the file has bytes again.
        file.set_len((ROWS * PAGE) as u64).unwrap();
        assert_eq!(guarded.copy(&file, &mut window(&mut buffers)), !faulted);
    }
}

#[test]
fn a_read_of_a_file_that_became_shorter_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let file = rows(&path);
    let (storage, path) = (LocalStorage::new(), path.to_str().unwrap());
    let mut buffers = vec![vec![0; PART]; ROWS];
    storage.read_parts(path, &mut window(&mut buffers)).unwrap();
    assert_rows(&buffers);
    for left in [(ROWS - 1) * PAGE + PART - 1, 3 * PAGE] {
        file.set_len(left as u64).unwrap();
        let error = storage.read_parts(path, &mut window(&mut buffers)).unwrap_err();
        assert!(error.to_string().contains("became shorter"), "{error}");
    }
}

#[test]
fn a_file_that_becomes_shorter_meanwhile_gives_its_bytes_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let file = rows(&path);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let truncating = scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                file.set_len((5 * PAGE) as u64).unwrap();
                file.set_len((ROWS * PAGE) as u64).unwrap();
            }
        });
        let read = || {
            for _ in 0..200 {
                // Opened at either length.
                let storage = LocalStorage::new();
                let mut buffers = vec![vec![0; PART]; ROWS];
                match storage.read_parts(path.to_str().unwrap(), &mut window(&mut buffers)) {
                    Ok(()) => assert_rows(&buffers[..5]),
                    Err(error) => {
                        let text = error.to_string();
                        assert!(text.contains("became shorter") || text.contains("bytes"), "{text}");
                    }
                }
            }
        };
        let readers = [scope.spawn(read), scope.spawn(read)];
        for reader in readers {
            reader.join().unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        truncating.join().unwrap();
    });
}

#[test]
fn mappings_are_limited_and_their_slots_reused() {
    let _alone = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let file = rows(&folder.path().join("f"));
    for _ in 0..3 {
        let mappings: Vec<Guarded> = std::iter::from_fn(|| Guarded::try_new(&file)).take(1000).collect();
        assert!((2..1000).contains(&mappings.len()), "{} mappings", mappings.len());
        let mut buffers = vec![vec![0; PART]; ROWS];
        assert!(mappings.iter().all(|guarded| guarded.copy(&file, &mut window(&mut buffers))));
    }
}

#[test]
#[expect(unsafe_code, reason = "the mask of a thread has no safe interface")]
fn a_thread_that_blocks_the_signal_reads_by_position() {
    let _alone = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let file = rows(&folder.path().join("f"));
    let guarded = Guarded::try_new(&file).unwrap();
    let copy = || guarded.copy(&file, &mut window(&mut vec![vec![0; PART]; ROWS]));
    let blocked = || {
        // SAFETY: the mask of this thread, which ends here.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        }
        copy()
    };
    assert!(!std::thread::scope(|scope| scope.spawn(blocked).join().unwrap()));
    assert!(copy());
}

/// Runs a case of [`in_a_process`] in a process of its own: its exit code and its signal.
fn run(case: &str) -> (Option<i32>, Option<i32>) {
    let test = "storage::local::guard::tests::in_a_process";
    let mut command = Command::new(std::env::current_exe().unwrap());
    let status = command
        .args(["--exact", test, "--ignored"])
        .env("TESSELLE_GUARD_CASE", case)
        .output()
        .unwrap()
        .status;
    (status.code(), status.signal())
}

#[test]
fn other_faults_reach_the_handler_that_was_there_before() {
    assert_eq!(run("default"), (None, Some(libc::SIGBUS)));
    assert_eq!(run("sent"), (None, Some(libc::SIGBUS)));
    assert_eq!(run("ignored"), (Some(0), None));
    assert_eq!(run("plain"), (Some(41), None));
    assert_eq!(run("informed"), (Some(42), None));
}

#[test]
fn a_handler_that_comes_later_is_noticed() {
    assert_eq!(run("later"), (Some(0), None));
}

extern "C" fn plain(_signal: libc::c_int) {
    leave(41);
}

extern "C" fn informed(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    leave(if info.is_null() { 1 } else { 42 });
}

#[expect(unsafe_code, reason = "a handler may not run what a usual exit runs")]
fn leave(code: i32) {
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(code) }
}

#[expect(unsafe_code, reason = "signals have no safe interface")]
fn handle(handler: usize, flags: libc::c_int) {
    // SAFETY: a handler that fits its flags.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()), 0);
    }
}

/// Reads a page without bytes of a mapping that is not registered.
#[expect(unsafe_code, reason = "the fault is what is tested")]
fn fault_elsewhere(path: &Path) {
    let file = rows(path);
    let mapping = memmap2::MmapOptions::new().map_raw_read_only(&file).unwrap();
    file.set_len(0).unwrap();
    // SAFETY: inside the mapping; the signal that it raises is expected.
    let found = unsafe { mapping.as_ptr().add(PAGE).read_volatile() };
    panic!("a page without bytes has {found}");
}

#[test]
#[ignore = "changes the signals of its process; other tests start it"]
#[expect(unsafe_code, reason = "signals have no safe interface")]
fn in_a_process() {
    let Ok(case) = std::env::var("TESSELLE_GUARD_CASE") else { return };
    let (as_plain, as_informed): (extern "C" fn(_), extern "C" fn(_, _, _)) = (plain, informed);
    match case.as_str() {
        "plain" => handle(as_plain as usize, 0),
        "informed" => handle(as_informed as usize, libc::SA_SIGINFO),
        "ignored" => handle(libc::SIG_IGN, 0),
        _ => handle(libc::SIG_DFL, 0),
    }
    let folder = tempfile::tempdir().unwrap();
    let file = rows(&folder.path().join("f"));
    let guarded = Guarded::try_new(&file).unwrap();
    let mut buffers = vec![vec![0; PART]; ROWS];
    assert!(guarded.copy(&file, &mut window(&mut buffers)));
    assert_rows(&buffers);
    match case.as_str() {
        "later" => {
            handle(as_plain as usize, 0);
            assert!(!fault::is_caught_here());
            file.set_len(0).unwrap();
            assert!(!guarded.copy(&file, &mut window(&mut buffers)));
        }
        // SAFETY: a signal to this process.
        "sent" | "ignored" => unsafe {
            libc::raise(libc::SIGBUS);
        },
        _ => fault_elsewhere(&folder.path().join("other")),
    }
}
