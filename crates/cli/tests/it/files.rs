//! Special files: pipes, devices, links, names with control characters; and files that are never overwritten.

use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{fine, json_of, path, tess, text};

const CSV: &str = "a,b\n1,2.5\n3,4.5\n";

fn csv(folder: &Path) -> PathBuf {
    let file = folder.join("rows.csv");
    std::fs::write(&file, CSV).unwrap();
    file
}

fn tet(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(name);
    fine(&["convert", path(&csv(folder)), path(&file), "--set", "codec=zstd"]);
    file
}

fn pipe(file: &Path) {
    assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
}

/// Runs `tess` with input on its standard input.
fn fed(args: &[&str], input: &[u8]) -> std::process::Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tess"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn pipes_are_read_to_their_end() {
    let folder = tempfile::tempdir().unwrap();
    for input in ["-", "/dev/stdin"] {
        let target = folder.path().join("out.parquet");
        let out = fed(&["convert", input, path(&target), "--format", "csv", "--force"], CSV.as_bytes());
        assert!(out.status.success(), "{input}: {}", text(&out.stderr));
        let rows =
            fine(&["convert", path(&target), path(&folder.path().join("x.jsonl")), "--force", "--json"]);
        assert!(rows.contains("\"rows\": 2"), "{input}: {rows}");
    }
    let named = folder.path().join("named");
    pipe(&named);
    let writer = std::thread::spawn({
        let named = named.clone();
        move || std::fs::write(named, CSV).unwrap()
    });
    let target = folder.path().join("named.tatami");
    fine(&["convert", path(&named), path(&target), "--format", "csv"]);
    writer.join().unwrap();
    assert_eq!(json_of(&["info", path(&target)])["tables"][0]["rows"], 2);
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| path(&folder.path().join(name)).to_owned();
    let read = |args: &[&str]| {
        let out = fed(args, CSV.as_bytes());
        assert!(out.status.success(), "tess {args:?}: {}", text(&out.stderr));
        text(&out.stdout)
    };
    assert_eq!(read(&["cat", "-", "--format", "csv", "--as", "csv"]), CSV);
    assert_eq!(read(&["cat", "-", "--format", "csv", "--as", "csv", "-o", "-"]), CSV);
    let report = read(&["info", "-", "--format", "csv", "--json"]);
    assert!(report.contains("\"rows\": 2"), "{report}");
    let words = b"id,body\nd1,a river\nd2,the sea\n";
    let out =
        fed(&["index", "-", &at("words.tatami"), "--format", "csv", "--text", "body", "--id", "id"], words);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(fine(&["search", &at("words.tatami"), "river"]).contains("d1"));
    // Text needs no name: JSON lines start with an object, everything else is CSV, compressed or not.
    assert_eq!(read(&["cat", "-", "--as", "csv"]), CSV);
    let lines = fed(&["cat", "-", "--as", "csv"], b"{\"a\": 1, \"b\": 2.5}\n{\"a\": 3, \"b\": 4.5}\n");
    assert_eq!(text(&lines.stdout), CSV, "{}", text(&lines.stderr));
    fine(&["convert", path(&csv(folder.path())), &at("rows.csv.gz")]);
    let packed = fed(&["cat", "-", "--as", "csv"], &std::fs::read(at("rows.csv.gz")).unwrap());
    assert_eq!(text(&packed.stdout), CSV, "{}", text(&packed.stderr));
    let unknown = fed(&["cat", "-"], &[0, 159, 146, 150]);
    assert_eq!(unknown.status.code(), Some(1), "{}", text(&unknown.stderr));
    #[cfg(feature = "sql")]
    for query in [
        &["sql", "SELECT sum(a) AS a FROM '-'"][..],
        &["sql", "-t", "rows=-", "SELECT sum(a) AS a FROM rows"],
    ] {
        assert_eq!(read(&[query, &["--as", "csv"]].concat()), "a\n4\n");
    }
    // Every format of one file goes to standard output; a file that it is redirected to keeps what it has.
    for format in ["csv", "parquet", "arrow", "jsonl", "tatami", "tet"] {
        let out = fed(&["convert", "-", "-", "--format", "csv", "--to", format], CSV.as_bytes());
        assert!(out.status.success(), "{format}: {}", text(&out.stderr));
        let back = fed(&["cat", "-", "--format", format, "--columns", "a,b", "--as", "csv"], &out.stdout);
        assert_eq!(text(&back.stdout), CSV, "{format}: {}", text(&back.stderr));
    }
    let both = fed(&["convert", "-", "-", "-", "--format", "csv", "--to", "csv"], CSV.as_bytes());
    assert_eq!(text(&both.stdout), format!("{CSV}{}", CSV.split_once('\n').unwrap().1));
    let kept = folder.path().join("kept.csv");
    std::fs::write(&kept, CSV).unwrap();
    let more = std::fs::OpenOptions::new().append(true).open(&kept).unwrap();
    let source = csv(folder.path());
    let to_file = Command::new(env!("CARGO_BIN_EXE_tess"))
        .args(["convert", path(&source), "-", "--to", "csv", "--set", "header=false"])
        .stdout(more)
        .status();
    assert!(to_file.unwrap().success());
    let rows = CSV.split_once('\n').unwrap().1;
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), format!("{CSV}{rows}"));
    let segment = fed(&["index", "-", "-", "--format", "csv", "--text", "body", "--id", "id"], words);
    let found =
        fed(&["cat", "-", "--format", "tatami", "--columns", "doc_id", "--as", "csv"], &segment.stdout);
    assert_eq!(text(&found.stdout), "doc_id\nd1\nd2\n", "{}", text(&segment.stderr));
    for (call, what) in [
        (&["convert", "-", "-", "--format", "csv"][..], "--to"),
        (&["convert", "-", "-", "--format", "csv", "--to", "tiledb"], "not a folder"),
        (&["convert", "-", "-", "--format", "csv", "--to", "csv", "--json"], "cannot share"),
        (&["index", "-", "-", "--format", "csv", "--text", "body", "--update"], "--update"),
    ] {
        let out = fed(call, words);
        assert_eq!(out.status.code(), Some(2), "tess {call:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(what), "tess {call:?}: {}", text(&out.stderr));
    }
    #[cfg(feature = "sql")]
    {
        fine(&["convert", path(&csv(folder.path())), &at("rows.parquet")]);
        let rows = std::fs::read(at("rows.parquet")).unwrap();
        let out = fed(&["sql", "SELECT sum(a) AS a, sum(b) AS b FROM '-'", "--as", "csv"], &rows);
        assert_eq!(text(&out.stdout), "a,b\n4,7.0\n", "{}", text(&out.stderr));
    }
}

