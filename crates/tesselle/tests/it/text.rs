//! CSV and JSON lines as tables: rules of a table, files of several blocks, messages.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, Decimal256Array, DictionaryArray,
    DurationMillisecondArray, FixedSizeBinaryArray, Int32Array, Int64Array, IntervalMonthDayNanoArray,
    IntervalYearMonthArray, ListArray, NullArray, RecordBatch, RunArray, StringArray, StructArray,
    Time32SecondArray, UnionArray,
};
use arrow_buffer::{IntervalMonthDayNano, i256};
use arrow_schema::{DataType, Field, Schema, TimeUnit, UnionFields};
use proptest::prelude::*;
use tesselle::foreign::{Csv, JsonLines};
use tesselle::{
    DatasetTable, Driver, DriverOptions, ErrorKind, Format, Location, OpenOptions, Opener, Scan,
    WriteOptions, convert,
};
use tesselle_core::testing::table_conformance;

fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default()).unwrap()
}

fn source(path: &Path) -> tesselle::Result<DatasetTable> {
    Opener::new().open_table(path.to_str().unwrap())
}

fn open_with(path: &Path, options: &OpenOptions) -> tesselle::Result<DatasetTable> {
    Opener::new().options(options.clone()).open_table(path.to_str().unwrap())
}

fn rows(source: &DatasetTable) -> tesselle::Result<Vec<RecordBatch>> {
    source.scan().on(&driver()).rows()?.read_all()
}

fn file(name: &str, text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// The columns as a format writes them.
fn written(format: &dyn Format, columns: Vec<(&str, ArrayRef)>) -> tesselle::Result<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    write(format, columns, &path)?;
    Ok(std::fs::read_to_string(path).unwrap())
}

fn write(format: &dyn Format, columns: Vec<(&str, ArrayRef)>, path: &Path) -> tesselle::Result<()> {
    let fields = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batch =
        RecordBatch::try_new(Arc::clone(&schema), columns.into_iter().map(|(_, column)| column).collect())
            .unwrap();
    let mut sink = format.create(&Location::local(path)?, schema, &WriteOptions::default(), &driver())?;
    sink.write(&batch)?;
    sink.finish()?;
    Ok(())
}

/// Enough lines for three blocks; some of the strings contain line feeds.
fn large_csv() -> (String, u64) {
    let mut text = "id,note\n".to_owned();
    let mut id = 0_u64;
    while text.len() < 10 << 20 {
        let end = if id.is_multiple_of(3) { "\n" } else { " " };
        writeln!(text, "{id},\"said \"\"{id}\"\",{end}and {}\"", "no more ".repeat(8)).unwrap();
        id += 1;
    }
    (text, id)
}

#[test]
fn both_keep_the_rules_of_a_table() {
    let csv =
        "a,b,c,d\n1,x,2024-05-01 10:00:00,true\n-3,\"y, \"\"z\"\"\n\",2024-05-01 10:00:00.5,\n,,,false\n";
    let json = "{\"a\": 1, \"b\": \"x\"}\n\n{\"a\": 2.5, \"c\": false}\n{\"b\": null, \"a\": -1}\n";
    for (name, text) in [("t.csv", csv), ("t.jsonl", json)] {
        let (_folder, path) = file(name, text);
        let source = source(&path).unwrap();
        assert_eq!(source.row_count(), Some(3));
        table_conformance(&**source.table(), &driver());
    }
}

#[test]
fn blocks_together_contain_every_record_in_order() {
    let (text, records) = large_csv();
    let (_folder, path) = file("t.csv", &text);
    let source = source(&path).unwrap();
    assert_eq!(source.row_count(), Some(records));
    let plan = source.table().plan(&Scan::all()).unwrap();
    assert_eq!(plan.pieces, 3);
    let mut id = 0_u64;
    for batch in rows(&source).unwrap() {
        let (ids, notes) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string::<i32>());
        for row in 0..batch.num_rows() {
            assert_eq!(ids.value(row), id as i64);
            assert!(notes.value(row).starts_with(&format!("said \"{id}\",")));
            id += 1;
        }
    }
    assert_eq!(id, records);
}

