//! The crash matrix: every command that writes is killed before every system call that changes something on the disk.
//! What is left has the old value or the new one, and giving the command again leaves nothing behind. At the same places
//! it gets a signal that it handles: it stops with the old value, or is done with the new one, and leaves nothing behind.
//!
//! A plain run does so at a few places of each command; `make crash` (`TESSELLE_THOROUGH=1`) at all of them.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test may fail by panicking")]

mod additions;
mod case;
#[cfg(feature = "sql")]
mod copies;
mod folder;
mod killer;
mod meddler;
#[path = "../it/npy.rs"]
mod npy;
mod slow_disk;
mod tracer;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use case::{Case, tess};
use tempfile::TempDir;

/// A folder in which these commands were given.
fn prepared(commands: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let mut rows = String::from("time,a,b,c\n");
    for i in 0..60 {
        writeln!(rows, "{i},{},{}.5,w{}", i * 7 % 50, i % 7, i % 5).unwrap();
    }
    fs::write(place.join("rows.csv"), rows).unwrap();
    fs::write(place.join("few.csv"), "time,a,b\n1,2,3.5\n2,3,4.5\n").unwrap();
    fs::write(place.join("more.csv"), "time,a,b,c\n90,1,2.5,x\n91,2,3.5,y\n").unwrap();
    fs::write(place.join("last.csv"), "time,a,b,c\n95,1,2.5,x\n96,2,3.5,y\n").unwrap();
    fs::write(place.join("pages.csv"), "id,body\nd1,a river\nd2,the sea\nd3,river and sea\n").unwrap();
    fs::write(place.join("other.csv"), "id,body\ne1,a lake\ne2,the river\n").unwrap();
    array(&place.join("cells.npy"), [6, 4], 0.0);
    array(&place.join("next.npy"), [2, 4], 100.0);
    for name in ["in", "out", "col"] {
        fs::create_dir(place.join(name)).unwrap();
    }
    for command in commands {
        let out = tess(command, place);
        assert!(out.status.success(), "tess {command}: {}", String::from_utf8_lossy(&out.stderr));
    }
    folder
}

fn array(file: &Path, shape: [u64; 2], first: f64) {
    let mut bytes = npy::header(shape);
    bytes.extend((0..shape[0] * shape[1]).flat_map(|i| (first + i as f64).to_le_bytes()));
    fs::write(file, bytes).unwrap();
}

/// Runs cases one after the other on copies of one folder.
fn check(commands: &[&str], cases: &[Case]) {
    let folder = prepared(commands);
    for case in cases {
        case.check(folder.path());
    }
}

#[test]
fn a_conversion_of_rows_gives_the_old_file_or_the_new_one() {
    let old = [
        "convert few.csv x.parquet",
        "convert few.csv x.arrow",
        "convert few.csv x.csv",
        "convert few.csv x.jsonl",
        "convert few.csv x.tsfile",
        "convert few.csv x.tatami",
        "convert few.csv x.tiledb --set dims=time",
    ];
    let settings = [
        Case::replacing(
            "convert rows.csv x.parquet --force",
            &["x.parquet cat x.parquet --as csv"],
            &["x.parquet"],
        ),
        Case::replacing("convert rows.csv x.arrow --force", &["x.arrow cat x.arrow --as csv"], &["x.arrow"]),
        Case::replacing("convert rows.csv x.csv --force", &["x.csv cat x.csv --as csv"], &["x.csv"]),
        Case::replacing("convert rows.csv x.jsonl --force", &["x.jsonl cat x.jsonl --as csv"], &["x.jsonl"]),
        Case::replacing(
            "convert rows.csv x.tsfile --force --columns time,a,b",
            &["x.tsfile cat x.tsfile --as csv", "x.tsfile verify --deep x.tsfile"],
            &["x.tsfile"],
        ),
        Case::replacing(
            "convert rows.csv x.tatami --force",
            &["x.tatami cat x.tatami --as csv", "x.tatami verify --deep x.tatami"],
            &["x.tatami"],
        ),
        Case::replacing(
            "convert rows.csv x.tiledb --force --set dims=time",
            &["x.tiledb cat x.tiledb --as csv", "x.tiledb verify --deep x.tiledb"],
            &["x.tiledb"],
        ),
        // Nothing was there before.
        Case::replacing(
            "convert rows.csv new.parquet --force",
            &["new.parquet cat new.parquet --as csv"],
            &["new.parquet"],
        ),
        Case::replacing(
            "convert rows.csv new.tiledb --force --set dims=time",
            &["new.tiledb cat new.tiledb --as csv"],
            &["new.tiledb"],
        ),
        Case::replacing(
            "cat rows.csv --as jsonl -o x.jsonl --force",
            &["x.jsonl cat x.jsonl --as csv"],
            &["x.jsonl"],
        ),
    ];
    check(&old, &settings);
}

