//! The binary as a script sees it: exit codes, outputs, errors.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{path, tess, text};

/// A small npy file, and the tet file converted from it.
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

/// The reference of the whole program.
#[cfg(feature = "sql")]
#[test]
fn the_reference_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let now = text(&tess(&["reference"]).stdout);
    if std::env::var_os("TESS_BLESS").is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept == now, "docs/cli.md is stale; run TESS_BLESS=1 cargo test -p tess --test it cli::");
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
        // CSV does not store that a number was a single: types then differ, values do not.
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
    std::fs::write(&junk, b"an unknown format").unwrap();
    let cut = folder.path().join("cut.tet");
    std::fs::write(&cut, &std::fs::read(&tet).unwrap()[..100]).unwrap();
    let missing = folder.path().join("missing.tet");
    for (args, code, kind) in [
        (vec!["info", path(&tet), "--json"], 0, None),
        (vec!["info", path(&junk), "--json"], 1, Some("unknown_format")),
        (vec!["info", path(&cut), "--json"], 1, Some("index_out_of_bounds")),
        (vec!["verify", path(&cut), "--json"], 1, None),
        (vec!["verify", path(&npy), "--json"], 0, None),
        (vec!["convert", path(&npy), "-", "--to", "csv", "--json"], 2, Some("invalid_call")),
        (vec!["info", path(&missing), "--json"], 3, Some("io")),
        (vec!["cat", path(&tet), "--columns", "velue", "--json"], 2, Some("not_found")),
        (vec!["cat", path(&tet), "--where", "value >", "--json"], 2, Some("invalid_call")),
        (vec!["info", "--json"], 2, Some("invalid_call")),
        (vec!["info", path(&tet), "--josn", "--json"], 2, Some("invalid_call")),
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

#[test]
fn a_reader_that_panics_on_damage_is_reported_in_one_line() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../tesselle/tests/data/bad-schema.parquet");
    let out = tess(&["info", file]);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(text(&out.stderr).lines().count(), 1, "{}", text(&out.stderr));
}

/// A folder with good and bad files of several kinds.
fn archive(folder: &Path) -> PathBuf {
    let (npy, tet) = sample(folder);
    let archive = folder.join("archive");
    std::fs::create_dir_all(archive.join("deep")).unwrap();
    std::fs::copy(&npy, archive.join("a.npy")).unwrap();
    std::fs::copy(&tet, archive.join("deep/b.tet")).unwrap();
    std::fs::write(archive.join("deep/cut.tet"), &std::fs::read(&tet).unwrap()[..100]).unwrap();
    std::fs::write(archive.join("rows.csv"), "i,v\n1,2.5\n2,3.5\n").unwrap();
    std::fs::write(archive.join("readme.md"), "# an unknown format").unwrap();
    archive
}

