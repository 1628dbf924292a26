//! Readers and writers next to a process that writes, consolidates and vacuums: none fails, and nothing is lost.

use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use tesselle_core::{Location, OpenOptions, Scan};
use tesselle_tiledb::write::{ArrayWriter, Consolidation, SchemaBuilder, SparseOptions, Vacuum};
use tesselle_tiledb::{Attribute, Datatype, Dimension};

use crate::support::{open, read};

const CELLS: i32 = 60;
/// Passes the folder of the array to a test that runs as a child.
const FOLDER: &str = "TESSELLE_CONCURRENT_FOLDER";
/// Passes the task of the child.
const NUMBER: &str = "TESSELLE_CONCURRENT_NUMBER";

fn create(folder: &Path) -> ArrayWriter {
    let schema = SchemaBuilder::sparse()
        .capacity(20)
        .dimension(Dimension::new("x", Datatype::Int32, 0, CELLS - 1, 10))
        .attribute(Attribute::new("a", Datatype::Int32))
        .build()
        .unwrap();
    ArrayWriter::create(&Location::local(folder).unwrap(), &schema, None, None).unwrap()
}

fn write(array: &ArrayWriter, value: i32) {
    let column = |values: Vec<i32>| -> ArrayRef { Arc::new(Int32Array::from(values)) };
    let batch = RecordBatch::try_from_iter([
        ("x", column((0..CELLS).collect())),
        ("a", column(vec![value; CELLS as usize])),
    ]);
    array.write_sparse(&[batch.unwrap()], &SparseOptions::default()).unwrap();
}

fn child(test: &str, folder: &Path, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([&format!("concurrent::{test}"), "--exact", "--ignored", "--quiet"])
        .env(FOLDER, folder)
        .env(NUMBER, number.to_string())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

fn number() -> i32 {
    std::env::var(NUMBER).unwrap().parse().unwrap()
}

#[test]
#[ignore = "runs as the child of another test"]
fn writes_and_cleans_up() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let array = ArrayWriter::open(&Location::local(folder).unwrap(), None).unwrap();
    for round in 1..60 {
        write(&array, round);
        if round % 4 == 0 {
            array.consolidate(&Consolidation::default()).unwrap();
            array.vacuum(Vacuum::Fragments).unwrap();
        }
        if round % 10 == 0 {
            array.consolidate_commits().unwrap();
            array.vacuum(Vacuum::Commits).unwrap();
        }
    }
}

/// The value that all cells have, which is not older than `last`.
fn one_value(batches: &[RecordBatch], last: i32) -> i32 {
    let cells: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(cells, CELLS as usize);
    let values = batches
        .iter()
        .flat_map(|batch| batch.column_by_name("a").unwrap().as_primitive::<Int32Type>().values().to_vec());
    let mut values: Vec<i32> = values.collect();
    values.dedup();
    assert_eq!(values.len(), 1, "a torn read: {values:?}");
    assert!(values[0] >= last, "an older state came back: {values:?} after {last}");
    values[0]
}

#[test]
fn fragments_vacuumed_after_opening_are_still_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("array");
    let array = create(&place);
    (0..5).for_each(|value| write(&array, value));
    let container = open(&place, &OpenOptions::default()).unwrap();
    array.consolidate(&Consolidation::default()).unwrap();
    array.vacuum(Vacuum::Fragments).unwrap();
    write(&array, 5);
    assert_eq!(one_value(&read(&*container, &Scan::all()).unwrap(), 4), 4);
}

#[test]
fn a_reader_next_to_a_writer_opens_and_sees_whole_writes() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("array");
    write(&create(&place), 0);
    let mut writer = child("writes_and_cleans_up", &place, 0);
    let (mut reads, mut last) = (0, -1);
    loop {
        let ended = writer.try_wait().unwrap();
        let container = open(&place, &OpenOptions::default()).unwrap();
        last = one_value(&read(&*container, &Scan::all()).unwrap(), last);
        reads += 1;
        if let Some(status) = ended {
            assert!(status.success());
            break;
        }
    }
    assert!(reads > 0 && last == 59, "{reads} reads, the last one of round {last}");
}

#[test]
#[ignore = "runs as the child of another test"]
fn adds_attributes() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut array = ArrayWriter::open(&Location::local(folder).unwrap(), None).unwrap();
    for round in 0..3 {
        let name = format!("b{}_{round}", number());
        array.evolve().add_attribute(Attribute::new(name, Datatype::Int32)).apply(None).unwrap();
    }
}

#[test]
fn changes_of_a_schema_by_several_processes_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("array");
    drop(create(&place));
    let children: Vec<Child> = (0..4).map(|number| child("adds_attributes", &place, number)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let array = ArrayWriter::open(&Location::local(&place).unwrap(), None).unwrap();
    let mut names: Vec<&str> = array.schema().attributes.iter().map(|a| a.name.as_str()).collect();
    names.sort_unstable();
    let mut expected: Vec<String> =
        (0..4).flat_map(|child| (0..3).map(move |round| format!("b{child}_{round}"))).collect();
    expected.push("a".to_owned());
    expected.sort_unstable();
    assert_eq!(names, expected);
}