#[test]
fn a_conversion_of_an_array_gives_the_old_one_or_the_new_one() {
    let old = [
        "convert next.npy x.tet",
        "convert next.npy x.npy",
        "convert next.npy x.tiledb",
        "convert next.npy x.zarr",
    ];
    let cases = [
        Case::replacing(
            "convert cells.npy x.tet --force",
            &["x.tet cat x.tet --as csv", "x.tet verify --deep x.tet"],
            &["x.tet"],
        ),
        Case::replacing("convert cells.npy x.npy --force", &["x.npy cat x.npy --as csv"], &["x.npy"]),
        Case::replacing(
            "convert cells.npy x.tiledb --force",
            &["x.tiledb cat x.tiledb --as csv", "x.tiledb verify --deep x.tiledb"],
            &["x.tiledb"],
        ),
        Case::replacing("convert cells.npy x.zarr --force", &["x.zarr cat x.zarr --as csv"], &["x.zarr"]),
        Case::replacing(
            "convert cells.npy new.zarr --force",
            &["new.zarr cat new.zarr --as csv"],
            &["new.zarr"],
        ),
        Case::replacing("sketch --html x.tet -o x.html --force", &["x.html text x.html"], &["x.html"]),
        Case::replacing(
            "convert --upgrade x.tiledb up.tiledb --force",
            &["up.tiledb cat up.tiledb --as csv", "up.tiledb verify --deep up.tiledb"],
            &["up.tiledb"],
        ),
    ];
    check(&old, &cases);
}

#[test]
fn a_conversion_of_many_files_gives_each_of_them_or_not() {
    let case = Case {
        one_by_one: true,
        ..Case::replacing(
            "convert in out --to arrow --force",
            &["out/a.arrow cat out/a.arrow --as csv", "out/b.arrow cat out/b.arrow --as csv"],
            &["out"],
        )
    };
    check(
        &["convert next.npy in/a.tet", "convert cells.npy in/b.tet", "convert next.npy out/a.arrow"],
        &[case],
    );
}

#[test]
fn every_table_of_a_file_is_printed_or_not() {
    let case = Case {
        one_by_one: true,
        ..Case::replacing(
            "cat run.tet --all --as csv -o tables --force",
            &["tables/a.csv text tables/a.csv", "tables/b.csv text tables/b.csv"],
            &["tables"],
        )
    };
    check(&["convert cells.npy run.tet --into a", "tet add run.tet next.npy --name b"], &[case]);
}

#[test]
fn tet_edits_are_made_or_not() {
    let check_all =
        &["run.tet cat run.tet#a --as csv", "run.tet info run.tet --json", "run.tet verify --deep run.tet"];
    check(
        &["convert cells.npy run.tet --into a", "tet add run.tet next.npy --name b"],
        &[
            Case::once(
                "tet add run.tet cells.npy --name c",
                check_all,
                &["run.tet"],
                "tet add run.tet next.npy --name z",
            ),
            Case::once(
                "tet append run.tet#a next.npy",
                check_all,
                &["run.tet"],
                "tet add run.tet next.npy --name z",
            ),
            Case::once(
                "tet rename run.tet b d",
                check_all,
                &["run.tet"],
                "tet add run.tet next.npy --name z",
            ),
            Case::once("tet remove run.tet b", check_all, &["run.tet"], "tet add run.tet next.npy --name z"),
        ],
    );
}

