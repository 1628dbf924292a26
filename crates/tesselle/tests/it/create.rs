//! The write builders: rows and arrays, in every format that supports them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int16Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::DataType;
use tesselle::array::{MemoryArray, read_region};
use tesselle::driver::CancelToken;
use tesselle::{Attribute, ErrorKind, Region, Settings};

fn rows() -> RecordBatch {
    let time: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
    let value: ArrayRef = Arc::new(Float64Array::from_iter_values((0..100).map(f64::from)));
    RecordBatch::try_from_iter([("time", time), ("value", value)]).unwrap()
}

fn read(uri: &str, column: &str) -> ArrayRef {
    let table = tesselle::open(uri).unwrap().default_table().unwrap();
    let batches = table.scan().columns([column]).rows().unwrap().read_all().unwrap();
    arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap().column(0).clone()
}

#[test]
fn rows_are_written_in_every_supporting_format() {
    let folder = tempfile::tempdir().unwrap();
    let batch = rows();
    let mut formats = 0;
    for format in tesselle::formats().iter().filter(|format| format.capabilities().rows_in) {
        // An npy file is one column, and the vectors of Zarr are one array each.
        if matches!(format.name(), "npy" | "zarr") {
            continue;
        }
        let uri = folder.path().join(format!("rows.{}", format.extensions()[0]));
        let uri = uri.to_str().unwrap();
        let mut create = tesselle::create(uri, batch.schema()).format(format.name());
        if format.name() == "tiledb" {
            create = create.set("dims", "time");
        }
        let mut writer = create.start().unwrap();
        writer.write(&batch.slice(0, 60)).unwrap();
        writer.write(&batch.slice(60, 40)).unwrap();
        let report = writer.finish().unwrap();
        assert_eq!((report.format, report.summary.rows), (format.name(), 100), "{uri}");
        let values = read(uri, "value");
        assert_eq!(values.as_primitive::<arrow_array::types::Float64Type>().values().len(), 100, "{uri}");
        // A time that a format cannot go back to is refused, never ignored.
        let earlier = tesselle::Opener::new().at(1).open_table(uri);
        if format.capabilities().keeps_history {
            assert_eq!(earlier.unwrap().scan().rows().unwrap().read_all().unwrap().len(), 0, "{uri}");
        } else {
            assert_eq!(earlier.err().unwrap().kind(), ErrorKind::Invalid, "{uri}");
        }
        formats += 1;
    }
    assert!(formats >= 7, "{formats}");
}

#[test]
fn columns_are_cast_while_rows_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("rows.parquet");
    let uri = uri.to_str().unwrap();
    let create = || tesselle::create(uri, rows().schema()).overwrite(true);
    let mut writer = create().cast("value", DataType::Int16).start().unwrap();
    writer.write(&rows()).unwrap();
    writer.finish().unwrap();
    assert_eq!(read(uri, "value").as_primitive::<Int16Type>().values()[..3], [0, 1, 2]);
    let error = create().cast("valeu", DataType::Int8).start().err().unwrap();
    assert_eq!(error.hint_text().as_deref(), Some("did you mean 'value'?"));
    // A value that does not fit is an error, and the old file stays.
    let large: ArrayRef = Arc::new(Float64Array::from(vec![1e9]));
    let time: ArrayRef = Arc::new(Int64Array::from(vec![0]));
    let mut writer = create().cast("value", DataType::Int16).start().unwrap();
    let row = RecordBatch::try_from_iter([("time", time), ("value", large)]).unwrap();
    assert_eq!(writer.write(&row).unwrap_err().kind(), ErrorKind::Invalid);
    drop(writer);
    assert_eq!(read(uri, "value").len(), 100);
}