#[test]
fn a_folder_is_converted_file_by_file_and_a_bad_one_does_not_stop_it() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(folder.path());
    let out = folder.path().join("out");
    let result = tess(&["convert", path(&archive), path(&out), "--to", "parquet", "--json"]);
    assert_eq!(result.status.code(), Some(1), "{}", text(&result.stderr));
    let report: serde_json::Value = serde_json::from_slice(&result.stdout).unwrap();
    assert_eq!(
        (report["ok"].as_bool(), report["converted"].as_u64(), report["failed"].as_u64()),
        (Some(false), Some(3), Some(1))
    );
    for name in ["a.parquet", "deep/b.parquet", "rows.parquet"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    assert!(!out.join("deep/cut.parquet").exists());
    assert!(text(&result.stderr).contains("cut.tet: FAILED"), "{}", text(&result.stderr));
    // A pattern that no shell has expanded, and existing outputs.
    let pattern = format!("{}/*.csv", path(&archive));
    let again = tess(&["convert", &pattern, path(&out), "--to", "parquet"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("already exists"), "{}", text(&again.stderr));
    let again = tess(&["convert", &pattern, path(&out), "--to", "parquet", "--force"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("1 converted, 0 failed: 2 rows"), "{}", text(&again.stderr));
    assert_eq!(tess(&["convert", path(&archive), path(&out)]).status.code(), Some(2), "no format is named");
    assert_eq!(tess(&["convert", "none-*.csv", path(&out), "--to", "tet"]).status.code(), Some(3));
}

#[test]
fn a_folder_is_verified_container_by_container() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(folder.path());
    let out = tess(&["verify", path(&archive), "--deep", "--json"]);
    assert_eq!(out.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let list = report["reports"].as_array().unwrap();
    assert_eq!((report["ok"].as_bool(), list.len()), (Some(false), 2), "{report}");
    assert!(list[0]["uri"].as_str().unwrap().ends_with("b.tet") && list[0]["ok"] == true);
    assert!(list[1]["uri"].as_str().unwrap().ends_with("cut.tet") && list[1]["ok"] == false);
    let human = tess(&["verify", path(&archive)]);
    assert!(
        text(&human.stdout).ends_with("2 containers: 1 ok, 1 damaged, 0 not readable\n"),
        "{}",
        text(&human.stdout)
    );
    std::fs::remove_file(archive.join("deep/cut.tet")).unwrap();
    assert_eq!(tess(&["verify", path(&archive)]).status.code(), Some(0));
    // One container yields one report, as scripts expect.
    let one = tess(&["verify", path(&archive.join("deep/b.tet")), "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(report["ok"], true);
    assert_eq!(tess(&["verify", path(&archive.join("none.tet"))]).status.code(), Some(3));
}

#[test]
fn a_page_shows_every_extent_and_is_self_contained() {
    let folder = tempfile::tempdir().unwrap();
    let (_, tet) = sample(folder.path());
    let demo = folder.path().join("demo");
    let args = ["demo", path(&demo), "--threads", "1", "--memory-limit", "256MiB"];
    assert!(tess(&args).status.success());
    let mut containers = vec![tet];
    for name in ["tensor.tet", "weather.tiledb", "points.tiledb", "fleet.tsfile", "crawl.tatami"] {
        containers.push(demo.join(name));
    }
    for container in containers {
        let page = folder.path().join("page.html");
        let out = tess(&["sketch", "--html", path(&container), "-o", path(&page), "--force"]);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let html = std::fs::read_to_string(&page).unwrap();
        assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
        for outside in ["http:", "https:", "src=", "@import", "url(", "<link"] {
            // Documents may contain addresses; the page itself has none.
            let own = html.split("id=\"data\">").next().unwrap().to_owned()
                + html.rsplit("</script>").next().unwrap();
            assert!(!own.contains(outside), "{outside}");
        }
        assert!(!html.contains("{{"), "a part is missing");
        let data = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        let sketch = tess(&["sketch", path(&container), "--json", "--pages"]);
        let sketch: serde_json::Value = serde_json::from_slice(&sketch.stdout).unwrap();
        let files = (data["files"].as_array().unwrap(), sketch["files"].as_array().unwrap());
        assert_eq!(files.0.len(), files.1.len());
        for (drawn, known) in files.0.iter().zip(files.1) {
            let (drawn, known) = (drawn["pieces"].as_array().unwrap(), known["extents"].as_array().unwrap());
            assert_eq!(drawn.len(), known.len());
            for (piece, extent) in drawn.iter().zip(known) {
                assert_eq!(piece[0], extent["start"]);
                assert_eq!(piece[6], extent["content"]);
            }
        }
        let encodings = data["encodings"].as_array().unwrap();
        assert!(!encodings.is_empty(), "{}", container.display());
        // A click on an encoding shows parts of the map.
        let name = |number: &serde_json::Value| &data["names"][number.as_u64().unwrap() as usize];
        let is_of = |piece: &serde_json::Value, one: &serde_json::Value| {
            let is_data = data["roles"][piece[2].as_u64().unwrap() as usize] == "data";
            let found = match one["of"].as_str().unwrap() {
                "table" => name(&piece[4]) == &one["column"],
                "times" => piece[3] != 0 && piece[4] != 0 && piece[5] == 0,
                _ => name(&piece[5]) == &one["column"],
            };
            is_data && found
        };
        for one in encodings {
            let mut pieces = files.0.iter().flat_map(|file| file["pieces"].as_array().unwrap());
            assert!(pieces.any(|piece| is_of(piece, one)), "{}: {one}", container.display());
        }
        if container.ends_with("points.tiledb") {
            let x = encodings.iter().find(|one| one["column"] == "x").unwrap();
            assert_eq!(x["encoding"], "zstd", "a dimension has the filters of the coordinates");
        }
    }
}

#[test]
fn a_repair_in_place_keeps_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let (_, tet) = sample(folder.path());
    // A byte of a stored chunk is wrong; the others can be recovered.
    let chunks = tess(&["info", path(&tet), "--chunks", "-n", "0", "--json"]);
    let chunks: serde_json::Value = serde_json::from_slice(&chunks.stdout).unwrap();
    let offset = chunks["chunks"][1]["offset"].as_u64().unwrap() as usize;
    let mut bytes = std::fs::read(&tet).unwrap();
    bytes[offset] ^= 0xff;
    std::fs::write(&tet, &bytes).unwrap();
    assert_eq!(tess(&["verify", "--deep", path(&tet)]).status.code(), Some(1));
    let out = tess(&["repair", "--in-place", path(&tet), "--json"]);
    assert_eq!(out.status.code(), Some(1), "a chunk is lost: {}", text(&out.stderr));
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let backup = report["backup"].as_str().unwrap();
    assert!(backup.ends_with("a.tet.damaged"), "{backup}");
    assert_eq!(std::fs::read(backup).unwrap(), bytes);
    assert_eq!(tess(&["verify", "--deep", path(&tet)]).status.code(), Some(0));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert_eq!(tess(&["repair", path(&tet)]).status.code(), Some(2), "no target");
}

#[test]
fn conversions_report_what_changed_and_what_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("rows.csv");
    std::fs::write(&csv, "time,speed\n1000,3\n2000,4\n").unwrap();
    let target = folder.path().join("rows.tsfile");
    let out = tess(&["convert", path(&csv), path(&target), "--cast", "speed=int8", "--json"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let changed = report["changed_types"].as_array().unwrap();
    assert!(
        changed.iter().any(|c| c["column"] == "speed" && c["from"] == "int8" && c["to"] == "int32"),
        "{report}"
    );
    let out = tess(&["convert", path(&csv), path(&folder.path().join("r.csv")), "--schema", "speed=float32"]);
    assert!(text(&out.stderr).contains("not kept: the types"), "{}", text(&out.stderr));
    let bad = tess(&["convert", path(&csv), path(&folder.path().join("x.tet")), "--cast", "speed=utf8"]);
    assert_eq!(bad.status.code(), Some(2));
    assert_eq!(text(&bad.stderr).lines().count(), 1, "{}", text(&bad.stderr));
}

/// The commands of the guides, as a reader would run them.
#[test]
fn the_guides_run_as_they_are_written() {
    let binary = Path::new(env!("CARGO_BIN_EXE_tess"));
    let search = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    for guide in ["convert.md", "tet.md", "tatami.md"] {
        let folder = tempfile::tempdir().unwrap();
        assert!(tess(&["demo", path(&folder.path().join("demo"))]).status.success());
        let text = std::fs::read_to_string(guides.join(guide)).unwrap();
        let blocks: Vec<&str> =
            text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(blocks.len() > 3, "{guide}");
        for block in blocks {
            let out = Command::new("sh")
                .args(["-ec", block])
                .current_dir(folder.path())
                .env("PATH", &search)
                .output()
                .unwrap();
            assert!(out.status.success(), "{guide}: {block}\n{}", String::from_utf8_lossy(&out.stderr));
        }
    }
}