#[test]
fn tiledb_writes_are_made_or_not() {
    let value = &["arr cat arr --as csv", "arr verify --deep arr", "arr tiledb meta arr"];
    check(
        &[
            "convert rows.csv arr --to tiledb --set dims=time --set domain.time=0:999",
            "tiledb write arr more.csv --timestamp 2000000000000",
            "tiledb meta arr --put old=1",
            "tiledb meta arr --put other=2",
        ],
        &[
            Case::once(
                "tiledb create new --like rows.csv --set dims=time",
                &["new info new --json"],
                &["new"],
                "tiledb meta new --put n=1",
            ),
            Case::once(
                "tiledb create made --dim y:INT32:0:99:10 --attr t:FLOAT32",
                &["made info made --json"],
                &["made"],
                "tiledb meta made --put n=1",
            ),
            Case::once(
                "tiledb write arr more.csv --timestamp 2000000000009",
                value,
                &["arr"],
                "tiledb consolidate arr",
            ),
            Case::replacing("tiledb delete arr --where `time < 20`", value, &["arr"]),
            Case::once(
                "tiledb evolve arr --add w:FLOAT32 --drop c",
                value,
                &["arr"],
                "tiledb evolve arr --add v:INT32",
            ),
            Case::replacing("tiledb meta arr --put units=m --remove old", value, &["arr"]),
            Case::once("tiledb consolidate arr", value, &["arr"], "tiledb write arr more.csv"),
            Case::replacing("tiledb consolidate arr --what commits", value, &["arr"]),
            Case::replacing("tiledb consolidate arr --what fragment-metadata", value, &["arr"]),
            Case::replacing("tiledb consolidate arr --what array-metadata", value, &["arr"]),
            Case::replacing(
                "tiledb delete-fragments arr --between 2000000000000,2000000000000",
                value,
                &["arr"],
            ),
        ],
    );
}

#[test]
fn a_vacuum_changes_no_value() {
    let value = &["arr cat arr --as csv", "arr verify --deep arr", "arr tiledb meta arr"];
    check(
        &[
            "convert rows.csv arr --to tiledb --set dims=time --set domain.time=0:999",
            "tiledb write arr more.csv --timestamp 2000000000000",
            "tiledb meta arr --put old=1",
            "tiledb meta arr --put new=2",
            "tiledb consolidate arr",
            "tiledb consolidate arr --what commits",
            "tiledb consolidate arr --what fragment-metadata",
            "tiledb consolidate arr --what fragment-metadata",
            "tiledb consolidate arr --what array-metadata",
        ],
        &[
            Case::replacing("tiledb vacuum arr", value, &["arr"]),
            Case::replacing("tiledb vacuum arr --what commits", value, &["arr"]),
            Case::replacing("tiledb vacuum arr --what fragment-metadata", value, &["arr"]),
            Case::replacing("tiledb vacuum arr --what array-metadata", value, &["arr"]),
        ],
    );
}

#[test]
fn tiledb_groups_change_or_not() {
    let value = &["study info study --json"];
    check(
        &[
            "tiledb group study --create",
            "convert rows.csv study/a --to tiledb --set dims=time --set domain.time=0:999",
            "convert rows.csv study/b --to tiledb --set dims=time --set domain.time=0:999",
            "tiledb group study/sub --create",
            "tiledb group study --add-array a",
        ],
        &[
            Case::once(
                "tiledb group fresh --create",
                &["fresh info fresh --json"],
                &["fresh"],
                "tiledb meta fresh --put n=1",
            ),
            Case::once("tiledb group study --remove a", value, &["study"], "tiledb meta study --put n=1"),
            Case::once(
                "tiledb group study --add-array b --add-group sub",
                value,
                &["study"],
                "tiledb meta study --put n=1",
            ),
            Case::replacing("tiledb meta study --put n=1", &["study tiledb meta study"], &["study"]),
        ],
    );
}