#[test]
fn arrays_are_written_in_every_supporting_format() {
    let folder = tempfile::tempdir().unwrap();
    let cells: Vec<f32> = (0..12).map(|n| n as f32 / 2.0).collect();
    let field = MemoryArray::from_slice(&cells, [4, 3]).unwrap().with_axis_names(["y", "x"]).unwrap();
    let mut formats = 0;
    for format in tesselle::formats().iter().filter(|format| format.capabilities().arrays_in) {
        let uri = folder.path().join(format!("field.{}", format.extensions()[0]));
        let uri = uri.to_str().unwrap();
        let report = tesselle::create_array(uri, field.clone()).format(format.name()).write().unwrap();
        assert_eq!((report.format, report.summary.rows), (format.name(), 12), "{uri}");
        let table = tesselle::open(uri).unwrap().default_table().unwrap();
        let array = table.array().unwrap();
        let name = array_column(&table);
        assert_eq!(array.shape(), [4, 3], "{uri}");
        assert_eq!(read(uri, &name).as_primitive::<Float32Type>().values().as_ref(), cells, "{uri}");
        // The array of a file is a source like any other.
        let copy = format!("{uri}.copy.npy");
        tesselle::create_array(&copy, array).write().unwrap();
        assert_eq!(read(&copy, "value").as_primitive::<Float32Type>().values().as_ref(), cells, "{uri}");
        formats += 1;
    }
    assert!(formats >= 4, "{formats}");
}

#[test]
fn several_arrays_of_other_shapes_are_one_container() {
    let folder = tempfile::tempdir().unwrap();
    let cells: Vec<f32> = (0..12).map(|n| n as f32 / 2.0).collect();
    let field = MemoryArray::from_slice(&cells, [4, 3]).unwrap().with_axis_names(["y", "x"]).unwrap();
    let x = MemoryArray::from_slice(&[10_i64, 20, 30], [3]).unwrap().with_axis_names(["x"]).unwrap();
    let mut formats = 0;
    for format in tesselle::formats() {
        let uri = folder.path().join(format!("run.{}", format.extensions()[0]));
        let uri = uri.to_str().unwrap();
        let create = |scale: i64| {
            tesselle::create_arrays(uri)
                .format(format.name())
                .attribute(Attribute::new("title", "a run"))
                .array("field", field.clone(), [Attribute::new("scale", scale)], Settings::default())
                .array("x", x.clone(), [], Settings::default())
        };
        if !format.capabilities().several_arrays {
            assert!(create(1).write().is_err(), "{uri}");
            continue;
        }
        let report = create(1).write().unwrap();
        assert_eq!((report.format, report.summary.rows), (format.name(), 15), "{uri}");
        assert_eq!(create(2).write().unwrap_err().kind(), ErrorKind::Invalid, "{uri} exists");
        create(2).overwrite(true).write().unwrap();
        let dataset = tesselle::open(uri).unwrap();
        assert_eq!(dataset.table_names(), ["field", "x"], "{uri}");
        let table = dataset.table("field").unwrap();
        assert_eq!(table.array().unwrap().axis_names(), ["y", "x"], "{uri}");
        let attributes = table.facts().unwrap().attributes;
        let scale = attributes.iter().find(|attribute| attribute.name == "scale").unwrap();
        assert_eq!(scale.value_string(), "2", "{uri}");
        let name = array_column(&table);
        let read = |table: &str, column: &str| read(&format!("{uri}#{table}"), column);
        assert_eq!(read("field", &name).as_primitive::<Float32Type>().values().as_ref(), cells, "{uri}");
        let name = array_column(&dataset.table("x").unwrap());
        assert_eq!(read("x", &name).as_primitive::<Int64Type>().values().as_ref(), [10, 20, 30], "{uri}");
        assert!(tesselle::verify(uri).run().unwrap().ok(), "{uri}");
        let twice = create(3).overwrite(true).array("x", x.clone(), [], Settings::default());
        assert!(twice.write().is_err(), "{uri}: a name occurs twice");
        assert_eq!(tesselle::open(uri).unwrap().table_names().len(), 2, "{uri}: the old state");
        formats += 1;
    }
    assert_eq!(formats, 3);
}

