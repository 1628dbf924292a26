//! Commands whose input another process changes while they read it.
//!
//! The input is changed right before the n-th system call that reads it. A command gives the answer for the old state or
//! for the new one, or fails in words; it is never ended by a signal and never mixes two states.

use std::fs::{self, File};
use std::path::Path;

use nix::libc;

use crate::case::{TESS, points, tess, words};
use crate::tracer::{self, Call};
use crate::{folder, prepared};

/// Changes per command in a short run.
const FEW: usize = 8;

/// Runs a command and calls `change` right before its read number `at` of something below `input`: the exit code, what it
/// prints, and the number of reads.
fn read(
    command: &str,
    place: &Path,
    input: &str,
    at: usize,
    change: impl Fn(),
) -> (Option<i32>, String, usize) {
    let input = place.join(input).canonicalize().unwrap().to_str().unwrap().to_owned();
    let output = tempfile::NamedTempFile::new().unwrap();
    let to = File::create(output.path()).unwrap();
    let mut reads = 0;
    let code = tracer::run(TESS, &words(command), place, to.into(), |call| {
        if is_read(call, place, &input) {
            if reads == at {
                change();
            }
            reads += 1;
        }
        None
    });
    (code, fs::read_to_string(output.path()).unwrap(), reads)
}

/// Whether a call opens, measures, lists or reads something below `input`.
fn is_read(call: &Call, place: &Path, input: &str) -> bool {
    let [first, second, ..] = call.args;
    let path = match call.number {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_preadv | libc::SYS_getdents64 | libc::SYS_fstat => {
            call.file(first)
        }
        libc::SYS_openat | libc::SYS_statx | libc::SYS_newfstatat => call.text(second),
        libc::SYS_open | libc::SYS_stat => call.text(first),
        _ => return false,
    };
    path.is_some_and(|path| place.join(path).starts_with(input))
}

/// A change of the input by somebody else.
struct Change<'a> {
    /// The input of the commands.
    input: &'a str,
    /// Makes the change in a folder.
    make: &'a dyn Fn(&Path),
    /// Whether the answer must be that of the old state or of the new one; otherwise the command may also fail in words.
    must_answer: bool,
}

/// Makes the change before each read of each command.
fn check(prepare: &[&str], commands: &[&str], change: &Change<'_>) {
    let source = prepared(prepare);
    for command in commands {
        let scratch = tempfile::tempdir().unwrap();
        let copy = |name: &str| {
            let place = scratch.path().join(name);
            folder::copy(source.path(), &place);
            place
        };
        let before = copy("before");
        let (code, old, reads) = read(command, &before, change.input, usize::MAX, || ());
        assert_eq!(code, Some(0), "tess {command}");
        assert!(reads > 0, "tess {command} does not read {}", change.input);
        let after = copy("after");
        (change.make)(&after);
        let new = String::from_utf8(tess(command, &after).stdout).unwrap();
        for at in points(reads, FEW) {
            let place = copy(&format!("at-{at}"));
            let (code, answer, _) = read(command, &place, change.input, at, || (change.make)(&place));
            let what = format!("tess {command}, changed before read {at} of {reads}");
            let is_answer = answer == old || answer == new;
            match code {
                Some(0) => assert!(is_answer, "{what}:\n{answer}\nold:\n{old}\nnew:\n{new}"),
                // Damage, or an I/O error.
                Some(1 | 3) => assert!(!change.must_answer, "{what}: exit {code:?}, {answer}"),
                _ => panic!("{what}: {code:?}"),
            }
            assert_eq!(folder::debris(&place), Vec::<String>::new(), "{what}");
            fs::remove_dir_all(&place).unwrap();
        }
    }
}

/// Renames another file over the input.
fn renamed(place: &Path, from: &str, to: &str) {
    fs::copy(place.join(from), place.join("staged")).unwrap();
    fs::rename(place.join("staged"), place.join(to)).unwrap();
}