#[test]
fn a_pipe_inside_an_array_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("a.tiledb");
    fine(&["convert", path(&csv(folder.path())), path(&array), "--set", "dims=a"]);
    let data = all_files(&array).into_iter().find(|file| file.ends_with("a0.tdb")).unwrap();
    std::fs::remove_file(&data).unwrap();
    pipe(&data);
    pipe(&array.join("__fragments/stray"));
    // Nobody writes into the pipes: a command that opens one to read would wait forever.
    for verb in ["verify", "cat", "info"] {
        let out = Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_tess"), verb, path(&array)])
            .output()
            .unwrap();
        assert_ne!(out.status.code(), Some(124), "tess {verb} waits for a pipe");
        let is_refused = matches!(out.status.code(), Some(1 | 3));
        assert!(verb == "info" || is_refused, "tess {verb}: {:?}: {}", out.status, text(&out.stderr));
    }
}

#[test]
fn devices_and_pipes_are_written_and_links_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let source = csv(folder.path());
    fine(&["convert", path(&source), "/dev/null", "--to", "tet", "--force"]);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let named = folder.path().join("named");
    pipe(&named);
    let reader = std::thread::spawn({
        let named = named.clone();
        move || std::fs::read(named).unwrap()
    });
    fine(&["convert", path(&source), path(&named), "--to", "tet"]);
    assert_eq!(&reader.join().unwrap()[..4], b"TETR");
    let (link, real) = (folder.path().join("link.tet"), folder.path().join("real.tet"));
    symlink("real.tet", &link).unwrap();
    assert_eq!(tess(&["convert", path(&source), path(&link)]).status.code(), Some(2), "the name is taken");
    fine(&["convert", path(&source), path(&link), "--force"]);
    assert!(link.is_symlink() && real.is_file());
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    fine(&["convert", path(&source), path(&link), "--force"]);
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(names(folder.path()), ["link.tet", "named", "real.tet", "rows.csv"]);
}

#[test]
fn verify_continues_after_unreadable_files() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("many");
    std::fs::create_dir_all(place.join("deep")).unwrap();
    let good = tet(folder.path(), "good.tet");
    std::fs::copy(&good, place.join("deep/z.tet")).unwrap();
    symlink("nowhere", place.join("a.tet")).unwrap();
    symlink("..", place.join("deep/up")).unwrap();
    pipe(&place.join("p.tet"));
    let out = tess(&["verify", path(&place)]);
    let (shown, noted) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(3), "{shown}{noted}");
    assert!(shown.contains("z.tet: ok") && shown.contains("1 ok, 0 damaged, 1 not readable"), "{shown}");
    assert!(noted.contains("a.tet") && noted.contains("p.tet: skipped"), "{noted}");
    let bytes = std::fs::read(&good).unwrap();
    std::fs::write(place.join("m.tet"), &bytes[..bytes.len() - 4]).unwrap();
    let out = tess(&["verify", path(&place), "--json"]);
    assert_eq!(out.status.code(), Some(1), "damage counts more than what cannot be read");
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((report["ok"].as_bool(), report["reports"].as_array().unwrap().len()), (Some(false), 3));
}