#[test]
fn a_late_value_decides_the_type() {
    let (text, _) = large_csv();
    let (_folder, path) = file("t.csv", &format!("{text}1.5,end\n"));
    assert_eq!(*source(&path).unwrap().schema().field(0).data_type(), DataType::Float64);

    let mut lines = "{\"n\": 12345678, \"s\": \"some text to fill the line\"}\n".repeat(100_000);
    lines.push_str("{\"n\": 0.5, \"late\": [1]}\n");
    let (_folder, path) = file("t.jsonl", &lines);
    let source = source(&path).unwrap();
    let schema = source.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["n", "s", "late"]);
    assert_eq!(*schema.field(0).data_type(), DataType::Float64);
    assert_eq!(source.row_count(), Some(100_001));
    assert_eq!(rows(&source).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 100_001);
}

#[test]
fn times_take_the_finest_unit_that_is_met() {
    let (_folder, path) = file("t.csv", "t\n2024-05-01\n2024-05-01T10:00:00.25\n");
    let expected = DataType::Timestamp(TimeUnit::Millisecond, None);
    assert_eq!(*source(&path).unwrap().schema().field(0).data_type(), expected);
}

#[test]
fn a_broken_record_is_named_by_its_line() {
    let text = format!("a,b\n{}x,y,z\n", "1,some text that fills the line of this record\n".repeat(200_000));
    let (_folder, path) = file("t.csv", &text);
    let error = source(&path).err().unwrap().to_string();
    assert!(error.contains("line 200002 has 3 fields"), "{error}");

    // A type that is given and does not fit.
    let text = format!("a\n{}x\n", "1\n".repeat(3_000_000));
    let (_folder, path) = file("t.csv", &text);
    let options = OpenOptions::default().with_types(vec![("a".to_owned(), DataType::Int64)]);
    let source = open_with(&path, &options).unwrap();
    let error = rows(&source).err().unwrap().to_string();
    assert!(error.contains("'x' as type 'Int64'") && error.contains("records from byte"), "{error}");
}

#[test]
fn files_without_records_are_empty_tables() {
    for (name, text, columns) in [
        ("t.csv", "", 0),
        ("t.csv", "a,b", 2),
        ("t.csv", "\n\n", 0),
        ("t.jsonl", "", 0),
        ("t.jsonl", "\n\n", 0),
    ] {
        let (_folder, path) = file(name, text);
        let source = source(&path).unwrap();
        assert_eq!((source.schema().fields().len(), source.row_count()), (columns, Some(0)), "{text:?}");
        assert_eq!(rows(&source).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
    }
}

#[test]
fn numbers_with_zeros_in_front_keep_them() {
    let (_folder, path) = file("t.csv", "zip,n\n01067,0\n10115,12\n");
    let rows = rows(&source(&path).unwrap()).unwrap();
    assert_eq!(rows[0].column(0).as_string::<i32>().value(0), "01067");
    assert_eq!(rows[0].column(1).as_primitive::<Int64Type>().value(0), 0);
    let typed = OpenOptions::default().with_types(vec![("zip".to_owned(), DataType::Int64)]);
    let rows = open_with(&path, &typed).and_then(|table| self::rows(&table)).unwrap();
    assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().value(0), 1067);
}

#[test]
fn files_that_end_early_or_hold_something_else_are_errors_with_a_way_out() {
    for (name, text, what) in [
        ("t.csv", "a,b\n1,x\n2,\"y\n3,z\n", "a quote after byte 8 is not closed"),
        ("t.csv", "a,b\n1,\"x\"\"", "a quote after byte 4 is not closed"),
        ("t.jsonl", "[\n{\"a\": 1}\n]\n", "with jq -c"),
        ("t.json", " [{\"a\": 1}]", "this is a JSON array, which is not read here"),
    ] {
        let (_folder, path) = file(name, text);
        let error = source(&path).err().unwrap().to_string();
        assert!(error.contains(what), "{text:?}: {error}");
    }
    let (_folder, path) = file("t.csv", "");
    for bytes in [&b"a,b\n1,Gr\xf6\xdfe\n"[..], b"\xff\xfea\0\n\0"] {
        std::fs::write(&path, bytes).unwrap();
        let error = source(&path).and_then(|table| rows(&table)).unwrap_err().to_string();
        assert!(error.contains("iconv"), "{error}");
    }
}