#[test]
fn tatami_edits_are_made_or_not() {
    let members = &["col tatami collection list col", "col cat col --as csv", "col search col river --json"];
    // The sizes of the files, which the list shows, follow after the deletion.
    let documents =
        &["col cat col --as csv", "col search col river --json", "col verify --deep col/p.tatami"];
    let segment = &[
        "seg.tatami cat seg.tatami --as csv",
        "seg.tatami search seg.tatami river --json",
        "seg.tatami verify --deep seg.tatami",
    ];
    check(
        &[
            "index pages.csv col/p.tatami --text body --id id",
            "index other.csv col/o.tatami --text body --id id",
            "index pages.csv col/q.tatami --text body --id id",
            "index pages.csv seg.tatami --text body --id id",
            "tatami collection add col p.tatami",
            "tatami collection add col o.tatami",
        ],
        &[
            Case::once(
                "tatami collection add col q.tatami",
                members,
                &["col"],
                "tatami collection compact col",
            ),
            Case::once(
                "tatami collection remove col o.tatami",
                members,
                &["col"],
                "tatami collection compact col",
            ),
            Case::replacing(
                "tatami collection tier col 2 p.tatami",
                &["col tatami collection list col"],
                &["col"],
            ),
            Case::replacing("tatami collection compact col", members, &["col"]),
            Case::replacing(
                "tatami routing col -o routing.bin --force",
                &["routing.bin tatami routing routing.bin --query river --json"],
                &["routing.bin"],
            ),
            Case::replacing(
                "tatami take seg.tatami 0:2 -o taken.jsonl --force",
                &["taken.jsonl text taken.jsonl"],
                &["taken.jsonl"],
            ),
            Case::once(
                // The output is there before the manifest names it.
                "tatami collection merge col all.tatami --force",
                members,
                &["col"],
                "tatami collection compact col",
            ),
            Case::once("tatami delete col --id d1", documents, &["col"], "tatami collection compact col"),
            Case::replacing("tatami delete seg.tatami --id d1", segment, &["seg.tatami"]),
            Case::replacing(
                "index other.csv seg.tatami --text body --id id --force",
                segment,
                &["seg.tatami"],
            ),
        ],
    );
}

#[test]
fn tsfile_edits_are_made_or_not() {
    let value = &["x.tsfile cat x.tsfile --as csv"];
    check(
        &["convert rows.csv x.tsfile --columns time,a,b --into root.d"],
        &[
            Case::replacing(
                "tsfile delete x.tsfile --series root.d.a --to 30",
                value,
                &["x.tsfile.mods", "x.tsfile.mods2"],
            ),
            Case::replacing(
                "tsfile compact x.tsfile all.tsfile --force",
                &["all.tsfile cat all.tsfile --as csv"],
                &["all.tsfile", "all.tsfile.resource"],
            ),
            Case::replacing(
                "tsfile print-tsfile-sketch x.tsfile sketch.txt",
                &["sketch.txt text sketch.txt"],
                &["sketch.txt"],
            ),
        ],
    );
}

#[test]
fn a_repair_gives_the_old_container_or_the_new_one() {
    let folder = prepared(&[
        "convert rows.csv x.tsfile --columns time,a,b --into root.d",
        "convert rows.csv arr --to tiledb --set dims=time --set domain.time=0:999",
        "convert next.npy old.tet",
        "convert few.csv out.tsfile",
        "convert rows.csv x.tatami",
    ]);
    let file = folder.path().join("x.tsfile");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 30]).unwrap();
    for case in [
        Case::replacing(
            "repair x.tsfile out.tsfile --force",
            &["out.tsfile cat out.tsfile --as csv", "out.tsfile verify --deep out.tsfile"],
            &["out.tsfile"],
        ),
        Case::replacing(
            "repair arr new --force",
            &["new cat new --as csv", "new verify --deep new"],
            &["new"],
        ),
        Case::replacing(
            "repair x.tatami out.tatami --force",
            &["out.tatami cat out.tatami --as csv", "out.tatami verify --deep out.tatami"],
            &["out.tatami"],
        ),
        Case::once(
            "repair --in-place x.tsfile",
            &["x.tsfile cat x.tsfile --as csv"],
            &["x.tsfile", "x.tsfile.damaged", "x.tsfile.damaged.1"],
            "repair --in-place x.tsfile",
        ),
        Case::once(
            "repair --in-place arr",
            &["arr cat arr --as csv", "arr verify --deep arr"],
            &["arr", "arr.damaged", "arr.damaged.1"],
            "repair --in-place arr",
        ),
        Case::once(
            "repair --in-place old.tet",
            &["old.tet cat old.tet --as csv"],
            &["old.tet", "old.tet.damaged", "old.tet.damaged.1"],
            "repair --in-place old.tet",
        ),
    ] {
        case.check(folder.path());
    }
}