fn truncated(place: &Path, name: &str) {
    let file = File::options().write(true).open(place.join(name)).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len / 2).unwrap();
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_has_its_old_or_its_new_content() {
    for (prepare, commands, input, other) in [
        (
            ["convert rows.csv x.parquet", "convert few.csv y.parquet"],
            [
                "cat x.parquet --as csv",
                #[cfg(feature = "sql")]
                "sql `SELECT count(*), sum(a) FROM 'x.parquet'` --as csv",
            ]
            .as_slice(),
            "x.parquet",
            "y.parquet",
        ),
        (
            ["convert rows.csv x.tatami", "convert more.csv y.tatami"],
            &[
                "cat x.tatami --as csv",
                #[cfg(feature = "sql")]
                "sql `SELECT a, sum(b) FROM 'x.tatami' GROUP BY a ORDER BY a` --as csv",
            ],
            "x.tatami",
            "y.tatami",
        ),
        (
            ["convert rows.csv x.tsfile --columns time,a,b", "convert few.csv y.tsfile"],
            &[
                "cat x.tsfile --as csv",
                #[cfg(feature = "sql")]
                "sql `SELECT sum(a) FROM 'x.tsfile' WHERE b > 2` --as csv",
            ],
            "x.tsfile",
            "y.tsfile",
        ),
        (
            ["convert cells.npy x.tet", "convert next.npy y.tet"],
            &[
                "cat x.tet --as csv",
                "reduce x.tet --op sum",
                #[cfg(feature = "sql")]
                "sql `SELECT sum(value) FROM 'x.tet' WHERE i0 > 0` --as csv",
            ],
            "x.tet",
            "y.tet",
        ),
        (
            ["convert rows.csv x.arrow", "convert few.csv y.arrow"],
            &["cat x.arrow --as csv"],
            "x.arrow",
            "y.arrow",
        ),
        (
            ["convert rows.csv x.csv --force", "convert few.csv y.csv"],
            &["cat x.csv --as jsonl"],
            "x.csv",
            "y.csv",
        ),
    ] {
        let make = |place: &Path| renamed(place, other, input);
        check(&prepare, commands, &Change { input, make: &make, must_answer: true });
    }
}

#[test]
fn a_file_that_is_truncated_while_it_is_read_gives_its_content_or_an_error() {
    let files = [
        "convert rows.csv x.parquet",
        "convert rows.csv x.tatami",
        "convert rows.csv x.tsfile --columns time,a,b",
        "convert cells.npy x.tet",
        "convert rows.csv x.arrow",
        "convert cells.npy x.npy",
    ];
    for (commands, input) in [
        (["cat x.parquet --as csv", "convert x.parquet new.tatami"], "x.parquet"),
        (["cat x.tatami --as csv", "convert x.tatami new.parquet"], "x.tatami"),
        (["cat x.tsfile --as csv", "convert x.tsfile new.parquet"], "x.tsfile"),
        (["cat x.tet --as csv", "convert x.tet new.npy"], "x.tet"),
        (["cat x.arrow --as csv", "diff x.arrow rows.csv"], "x.arrow"),
        (["cat x.npy --as csv", "reduce x.npy --op sum"], "x.npy"),
    ] {
        let make = |place: &Path| truncated(place, input);
        check(&files, &commands, &Change { input, make: &make, must_answer: false });
    }
}

/// Merges the fragments of an array and removes the old ones.
fn vacuumed(place: &Path) {
    for command in ["tiledb consolidate arr", "tiledb vacuum arr", "tiledb consolidate arr --what commits"] {
        let out = tess(command, place);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn an_array_that_is_vacuumed_while_it_is_read_gives_the_same_answer() {
    let prepare = [
        "convert rows.csv arr --to tiledb --set dims=time --set domain.time=0:999",
        "tiledb write arr more.csv --timestamp 2000000000000",
        "tiledb write arr last.csv --timestamp 2000000000001",
    ];
    let commands = [
        "cat arr --as csv",
        "convert arr new.parquet --force",
        #[cfg(feature = "sql")]
        "sql `SELECT count(*), sum(a) FROM 'arr' WHERE b > 1` --as csv",
    ];
    check(&prepare, &commands, &Change { input: "arr", make: &vacuumed, must_answer: true });
}
