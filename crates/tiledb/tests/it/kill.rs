//! A writing process is really killed, at any point: its array opens, has the old or the new state, and accepts further
//! writes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tesselle_core::testing::is_thorough;
use tesselle_core::{Depth, Location, OpenOptions, Report, Scan};
use tesselle_tiledb::write::{ArrayWriter, CellOrder, Consolidation, SchemaBuilder, SparseOptions, Vacuum};
use tesselle_tiledb::{Attribute, Bounds, Datatype, Dimension};

use crate::support;
use crate::support::{open, read};

const CELLS: i32 = 600;
/// Passes the folder of the array to a test that runs as a child.
const FOLDER: &str = "TESSELLE_KILL_FOLDER";
const FIRST: &str = "TESSELLE_KILL_FIRST";

fn is_sparse(folder: &Path) -> bool {
    folder.ends_with("sparse")
}

fn create(folder: &Path) {
    let axis = Dimension::new("x", Datatype::Int32, 0, CELLS - 1, 50);
    let builder =
        if is_sparse(folder) { SchemaBuilder::sparse().capacity(40) } else { SchemaBuilder::dense() };
    let schema = builder.dimension(axis).attribute(Attribute::new("a", Datatype::Int32)).build().unwrap();
    let array = ArrayWriter::create(&Location::local(folder).unwrap(), &schema, None, Some(1)).unwrap();
    write(&array, folder, 0);
}

/// Writes every cell with the number of the round.
fn write(array: &ArrayWriter, folder: &Path, round: i32) {
    let column = |values: Vec<i32>| -> ArrayRef { Arc::new(Int32Array::from(values)) };
    let values = column(vec![round; CELLS as usize]);
    let timestamp = Some(10 + u64::try_from(round).unwrap());
    if is_sparse(folder) {
        let batch = RecordBatch::try_from_iter([("x", column((0..CELLS).collect())), ("a", values)]).unwrap();
        array.write_sparse(&[batch], &SparseOptions::default().with_timestamp(timestamp)).unwrap();
    } else {
        let batch = RecordBatch::try_from_iter([("a", values)]).unwrap();
        let all = Bounds { low: 0.into(), high: (CELLS - 1).into() };
        array.write_dense(&[all], &batch, CellOrder::RowMajor, timestamp).unwrap();
    }
}

/// The child: writes round after round, consolidates and vacuums now and then, and prints each step before it starts.
#[test]
#[ignore = "runs as the child of the other test"]
fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let first: i32 = std::env::var(FIRST).unwrap().parse().unwrap();
    let folder = Path::new(&folder);
    let array = ArrayWriter::open(&Location::local(folder).unwrap(), None).unwrap();
    let announce = |what: &str, round: i32| {
        let mut out = std::io::stdout();
        writeln!(out, "\n{what} {round}").unwrap();
        out.flush().unwrap();
    };
    for round in first..first + 10_000 {
        announce("write", round);
        write(&array, folder, round);
        if round % 3 == 0 {
            announce("merge", round);
            array.consolidate(&Consolidation::default()).unwrap();
            array.vacuum(Vacuum::Fragments).unwrap();
            array.consolidate_commits().unwrap();
            array.vacuum(Vacuum::Commits).unwrap();
        }
    }
}

/// The value that all cells share.
fn state(folder: &Path) -> i32 {
    let container = open(folder, &OpenOptions::default()).unwrap();
    let batches = read(&*container, &Scan::all()).unwrap();
    let values: Vec<i32> = batches
        .iter()
        .flat_map(|batch| batch.column_by_name("a").unwrap().as_primitive::<Int32Type>().values().to_vec())
        .collect();
    assert_eq!(values.len(), CELLS as usize);
    assert!(values.iter().all(|value| value == &values[0]), "cells of different rounds: {values:?}");
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &support::driver(), &mut report).unwrap();
    assert!(report.ok(), "{}", report.to_json());
    values[0]
}

/// Lets a child write, kills it after some steps and a little more, and returns in which round that was.
fn kill_after(folder: &Path, steps: usize, spin: u32) -> i32 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "kill::writes_until_it_is_killed"])
        .env(FOLDER, folder)
        .env(FIRST, (state(folder) + 1).to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut printed = lines.filter_map(|line| {
        let (what, round) = line.split_once(' ')?;
        ["write", "merge"].contains(&what).then(|| round.parse::<i32>().ok())?
    });
    let round = printed.by_ref().nth(steps).unwrap();
    // A delay that depends on the machine: the step is in progress, or done.
    (0..spin).for_each(|_| std::thread::yield_now());
    child.kill().unwrap();
    child.wait().unwrap();
    printed.last().unwrap_or(round)
}

#[test]
fn a_killed_writer_leaves_the_old_state_or_the_new() {
    let cases = if is_thorough() { 200 } else { 12 };
    for kind in ["dense", "sparse"] {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join(kind);
        create(&folder);
        // Failures are not shrunk: another run is killed elsewhere.
        let config = Config { cases, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
        TestRunner::new(config)
            .run(&(0_usize..9, 0_u32..4000), |(steps, spin)| {
                let before = state(&folder);
                let round = kill_after(&folder, steps, spin);
                let after = state(&folder);
                prop_assert!(after >= before, "round {} was lost", before);
                // Every printed round started after the previous one was complete.
                prop_assert!(after == round || after == round - 1, "round {}, but found {}", round, after);
                Ok(())
            })
            .unwrap();
        let array = ArrayWriter::open(&Location::local(&folder).unwrap(), None).unwrap();
        let round = state(&folder) + 1;
        write(&array, &folder, round);
        assert_eq!(state(&folder), round);
        array.consolidate(&Consolidation::default()).unwrap();
        array.vacuum(Vacuum::Fragments).unwrap();
        assert_eq!(state(&folder), round);
    }
}
