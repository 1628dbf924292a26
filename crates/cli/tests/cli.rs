//! The binary as a script sees it: exit codes, outputs, errors.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tess(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tess")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A little npy file, and the tet file made of it.
fn sample(folder: &Path) -> (PathBuf, PathBuf) {
    let npy = folder.join("a.npy");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n";
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..12).flat_map(|i| (i as f32 / 2.0).to_le_bytes()));
    std::fs::write(&npy, bytes).unwrap();
    let tet = folder.join("a.tet");
    let out = tess(&["convert", path(&npy), path(&tet), "--set", "chunk=2,2", "--set", "codec=zstd"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    (npy, tet)
}

#[test]
fn the_reference_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let now = text(&tess(&["reference"]).stdout);
    if std::env::var_os("TESS_BLESS").is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept == now, "docs/cli.md is stale; run TESS_BLESS=1 cargo test -p tess --test cli");
}

#[test]
fn every_verb_teaches_with_an_example() {
    let help = text(&tess(&["--help"]).stdout);
    let verbs: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() >= 10, "{verbs:?}");
    for verb in verbs {
        let help = text(&tess(&[verb, "--help"]).stdout);
        assert!(help.contains("Example"), "tess {verb} --help shows no example");
    }
}

#[test]
fn a_round_trip_through_every_form_keeps_the_values() {
    let folder = tempfile::tempdir().unwrap();
    let (npy, tet) = sample(folder.path());
    for form in ["parquet", "arrow", "csv", "npy"] {
        let out = folder.path().join(format!("out.{form}"));
        assert!(tess(&["convert", path(&tet), path(&out)]).status.success(), "{form}");
        let back = folder.path().join(format!("back-{form}.tet"));
        let converted = tess(&["convert", path(&out), path(&back), "--set", "chunk=2,2"]);
        // CSV does not say that a number was a single: types then differ, values do not.
        assert!(converted.status.success(), "{form}: {}", text(&converted.stderr));
        let diff = tess(&["diff", path(&tet), path(&back), "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&diff.stdout).unwrap();
        assert_eq!(report["differing_values"], 0, "{form}: {report}");
        assert_eq!(report["rows"], serde_json::json!([12, 12]), "{form}");
        assert_eq!(diff.status.success(), form != "csv", "{form}: {report}");
    }
    assert!(tess(&["diff", path(&npy), path(&tet)]).status.success());
}

#[test]
fn slices_conditions_and_limits_are_applied() {
    let folder = tempfile::tempdir().unwrap();
    let (_, tet) = sample(folder.path());
    let rows = |args: &[&str]| {
        let out = tess(&[&["cat", path(&tet), "--as", "jsonl"], args].concat());
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout)
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        rows(&["--slice", "1:3,::2"]).iter().map(|r| r["value"].as_f64().unwrap()).collect::<Vec<_>>(),
        [2.0, 3.0, 4.0, 5.0]
    );
    assert_eq!(rows(&["--where", "value > 4 AND i1 <> 3"]).len(), 2);
    assert_eq!(rows(&["--limit", "5"]).len(), 5);
    assert_eq!(
        rows(&["--columns", "value,i0", "--limit", "1"])[0].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["value", "i0"]
    );
}

#[test]
fn reductions_answer_by_axis_name_and_number() {
    let folder = tempfile::tempdir().unwrap();
    let (_, tet) = sample(folder.path());
    let reduce = |args: &[&str]| {
        let out = tess(&[&["reduce", path(&tet), "--json"], args].concat());
        assert!(out.status.success(), "{}", text(&out.stderr));
        serde_json::from_slice::<serde_json::Value>(&out.stdout).unwrap()["values"].clone()
    };
    assert_eq!(reduce(&["--op", "mean"]), 2.75);
    assert_eq!(reduce(&["--op", "sum", "--axis", "i0"]), serde_json::json!([6.0, 7.5, 9.0, 10.5]));
    assert_eq!(reduce(&["--op", "argmax", "--axis", "1", "--slice", "0:2"]), serde_json::json!([3, 3]));
}

#[test]
fn exit_codes_and_error_objects_are_stable() {
    let folder = tempfile::tempdir().unwrap();
    let (npy, tet) = sample(folder.path());
    let junk = folder.path().join("junk.bin");
    std::fs::write(&junk, b"nothing of ours").unwrap();
    let cut = folder.path().join("cut.tet");
    std::fs::write(&cut, &std::fs::read(&tet).unwrap()[..100]).unwrap();
    let missing = folder.path().join("missing.tet");
    for (args, code, kind) in [
        (vec!["info", path(&tet), "--json"], 0, None),
        (vec!["info", path(&junk), "--json"], 1, Some("unknown_format")),
        (vec!["info", path(&cut), "--json"], 1, Some("index_out_of_bounds")),
        (vec!["verify", path(&cut), "--json"], 1, None),
        (vec!["info", path(&missing), "--json"], 3, Some("io")),
        (vec!["cat", path(&tet), "--columns", "velue", "--json"], 2, Some("not_found")),
        (vec!["cat", path(&tet), "--where", "value >", "--json"], 2, None),
        (vec!["convert", path(&npy), path(&tet), "--json"], 2, Some("invalid_call")),
        (vec!["convert", path(&npy), "x.unknown", "--json"], 2, Some("invalid_call")),
        (vec!["nonsense"], 2, None),
    ] {
        let out = tess(&args);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {}", text(&out.stderr));
        if let Some(kind) = kind {
            let object: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
            assert_eq!(object["error"]["kind"], kind, "{args:?}");
            assert_eq!(text(&out.stderr).lines().count(), 1, "{args:?}: {}", text(&out.stderr));
        }
    }
}

#[test]
fn a_refused_cat_leaves_no_file_and_an_existing_one_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (_, tet) = sample(folder.path());
    let out = folder.path().join("out.csv");
    assert_eq!(
        tess(&["cat", path(&tet), "--where", "value = 'text'", "-o", path(&out)]).status.code(),
        Some(2)
    );
    assert!(!out.exists());
    std::fs::write(&out, "mine").unwrap();
    assert_eq!(tess(&["cat", path(&tet), "-o", path(&out)]).status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
    assert!(tess(&["cat", path(&tet), "-o", path(&out), "--force"]).status.success());
    assert!(std::fs::read_to_string(&out).unwrap().starts_with("i0,i1,value\n0,0,0.0\n"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    use std::process::Stdio;
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("long.csv");
    std::fs::write(
        &csv,
        std::iter::once("i\n".to_owned()).chain((0..200_000).map(|i| format!("{i}\n"))).collect::<String>(),
    )
    .unwrap();
    let tet = folder.path().join("long.tet");
    assert!(tess(&["convert", path(&csv), path(&tet), "--set", "chunk=1000"]).status.success());
    let mut child = Command::new(env!("CARGO_BIN_EXE_tess"))
        .args(["cat", path(&tet), "--as", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(out.stderr.is_empty());
}

#[test]
fn a_damaged_file_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (_, tet) = sample(folder.path());
    let cut = folder.path().join("cut.tet");
    std::fs::write(&cut, &std::fs::read(&tet).unwrap()[..100]).unwrap();
    let out = tess(&["verify", "--deep", "--json", path(&cut), path(&tet)]);
    assert_eq!(out.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["reports"][0]["ok"], false);
    assert_eq!(report["reports"][1]["ok"], true);
}