#[test]
fn floats_that_json_names_come_back_as_numbers() {
    let (_folder, path) =
        file("t.jsonl", "{\"x\": 1}\n{\"x\": \"NaN\"}\n{\"x\": \"-Infinity\"}\n{\"x\": \"Infinity\"}\n");
    let batches = rows(&source(&path).unwrap()).unwrap();
    let values = batches[0].column(0).as_primitive::<Float64Type>();
    assert_eq!(values.value(0), 1.0);
    assert!(values.value(1).is_nan());
    assert_eq!((values.value(2), values.value(3)), (f64::NEG_INFINITY, f64::INFINITY));

    let (_folder, path) = file("t.jsonl", "{\"x\": 1}\n{\"x\": \"one\"}\n{\"x\": true}\n");
    let batches = rows(&source(&path).unwrap()).unwrap();
    let strings: Vec<&str> = batches[0].column(0).as_string::<i32>().iter().map(Option::unwrap).collect();
    assert_eq!(strings, ["1", "one", "true"]);
}

#[test]
fn every_type_has_a_form_in_json() {
    let one = |column: ArrayRef| written(&JsonLines, vec![("x", column)]).unwrap();
    let decimals =
        Decimal128Array::from(vec![Some(125), None, Some(-5)]).with_precision_and_scale(10, 2).unwrap();
    assert_eq!(one(Arc::new(decimals)), "{\"x\": 1.25}\n{\"x\": null}\n{\"x\": -0.05}\n");
    let digits = "12345678901234567890123456789012345678901234567890";
    let large = Decimal256Array::from(vec![i256::from_string(digits).unwrap()]);
    let large = large.with_precision_and_scale(76, 0).unwrap();
    assert_eq!(one(Arc::new(large)), format!("{{\"x\": {digits}}}\n"));

    let structs = StructArray::try_from(vec![
        ("a", Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef),
        ("b\"", Arc::new(StringArray::from(vec!["x", "y"])) as ArrayRef),
    ])
    .unwrap();
    let structs = Arc::new(structs) as ArrayRef;
    assert_eq!(
        one(Arc::clone(&structs)),
        "{\"x\": {\"a\": 1, \"b\\\"\": \"x\"}}\n{\"x\": {\"a\": null, \"b\\\"\": \"y\"}}\n"
    );
    assert_eq!(one(structs.slice(1, 1)), "{\"x\": {\"a\": null, \"b\\\"\": \"y\"}}\n");

    let mut strings = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    strings.keys().append_value("k");
    strings.values().append_value(1);
    strings.keys().append_value("l");
    strings.values().append_null();
    strings.append(true).unwrap();
    strings.append(false).unwrap();
    strings.append(true).unwrap();
    assert_eq!(
        one(Arc::new(strings.finish())),
        "{\"x\": {\"k\": 1, \"l\": null}}\n{\"x\": null}\n{\"x\": {}}\n"
    );
    let mut numbers = MapBuilder::new(None, Int64Builder::new(), Int64Builder::new());
    numbers.keys().append_value(7);
    numbers.values().append_value(8);
    numbers.append(true).unwrap();
    assert_eq!(one(Arc::new(numbers.finish())), "{\"x\": [{\"key\": 7, \"value\": 8}]}\n");

    let months = IntervalYearMonthArray::from(vec![14]);
    assert_eq!(one(Arc::new(months)), "{\"x\": \"1 years 2 mons\"}\n");
    let spans = IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, 3_000_000_000)]);
    assert_eq!(one(Arc::new(spans)), "{\"x\": \"1 mons 2 days 3.000000000 secs\"}\n");
    assert_eq!(one(Arc::new(DurationMillisecondArray::from(vec![1500]))), "{\"x\": \"PT1.5S\"}\n");
    assert_eq!(one(Arc::new(Time32SecondArray::from(vec![3661]))), "{\"x\": \"01:01:01\"}\n");
    let fixed = FixedSizeBinaryArray::try_from_iter([[0_u8, 255]].into_iter()).unwrap();
    assert_eq!(one(Arc::new(fixed)), "{\"x\": {\"hex\":\"00ff\"}}\n");
    assert_eq!(one(Arc::new(NullArray::new(1))), "{\"x\": null}\n");

    let runs = RunArray::<Int32Type>::try_new(
        &Int32Array::from(vec![2, 3]),
        &StringArray::from(vec![Some("a"), None]),
    );
    let runs = Arc::new(runs.unwrap()) as ArrayRef;
    assert_eq!(one(Arc::clone(&runs)), "{\"x\": \"a\"}\n{\"x\": \"a\"}\n{\"x\": null}\n");
    assert_eq!(one(runs.slice(1, 2)), "{\"x\": \"a\"}\n{\"x\": null}\n");
    let words: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
    assert_eq!(one(Arc::new(words)), "{\"x\": \"a\"}\n{\"x\": null}\n{\"x\": \"a\"}\n");

    let kinds = UnionFields::from_fields([
        Field::new("n", DataType::Int32, true),
        Field::new("t", DataType::Utf8, true),
    ]);
    let children: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(vec![1, 2])), Arc::new(StringArray::from(vec![Some("a"), None]))];
    let (ids, offsets) = (vec![1_i8, 0, 1, 0], vec![0, 1, 1, 0]);
    let union = UnionArray::try_new(kinds, ids.into(), Some(offsets.into()), children).unwrap();
    assert_eq!(one(Arc::new(union)), "{\"x\": \"a\"}\n{\"x\": 2}\n{\"x\": null}\n{\"x\": 1}\n");

    let pairs: Vec<ArrayRef> = vec![
        Arc::new(Decimal128Array::from(vec![15, 25]).with_precision_and_scale(3, 1).unwrap()),
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)]), None])),
    ];
    let nested =
        StructArray::try_from(vec![("d", Arc::clone(&pairs[0])), ("l", Arc::clone(&pairs[1]))]).unwrap();
    assert_eq!(
        one(Arc::new(nested)),
        "{\"x\": {\"d\": 1.5, \"l\": [1]}}\n{\"x\": {\"d\": 2.5, \"l\": null}}\n"
    );
}