/// A whole container of arrays, such as that of a data set with its coordinates, is converted as one.
#[test]
fn a_container_of_arrays_becomes_one_of_another_format() {
    let folder = tempfile::tempdir().unwrap();
    let cells: Vec<f32> = (0..12).map(|n| n as f32 / 2.0).collect();
    let field = MemoryArray::from_slice(&cells, [4, 3]).unwrap().with_axis_names(["y", "x"]).unwrap();
    let x = MemoryArray::from_slice(&[10_i64, 20, 30], [3]).unwrap().with_axis_names(["x"]).unwrap();
    let several = || tesselle::formats().iter().filter(|format| format.capabilities().several_arrays);
    let uri = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for from in several() {
        let source = uri(&format!("run.{}", from.extensions()[0]));
        let created = tesselle::create_arrays(&source)
            .format(from.name())
            .attribute(Attribute::new("title", "a run"))
            .array("field", field.clone(), [Attribute::new("units", "K")], Settings::default())
            .array("x", x.clone(), [], Settings::default())
            .write()
            .unwrap();
        for to in several() {
            let target = uri(&format!("{}.copy.{}", from.name(), to.extensions()[0]));
            let report = tesselle::convert(&source, &target).run().unwrap();
            assert_eq!((report.format, report.summary.rows), (to.name(), 15), "{target}");
            let dataset = tesselle::open(&target).unwrap();
            assert_eq!(dataset.table_names(), ["field", "x"], "{target}");
            let table = dataset.table("field").unwrap();
            assert_eq!(table.array().unwrap().axis_names(), ["y", "x"], "{target}");
            let attributes = table.facts().unwrap().attributes;
            assert!(attributes.iter().any(|attribute| attribute.value_string() == "K"), "{target}");
            let name = array_column(&table);
            let read = |table: &str, column: &str| read(&format!("{target}#{table}"), column);
            assert_eq!(read("field", &name).as_primitive::<Float32Type>().values().as_ref(), cells);
            let name = array_column(&dataset.table("x").unwrap());
            assert_eq!(read("x", &name).as_primitive::<Int64Type>().values().as_ref(), [10, 20, 30]);
            assert!(tesselle::verify(&target).run().unwrap().ok(), "{target}");
            // What the container itself is about stays its own, or is listed.
            let has_title = |lines: &[String]| lines.iter().any(|line| line.contains("title"));
            if has_title(&created.kept) {
                let all = [report.kept, report.lost].concat();
                assert!(has_title(&all), "{target}: {all:?}");
            } else {
                assert!(has_title(&created.lost), "{source}: {created:?}");
            }
        }
        // A part of it is rows of one table.
        let one = uri("one.parquet");
        let error = tesselle::convert(&source, &one).run().unwrap_err();
        assert!(error.to_string().contains("2 tables"), "{error}");
    }
}

/// Formats that count positions from 0 and have no encryption.
#[test]
fn what_a_container_of_arrays_loses_in_another_format_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let uri = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (source, key) = (uri("a.tiledb"), format!("hex:{}", "07".repeat(32)));
    let years = MemoryArray::from_slice(&[1_i64, 2, 3], [3]).unwrap().with_origin([1990]).unwrap();
    let steps = MemoryArray::from_slice(&[4_i64, 5], [2]).unwrap();
    tesselle::create_arrays(&source)
        .format("tiledb")
        .set("key", key.as_str())
        .array("years", years, [], Settings::default())
        .array("steps", steps, [], Settings::default())
        .write()
        .unwrap();
    for to in ["tet", "zarr"] {
        let opener = tesselle::Opener::new().key(tesselle::Secret::parse(key.as_bytes()).unwrap());
        let target = uri(&format!("copy.{to}"));
        let report = tesselle::convert(&source, &target).opener(opener).format(to).run().unwrap();
        let about = |text: &str| report.lost.iter().filter(|line| line.starts_with(text)).count();
        assert_eq!(about("of 'years', the start of the axes"), 1, "{to}: {:?}", report.lost);
        assert_eq!(about("of 'steps'"), 0, "{to}: {:?}", report.lost);
        assert_eq!(about("the encryption"), 1, "{to}: {:?}", report.lost);
    }
}