#[test]
fn a_conversion_of_many_never_replaces_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("m");
    std::fs::create_dir(&place).unwrap();
    tet(&place, "a.tet");
    std::fs::rename(place.join("rows.csv"), place.join("a.csv")).unwrap();
    let before = std::fs::read(place.join("a.tet")).unwrap();
    let out = tess(&["convert", path(&place), path(&place), "--to", "tet", "--force"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(std::fs::read(place.join("a.tet")).unwrap(), before);
    assert_eq!(names(&place), ["a.csv", "a.csv.tet", "a.tet", "a.tet.tet"]);
}

#[test]
fn the_target_of_a_repair_is_not_inside_its_source_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("a.tiledb");
    fine(&["convert", path(&csv(folder.path())), path(&array)]);
    let out = tess(&["repair", path(&array), path(&array.join("x"))]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    fine(&["repair", path(&array), path(&folder.path().join("b.tiledb"))]);
    fine(&["verify", "--deep", path(&folder.path().join("b.tiledb"))]);
    assert_eq!(names(folder.path()), ["a.tiledb", "b.tiledb", "rows.csv"]);
}

#[test]
fn no_control_character_of_a_file_reaches_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let evil = "\u{1b}]0;owned\u{7}";
    let source = folder.path().join("x.jsonl");
    std::fs::write(&source, serde_json::json!({ "k": evil, evil: 1 }).to_string() + "\n").unwrap();
    let target = folder.path().join(format!("{evil}.tatami"));
    fine(&["convert", path(&source), path(&target)]);
    let clean = |out: &std::process::Output| {
        let all = text(&out.stdout) + &text(&out.stderr);
        assert!(!all.contains(['\u{1b}', '\u{7}']), "{all:?}");
        assert!(all.contains("\\u001b"), "{all:?}");
    };
    for call in [vec!["info"], vec!["cat"], vec!["verify"], vec!["sketch"], vec!["cat", "--columns", evil]] {
        clean(&tess(&[&call[..1], &[path(&target)], &call[1..]].concat()));
    }
    clean(&tess(&["cat", path(&target), "--columns", "\u{1b}none"]));
    let info = json_of(&["info", path(&target)]);
    assert_eq!(info["tables"][0]["columns"][1]["name"], evil);
    let array = folder.path().join("a.tiledb");
    fine(&["convert", path(&csv(folder.path())), path(&array), "--set", "dims=a"]);
    fine(&["tiledb", "meta", path(&array), "--put", &format!("{evil}={evil}")]);
    clean(&tess(&["tiledb", "meta", path(&array)]));
}

/// Runs `tess` without the right of the superuser to read every file.
fn unprivileged(args: &[&str]) -> std::process::Output {
    const RIGHTS: &str = "-dac_override,-dac_read_search";
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut command = if is_root {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", RIGHTS, "--inh-caps", RIGHTS, env!("CARGO_BIN_EXE_tess")]);
        command
    } else {
        Command::new(env!("CARGO_BIN_EXE_tess"))
    };
    command.args(args).output().unwrap()
}

/// Every file below a folder.
fn all_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|entry| if entry.is_dir() { all_files(&entry) } else { vec![entry] }).collect()
}

#[test]
fn what_may_not_be_read_is_not_missing() {
    let folder = tempfile::tempdir().unwrap();
    let source = csv(folder.path());
    let array = folder.path().join("a.tiledb");
    fine(&["convert", path(&source), path(&array), "--set", "dims=a"]);
    fine(&["tiledb", "meta", path(&array), "--put", "k=1"]);
    let containers = ["a.tet", "a.tatami", "a.tsfile", "a.parquet"].map(|name| folder.path().join(name));
    for container in &containers {
        let time = container.ends_with("a.tsfile").then_some(["--set", "time=a"]);
        let call = ["convert", path(&source), path(container)];
        fine(&[&call[..], time.as_ref().map_or(&[], |time| &time[..])].concat());
    }
    let before = names(folder.path());
    let target = folder.path().join("out");
    let files = all_files(&array).into_iter().map(|file| (file, array.clone()));
    for (file, container) in files.chain(containers.iter().map(|file| (file.clone(), file.clone()))) {
        if std::fs::metadata(&file).unwrap().len() == 0 {
            // A marker counts by its name.
            continue;
        }
        let mode = std::fs::metadata(&file).unwrap().permissions();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
        for call in [vec!["verify", "--deep"], vec!["repair"], vec!["cat"]] {
            let end = if call[0] == "repair" { vec![path(&target)] } else { vec![] };
            let out = unprivileged(&[&call[..], &[path(&container)], &end[..]].concat());
            let what =
                format!("{call:?} without {}: {}{}", file.display(), text(&out.stdout), text(&out.stderr));
            // What a command does not read does not matter to it; nothing else is said of what it may not read.
            let is_unread = out.status.success() && !what.contains("missing");
            assert!(out.status.code() == Some(3) || is_unread, "{what}");
            if target.exists() {
                assert!(is_unread && call[0] == "repair", "{what}");
                fine(&["diff", path(&container), path(&target)]);
            }
        }
        std::fs::set_permissions(&file, mode).unwrap();
        if target.is_dir() {
            std::fs::remove_dir_all(&target).unwrap();
        } else if target.exists() {
            std::fs::remove_file(&target).unwrap();
        }
        assert_eq!(names(folder.path()), before);
    }
}