#[test]
fn bytes_come_back_from_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let bytes: Vec<Option<&[u8]>> = vec![
        Some(b"text"),
        Some(b"\xff\x00"),
        None,
        Some(b""),
        Some(b"NaN"),
        Some(b"\x80"),
        Some(b"{\"hex\": 1}"),
    ];
    let column = |bytes: &[Option<&[u8]>]| Arc::new(BinaryArray::from(bytes.to_vec())) as ArrayRef;
    let numbers = Arc::new(Int64Array::from_iter_values(0..7)) as ArrayRef;
    let lists = {
        let (offsets, item) = (vec![0, 2, 3, 3, 4, 5, 6, 7], Field::new_list_field(DataType::Binary, true));
        let offsets = arrow_buffer::OffsetBuffer::new(offsets.into());
        Arc::new(ListArray::new(Arc::new(item), offsets, column(&bytes), None)) as ArrayRef
    };
    let all = vec![("n", numbers), ("b", column(&bytes)), ("l", lists)];
    write(&JsonLines, all.clone(), Path::new(&path("b.jsonl"))).unwrap();
    let same = |source: &DatasetTable| {
        let batches = rows(source).unwrap();
        assert_eq!(batches.len(), 1);
        for (name, want) in &all {
            assert_eq!(batches[0].column_by_name(name).unwrap(), want, "{name}");
        }
    };
    same(&source(Path::new(&path("b.jsonl"))).unwrap());
    // Through another format, and with only some of the columns.
    convert(path("b.jsonl"), path("b.parquet")).on(&driver()).run().unwrap();
    same(&source(Path::new(&path("b.parquet"))).unwrap());
    let read = source(Path::new(&path("b.jsonl"))).unwrap();
    let some = read.scan().columns(["b"]).on(&driver()).rows().unwrap().next().unwrap().unwrap();
    assert_eq!(some.column(0), &column(&bytes));
    table_conformance(&**read.table(), &driver());

    // Strings are bytes if the caller requests it.
    let (_folder, text) =
        file("t.jsonl", "{\"b\": \"abc\", \"n\": 1.50}\n{\"b\": {\"hex\": \"61FF\"}}\n{}\n");
    let typed = |name: &str, kind: DataType| OpenOptions::default().with_types(vec![(name.to_owned(), kind)]);
    let read = open_with(&text, &typed("b", DataType::Binary)).unwrap();
    assert_eq!(rows(&read).unwrap()[0].column(0), &column(&[Some(b"abc"), Some(b"a\xff"), None]));
    let (_folder, text) = file("t.jsonl", "{\"b\": 5}\n");
    let read = open_with(&text, &typed("b", DataType::Binary)).unwrap();
    assert_eq!(rows(&read).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn the_empty_string_is_not_null_in_csv() {
    let strings = Arc::new(StringArray::from(vec![Some(""), None, Some("a"), Some("\"\""), Some(",\"\",")]))
        as ArrayRef;
    let numbers = Arc::new(Int64Array::from(vec![Some(1), None, None, Some(4), Some(5)])) as ArrayRef;
    let columns = vec![("t", Arc::clone(&strings)), ("n", Arc::clone(&numbers))];
    let text = written(&Csv, columns).unwrap();
    assert_eq!(text, "t,n\n\"\",1\n,\na,\n\"\"\"\"\"\",4\n\",\"\"\"\",\",5\n");
    let (_folder, path) = file("t.csv", &text);
    let batches = rows(&source(&path).unwrap()).unwrap();
    assert_eq!((batches[0].column(0), batches[0].column(1)), (&strings, &numbers));
    table_conformance(&**source(&path).unwrap().table(), &driver());

    // In a numeric column quotes alone are null; a column of nothing else is a string column.
    let (_folder, path) = file("t.csv", "n,e,z\n1,\"\",\n\"\",,\n");
    let read = source(&path).unwrap();
    let kinds: Vec<DataType> = read.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(kinds, [DataType::Int64, DataType::Utf8, DataType::Null]);
    let batch = rows(&read).unwrap().remove(0);
    assert!(batch.column(0).is_null(1));
    assert_eq!(batch.column(1).as_string::<i32>(), &StringArray::from(vec![Some(""), None]));

    // A record of one null must not be an empty line.
    let text = written(&Csv, vec![("t", strings)]).unwrap();
    assert!(text.starts_with("t\n\"\"\n\"\"\na\n"), "{text}");
    let (_folder, path) = file("t.csv", &text);
    let batch = rows(&source(&path).unwrap()).unwrap().remove(0);
    assert_eq!((batch.num_rows(), batch.column(0).null_count()), (5, 2));
}

#[test]
fn types_that_csv_cannot_store_are_named() {
    let structs =
        StructArray::try_from(vec![("a", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]).unwrap();
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)])]);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    maps.append(true).unwrap();
    let all: [(&str, ArrayRef); 3] =
        [("structs", Arc::new(structs)), ("lists", Arc::new(lists)), ("maps", Arc::new(maps.finish()))];
    let [(_, x), (_, y), _] = all.clone();
    let error =
        written(&Csv, vec![("x", x), ("n", Arc::new(Int64Array::from(vec![1]))), ("y", y)]).unwrap_err();
    let both = "column 'x' contains structs, column 'y' contains lists, which CSV cannot store";
    assert!(error.to_string().contains(both), "{error}");
    for (what, column) in all {
        let error = written(&Csv, vec![("x", column)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(
            error.to_string().contains(&format!("column 'x' contains {what}, which CSV cannot store")),
            "{error}"
        );
    }
}

proptest! {
    /// Strings and nulls round-trip through CSV, for any division of the rows into batches.
    #[test]
    fn strings_come_back_from_csv(
        cells in prop::collection::vec((prop::option::of("[a\",\n\r ]{0,3}"), prop::option::of("[a\",\n]{0,2}")), 1..20),
        batch in 1_usize..6,
    ) {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("a", Arc::new(cells.iter().map(|(a, _)| a.as_deref()).collect::<StringArray>())),
            ("b", Arc::new(cells.iter().map(|(_, b)| b.as_deref()).collect::<StringArray>())),
        ];
        let (_folder, path) = file("t.csv", &written(&Csv, columns.clone()).unwrap());
        let types = vec![("a".to_owned(), DataType::Utf8), ("b".to_owned(), DataType::Utf8)];
        let options = OpenOptions::default().with_types(types);
        let read = open_with(&path, &options).unwrap();
        let scan = Scan::all().with_batch_rows(batch);
        let batches: Vec<RecordBatch> =
            read.scan().with(scan).on(&driver()).rows().unwrap().read_all().unwrap();
        let whole = arrow_select::concat::concat_batches(&read.schema(), &batches).unwrap();
        for (at, (_, want)) in columns.iter().enumerate() {
            prop_assert_eq!(whole.column(at), want);
        }
    }
}

#[test]
fn out_of_range_times_are_numbers() {
    let times = arrow_array::TimestampMillisecondArray::from(vec![Some(0), None, Some(i64::MAX)]);
    let ids = Int32Array::from(vec![1, 2, 3]);
    let text = written(&Csv, vec![("t", Arc::new(times)), ("id", Arc::new(ids))]).unwrap();
    assert_eq!(text, format!("t,id\n1970-01-01T00:00:00,1\n,2\n{},3\n", i64::MAX));
}