#[test]
fn mapped_files_have_the_same_cells() {
    let folder = tempfile::tempdir().unwrap();
    let cells: Vec<f32> = (0..512 * 300).map(|n| n as f32).collect();
    let field = MemoryArray::from_slice(&cells, [512, 300]).unwrap();
    for format in tesselle::formats().iter().filter(|format| format.capabilities().arrays_in) {
        let uri = folder.path().join(format!("field.{}", format.extensions()[0]));
        let uri = uri.to_str().unwrap();
        tesselle::create_array(uri, field.clone()).format(format.name()).write().unwrap();
        let mapped = tesselle::Opener::new().mapped(true);
        let array = mapped.open(uri).unwrap().default_table().unwrap().array().unwrap();
        let mut bytes = vec![0; cells.len() * 4];
        let whole = Region::whole(array.shape());
        read_region(&*array, &whole, &mut bytes, &tesselle::default_driver().unwrap()).unwrap();
        let wanted: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
        assert!(bytes == wanted, "{uri}");
        assert_eq!(mapped.open_all(uri).unwrap().stats().rows.exact(), Some(&(512 * 300)), "{uri}");
    }
}

#[test]
fn arrays_can_be_cut_into_other_tiles() {
    let folder = tempfile::tempdir().unwrap();
    let cells: Vec<f32> = (0..23 * 8).map(|n| n as f32).collect();
    let field = MemoryArray::from_slice(&cells, [23, 8]).unwrap();
    let tiled = |format: &str, extent: u32| -> Option<(&str, String)> {
        match format {
            "npy" => None,
            "tiledb" => Some(("extent", extent.to_string())),
            _ => Some(("chunk", format!("{extent},{extent}"))),
        }
    };
    let formats = || tesselle::formats().iter().filter(|format| format.capabilities().arrays_in);
    for (source, target) in formats().flat_map(|source| formats().map(move |target| (source, target))) {
        for (from, to) in [(10, 7), (7, 10), (3, 8), (8, 3)] {
            let name = format!("{}{from}.{}{to}", source.name(), target.name());
            let write = |file: String, format: &str, extent, array: Arc<dyn tesselle::ArrayView>| {
                let uri = folder.path().join(file).to_str().unwrap().to_owned();
                let create = tesselle::create_array(&uri, array).format(format).overwrite(true);
                match tiled(format, extent) {
                    Some((key, value)) => create.set(key, value).write().unwrap(),
                    None => create.write().unwrap(),
                };
                uri
            };
            let first = write(format!("{name}.a"), source.name(), from, field.clone().into());
            let stored = tesselle::open(&first).unwrap().default_table().unwrap().array().unwrap();
            let second = write(format!("{name}.b"), target.name(), to, stored);
            let table = tesselle::open(&second).unwrap().default_table().unwrap();
            let values = read(&second, &array_column(&table));
            assert_eq!(values.as_primitive::<Float32Type>().values().as_ref(), cells, "{name}");
        }
    }
}

fn array_column(table: &tesselle::DatasetTable) -> String {
    table.table().array_columns().remove(0)
}

#[test]
fn a_target_is_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("a.tet");
    let uri = uri.to_str().unwrap();
    let field = |value: i32| MemoryArray::from_slice(&[value; 4], [4]).unwrap();
    tesselle::create_array(uri, field(1)).write().unwrap();
    let error = tesselle::create_array(uri, field(2)).write().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(tesselle::create(uri, rows().schema()).start().is_err());
    tesselle::create_array(uri, field(3)).overwrite(true).write().unwrap();
    assert_eq!(read(uri, "value").as_primitive::<arrow_array::types::Int32Type>().value(0), 3);
}

#[test]
fn attributes_are_kept_and_a_dropped_writer_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("a.parquet");
    let uri = uri.to_str().unwrap();
    let batch = rows();
    let mut writer = tesselle::create(uri, batch.schema()).start().unwrap();
    writer.write(&batch).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let create = tesselle::create(uri, batch.schema()).attribute(Attribute::new("site", "north"));
    let mut writer = create.start().unwrap();
    assert_eq!(writer.fitted().kept, ["site"]);
    writer.write(&batch).unwrap();
    assert_eq!(writer.finish().unwrap().kept, ["site"]);
}

#[test]
fn a_canceled_write_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("a.csv");
    let uri = uri.to_str().unwrap();
    let token = CancelToken::new();
    let mut writer = tesselle::create(uri, rows().schema()).cancel_with(&token).start().unwrap();
    writer.write(&rows()).unwrap();
    token.cancel();
    assert_eq!(writer.write(&rows()).unwrap_err().kind(), ErrorKind::Canceled);
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::Canceled);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn dictionaries_of_batches_are_joined_in_an_arrow_file() {
    use arrow_array::DictionaryArray;
    use arrow_array::types::Int8Type;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.arrow");
    let uri = path.to_str().unwrap();
    let batch = |words: &[Option<&str>]| {
        let words: DictionaryArray<Int8Type> = words.iter().copied().collect();
        RecordBatch::try_from_iter_with_nullable([("word", Arc::new(words) as ArrayRef, true)]).unwrap()
    };
    let parts: [&[Option<&str>]; 5] = [
        &[Some("a"), Some("b"), None],
        &[Some("c"), Some("a"), None, Some("b")],
        &[None, None],
        &[Some("b")],
        &[Some("d"), Some("c")],
    ];
    let mut writer = tesselle::create(uri, batch(parts[0]).schema()).start().unwrap();
    for part in parts {
        writer.write(&batch(part)).unwrap();
    }
    writer.finish().unwrap();
    let words = read(uri, "word");
    assert!(matches!(words.data_type(), DataType::Dictionary(..)));
    let words = arrow_cast::cast(&words, &DataType::Utf8).unwrap();
    let found: Vec<Option<&str>> = words.as_string::<i32>().iter().collect();
    assert_eq!(found, parts.concat());
}

#[test]
fn dictionaries_of_views_are_stored_with_plain_values_in_parquet() {
    use arrow_array::types::UInt32Type;
    use arrow_array::{BinaryViewArray, DictionaryArray, StringViewArray, UInt32Array};

    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("views.parquet");
    let uri = uri.to_str().unwrap();
    let keys = UInt32Array::from(vec![Some(1), None, Some(0)]);
    let long = "longer than what a view holds by itself";
    let words =
        DictionaryArray::<UInt32Type>::new(keys.clone(), Arc::new(StringViewArray::from(vec!["a", long])));
    let bytes = BinaryViewArray::from_iter_values([b"x".as_slice(), long.as_bytes()]);
    let bytes = DictionaryArray::<UInt32Type>::new(keys, Arc::new(bytes));
    let columns = [("word", Arc::new(words) as ArrayRef, true), ("bytes", Arc::new(bytes) as ArrayRef, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = tesselle::create(uri, batch.schema()).start().unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let words = arrow_cast::cast(&read(uri, "word"), &DataType::Utf8).unwrap();
    assert_eq!(words.as_string::<i32>().iter().collect::<Vec<_>>(), [Some(long), None, Some("a")]);
    let bytes = arrow_cast::cast(&read(uri, "bytes"), &DataType::Binary).unwrap();
    let wanted = [Some(long.as_bytes()), None, Some(b"x".as_slice())];
    assert_eq!(bytes.as_binary::<i32>().iter().collect::<Vec<_>>(), wanted);
}

#[test]
fn unions_are_refused_by_parquet() {
    use arrow_schema::{Field, Schema, UnionFields, UnionMode};

    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("union.parquet");
    let fields: UnionFields = [(0, Arc::new(Field::new("n", DataType::Int64, true)))].into_iter().collect();
    let union = DataType::Union(fields, UnionMode::Sparse);
    let inside = DataType::List(Arc::new(Field::new("item", union.clone(), true)));
    for kind in [union, inside] {
        let schema = Arc::new(Schema::new(vec![Field::new("either", kind, true)]));
        let refused = tesselle::create(uri.to_str().unwrap(), schema).start().err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("'either'"), "{refused}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
