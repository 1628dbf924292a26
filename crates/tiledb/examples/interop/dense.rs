//! Dense arrays.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, UInt8Array, UInt32Array,
};
use serde_json::json;
use tesselle_codec::digest::Digest;
use tesselle_tiledb::filter::{Filter, ImageFormat, Key};
use tesselle_tiledb::write::{ArrayWriter, CellOrder, SchemaBuilder};
use tesselle_tiledb::{Attribute, Bounds, Datatype, Dimension, Enumeration, Layout};

use crate::data::{Column, batch, batch_of, mix, nullable, numbers, various};
use crate::{Cases, Result};

fn range(low: i32, high: i32) -> Bounds {
    Bounds { low: low.into(), high: high.into() }
}

fn dim(name: &str, low: i32, high: i32, extent: i32) -> Dimension {
    Dimension::new(name, Datatype::Int32, low, high, extent)
}

fn with_attributes(builder: SchemaBuilder, columns: &[Column]) -> SchemaBuilder {
    columns.iter().fold(builder, |builder, (attribute, _)| builder.attribute(attribute.clone()))
}

/// `rows` in the order of a 2-D box of `height` times `width` cells, taken column by column.
fn transposed(rows: &RecordBatch, height: usize, width: usize) -> Result<RecordBatch> {
    let order = UInt32Array::from_iter_values(
        (0..width).flat_map(|c| (0..height).map(move |r| (r * width + c) as u32)),
    );
    Ok(arrow_select::take::take_record_batch(rows, &order)?)
}

pub(crate) fn write(cases: &mut Cases) -> Result {
    whole(cases)?;
    orders(cases)?;
    partial(cases)?;
    filters(cases)?;
    strings_filtered(cases)?;
    image(cases)?;
    encrypted(cases)?;
    enumerated(cases)?;
    global(cases)?;
    all_empty(cases)?;
    awkward_padding(cases)
}

/// Every type, several tiles, partial edge tiles.
fn whole(cases: &mut Cases) -> Result {
    for (name, columns, y) in [
        ("dense_numbers", numbers(120), -3),
        ("dense_various", various(120), -3),
        ("dense_nullable", nullable(120), 2),
    ] {
        let builder = SchemaBuilder::dense().dimension(dim("y", y, y + 9, 4)).dimension(dim("x", 1, 12, 5));
        let new = with_attributes(builder, &columns).build()?;
        let array = ArrayWriter::create(&cases.place(name)?, &new, None, Some(1))?;
        let rows = batch_of(&columns)?;
        array.write_dense(&[range(y, y + 9), range(1, 12)], &rows, CellOrder::RowMajor, Some(2))?;
        cases.expect(name, &rows, &json!({ "box": [[y, y + 9], [1, 12]] }))?;
    }
    Ok(())
}

/// Every order of tiles and cells, cells given in both orders.
fn orders(cases: &mut Cases) -> Result {
    let orders = [("row", Layout::RowMajor), ("col", Layout::ColMajor)];
    for (tile_name, tile) in orders {
        for (cell_name, cell) in orders {
            for (given_name, given) in [("row", CellOrder::RowMajor), ("col", CellOrder::ColMajor)] {
                let name = format!("dense_{tile_name}_{cell_name}_given_{given_name}");
                let columns: Vec<Column> =
                    numbers(60).into_iter().skip(2).take(2).chain(various(60).into_iter().take(1)).collect();
                let builder =
                    SchemaBuilder::dense().dimension(dim("y", 0, 5, 4)).dimension(dim("x", 0, 9, 3));
                let builder = builder.tile_order(tile).cell_order(cell);
                let new = with_attributes(builder, &columns).build()?;
                let array = ArrayWriter::create(&cases.place(&name)?, &new, None, Some(1))?;
                let rows = batch_of(&columns)?;
                let input =
                    if given == CellOrder::ColMajor { transposed(&rows, 6, 10)? } else { rows.clone() };
                array.write_dense(&[range(0, 5), range(0, 9)], &input, given, Some(2))?;
                cases.expect(&name, &rows, &json!({ "box": [[0, 5], [0, 9]] }))?;
            }
        }
    }
    Ok(())
}

/// Overlapping boxes that cover tiles partly; unwritten cells have the fill value.
fn partial(cases: &mut Cases) -> Result {
    let name = "dense_partial";
    let attributes = [
        Attribute::new("a", Datatype::Int32).with_filters([Filter::zstd(5)]),
        Attribute::new("s", Datatype::StringAscii).var(),
        Attribute::new("n", Datatype::Float64).nullable(),
    ];
    let builder = SchemaBuilder::dense().dimension(dim("y", 0, 9, 4)).dimension(dim("x", 0, 9, 4));
    let new = attributes.into_iter().fold(builder, SchemaBuilder::attribute).build()?;
    let array = ArrayWriter::create(&cases.place(name)?, &new, None, Some(1))?;
    let mut grid: Vec<Option<i32>> = vec![None; 100];
    for (time, (y, x)) in [((1, 6), (2, 5)), ((5, 8), (4, 9))].into_iter().enumerate() {
        let cells: Vec<(usize, i32)> = (y.0..=y.1)
            .flat_map(|r| {
                (x.0..=x.1).map(move |c| ((r * 10 + c) as usize, (r * 100 + c) + time as i32 * 10_000))
            })
            .collect();
        for (at, value) in &cells {
            grid[*at] = Some(*value);
        }
        let columns: [(&str, ArrayRef); 3] = [
            ("a", Arc::new(Int32Array::from_iter_values(cells.iter().map(|(_, v)| *v)))),
            (
                "s",
                Arc::new(arrow_array::StringArray::from_iter_values(
                    cells.iter().map(|(_, v)| format!("s{v}")),
                )),
            ),
            (
                "n",
                Arc::new(
                    cells
                        .iter()
                        .map(|(_, v)| (v % 3 != 0).then_some(f64::from(*v)))
                        .collect::<Float64Array>(),
                ),
            ),
        ];
        array.write_dense(
            &[range(y.0, y.1), range(x.0, x.1)],
            &batch(columns)?,
            CellOrder::RowMajor,
            Some(2 + time as u64),
        )?;
    }
    let expected: [(&str, ArrayRef); 3] = [
        ("a", Arc::new(Int32Array::from_iter_values(grid.iter().map(|v| v.unwrap_or(i32::MIN))))),
        (
            "s",
            Arc::new(arrow_array::StringArray::from_iter_values(
                grid.iter().map(|v| v.map_or("\0".to_owned(), |v| format!("s{v}"))),
            )),
        ),
        (
            "n",
            Arc::new(grid.iter().map(|v| v.filter(|v| v % 3 != 0).map(f64::from)).collect::<Float64Array>()),
        ),
    ];
    cases.expect(name, &batch(expected)?, &json!({ "box": [[0, 9], [0, 9]], "fragments": 2 }))
}

/// Every filter on numbers, several chunks per tile.
fn filters(cases: &mut Cases) -> Result {
    let rows = 40_000;
    let window = |max_window| Filter::BitWidthReduction { max_window };
    let rising = |i: usize| i as i32 * 3 + (mix(i) % 3) as i32;
    let ints = [
        ("gzip", vec![Filter::gzip(6)]),
        ("zstd", vec![Filter::zstd(-1)]),
        ("lz4", vec![Filter::lz4()]),
        ("bzip2", vec![Filter::bzip2(2)]),
        ("rle", vec![Filter::Rle { level: -1 }]),
        ("delta", vec![Filter::Delta { level: -1, reinterpret: None }]),
        ("delta16", vec![Filter::Delta { level: -1, reinterpret: Some(Datatype::Uint16) }, Filter::zstd(3)]),
        ("double", vec![Filter::DoubleDelta { level: -1, reinterpret: None }]),
        ("bits", vec![window(256)]),
        ("positive", vec![Filter::PositiveDelta { max_window: 1024 }, window(256), Filter::zstd(3)]),
        ("bitshuffle", vec![Filter::Bitshuffle, Filter::lz4()]),
        ("byteshuffle", vec![Filter::Byteshuffle, Filter::zstd(1)]),
        ("xor", vec![Filter::Xor, Filter::gzip(1)]),
        ("md5", vec![Filter::Checksum(Digest::Md5)]),
        ("sha", vec![Filter::zstd(2), Filter::Checksum(Digest::Sha256)]),
        (
            "many",
            vec![
                Filter::Bitshuffle,
                Filter::Byteshuffle,
                window(100),
                Filter::gzip(2),
                Filter::Checksum(Digest::Md5),
            ],
        ),
        ("none", vec![Filter::None]),
    ];
    let mut columns: Vec<Column> = ints
        .into_iter()
        .map(|(name, filters)| {
            let attribute = Attribute::new(name, Datatype::Int32).with_filters(filters);
            (attribute, Arc::new(Int32Array::from_iter_values((0..rows).map(rising))) as ArrayRef)
        })
        .collect();
    for byte_width in [2, 4, 8] {
        let filter = Filter::FloatScale { scale: 0.5, offset: 10.0, byte_width };
        let attribute = Attribute::new(format!("scale{byte_width}"), Datatype::Float64)
            .with_filters([filter, Filter::Bitshuffle]);
        columns.push((
            attribute,
            Arc::new(Float64Array::from_iter_values((0..rows).map(|i| (i % 20_000) as f64 / 2.0))),
        ));
    }
    let builder = SchemaBuilder::dense().dimension(dim("x", 0, rows as i32 - 1, 30_000));
    let builder = builder.validity_filters([Filter::Rle { level: -1 }, Filter::gzip(3)]);
    let name = "dense_filters";
    let array = ArrayWriter::create(
        &cases.place(name)?,
        &with_attributes(builder, &columns).build()?,
        None,
        Some(1),
    )?;
    let batch = batch_of(&columns)?;
    array.write_dense(&[range(0, rows as i32 - 1)], &batch, CellOrder::RowMajor, Some(2))?;
    cases.expect(name, &batch, &json!({ "box": [[0, rows - 1]] }))
}

/// Run lengths and dictionaries of strings, empty ones included.
fn strings_filtered(cases: &mut Cases) -> Result {
    let rows = 300;
    let mut columns: Vec<Column> = Vec::new();
    for (datatype, kind) in [(Datatype::StringAscii, "ascii"), (Datatype::StringUtf8, "utf8")] {
        for (filter, how) in [(Filter::Rle { level: -1 }, "rle"), (Filter::Dictionary { level: -1 }, "dict")]
        {
            for (content, text) in [
                ("mixed", (|i| "v".repeat(i / 40 * 50 + 1)) as fn(usize) -> String),
                ("some", |i| if i % 3 == 0 { String::new() } else { format!("k{}", i / 10) }),
            ] {
                for zstd in [false, true] {
                    let name = format!("{kind}_{how}_{content}_{zstd}");
                    let filters = [filter.clone()].into_iter().chain(zstd.then(|| Filter::zstd(2)));
                    let attribute = Attribute::new(name, datatype).var().with_filters(filters);
                    columns.push((
                        attribute,
                        Arc::new(arrow_array::StringArray::from_iter_values((0..rows).map(text))),
                    ));
                }
            }
        }
    }
    let builder = SchemaBuilder::dense().dimension(dim("x", 0, rows as i32 - 1, 120));
    let name = "dense_strings_filtered";
    let array = ArrayWriter::create(
        &cases.place(name)?,
        &with_attributes(builder, &columns).build()?,
        None,
        Some(1),
    )?;
    let batch = batch_of(&columns)?;
    array.write_dense(&[range(0, rows as i32 - 1)], &batch, CellOrder::RowMajor, Some(2))?;
    cases.expect(name, &batch, &json!({ "box": [[0, rows - 1]] }))
}

/// Tiles as lossless images.
fn image(cases: &mut Cases) -> Result {
    for (name, format, width) in
        [("dense_webp_rgb", ImageFormat::Rgb, 3), ("dense_webp_bgra", ImageFormat::Bgra, 4)]
    {
        let filter = Filter::Webp { quality: 100.0, format, lossless: true, y_extent: 0, x_extent: 0 };
        let new = SchemaBuilder::dense()
            .dimension(dim("y", 0, 19, 10))
            .dimension(dim("x", 0, 16 * width - 1, 8 * width))
            .attribute(Attribute::new("p", Datatype::Uint8).with_filters([filter]))
            .build()?;
        let array = ArrayWriter::create(&cases.place(name)?, &new, None, Some(1))?;
        let count = 20 * 16 * width as usize;
        let pixels: ArrayRef =
            Arc::new(UInt8Array::from_iter_values((0..count).map(|i| (i % 251) as u8 | 1)));
        let rows = batch([("p", pixels)])?;
        array.write_dense(&[range(0, 19), range(0, 16 * width - 1)], &rows, CellOrder::RowMajor, Some(2))?;
        cases.expect(name, &rows, &json!({ "box": [[0, 19], [0, 16 * width - 1]] }))?;
    }
    Ok(())
}

fn encrypted(cases: &mut Cases) -> Result {
    let name = "dense_encrypted";
    let columns: Vec<Column> =
        numbers(50).into_iter().take(3).chain(various(50)).chain(nullable(50)).collect();
    let builder = SchemaBuilder::dense().dimension(dim("x", 0, 49, 20));
    let key = Key::new(*b"0123456789abcdef0123456789ABCDEF");
    let new = with_attributes(builder, &columns).build()?;
    let array = ArrayWriter::create(&cases.place(name)?, &new, Some(key.clone()), Some(1))?;
    let rows = batch_of(&columns)?;
    array.write_dense(&[range(0, 49)], &rows, CellOrder::RowMajor, Some(2))?;
    ArrayWriter::open(&cases.place(name)?, Some(key))?;
    cases.expect(name, &rows, &json!({ "box": [[0, 49]], "key": "0123456789abcdef0123456789ABCDEF" }))
}

fn enumerated(cases: &mut Cases) -> Result {
    let name = "dense_enumerated";
    let colors = Enumeration::of_strings("colors", ["red", "green", "blue"], false)?;
    let sizes = Enumeration::of_bytes(
        "sizes",
        Datatype::Int64,
        1,
        [10_i64, 20].iter().flat_map(|v| v.to_le_bytes()).collect(),
        Vec::new(),
        true,
    )?;
    let new = SchemaBuilder::dense()
        .dimension(dim("x", 0, 9, 5))
        .enumeration(colors)
        .enumeration(sizes)
        .attribute(Attribute::new("color", Datatype::Int8).with_enumeration("colors"))
        .attribute(Attribute::new("size", Datatype::Uint16).with_enumeration("sizes").nullable())
        .build()?;
    let array = ArrayWriter::create(&cases.place(name)?, &new, None, Some(1))?;
    let words = ["blue", "red", "green"];
    let color: DictionaryArray<Int32Type> = (0..10).map(|i| Some(words[i % 3])).collect();
    let size: arrow_array::UInt16Array = (0..10).map(|i| (i != 4).then_some(i % 2)).collect();
    let given: [(&str, ArrayRef); 2] = [("color", Arc::new(color)), ("size", Arc::new(size.clone()))];
    let array_open = ArrayWriter::open(array.location(), None)?;
    array_open.write_dense(&[range(0, 9)], &batch(given)?, CellOrder::RowMajor, Some(2))?;
    let codes = arrow_array::Int8Array::from_iter_values((0..10).map(|i| [2, 0, 1][i % 3]));
    let stored: [(&str, ArrayRef); 2] = [("color", Arc::new(codes)), ("size", Arc::new(size))];
    let lists = json!({ "colors": ["red", "green", "blue"], "sizes": [10, 20] });
    cases.expect(name, &batch(stored)?, &json!({ "box": [[0, 9]], "enumerations": lists }))
}

/// Cells given in the order in which the array stores them.
fn global(cases: &mut Cases) -> Result {
    let name = "dense_global";
    let new = SchemaBuilder::dense()
        .dimension(dim("y", 0, 3, 2))
        .dimension(dim("x", 0, 5, 3))
        .attribute(Attribute::new("a", Datatype::Int32))
        .cell_order(Layout::ColMajor)
        .build()?;
    let array = ArrayWriter::create(&cases.place(name)?, &new, None, Some(1))?;
    let mut given = Vec::new();
    for (ty, tx) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        given.extend((0..3).flat_map(|x| (0..2).map(move |y| (ty * 2 + y) * 6 + tx * 3 + x)));
    }
    let column: ArrayRef = Arc::new(Int32Array::from(given));
    array.write_dense(&[range(0, 3), range(0, 5)], &batch([("a", column)])?, CellOrder::Global, Some(2))?;
    let expected: ArrayRef = Arc::new(Int32Array::from_iter_values(0..24));
    cases.expect(name, &batch([("a", expected)])?, &json!({ "box": [[0, 3], [0, 5]] }))
}

/// Filters that zero padding would break.
fn awkward_padding(cases: &mut Cases) -> Result {
    let name = "dense_awkward_padding";
    let new = SchemaBuilder::dense()
        .dimension(dim("x", 0, 99, 30))
        .attribute(
            Attribute::new("p", Datatype::Int32).with_filters([Filter::PositiveDelta { max_window: 64 }]),
        )
        .attribute(Attribute::new("f", Datatype::Float32).with_filters([Filter::FloatScale {
            scale: 1.0,
            offset: 1000.0,
            byte_width: 1,
        }]))
        .build()?;
    let array = ArrayWriter::create(&cases.place(name)?, &new, None, Some(1))?;
    let columns: [(&str, ArrayRef); 2] = [
        ("p", Arc::new(Int32Array::from_iter_values(500..575))),
        ("f", Arc::new(arrow_array::Float32Array::from_iter_values((0..75).map(|i| 1000.0 + i as f32)))),
    ];
    let rows = batch(columns)?;
    array.write_dense(&[range(10, 84)], &rows, CellOrder::RowMajor, Some(2))?;
    cases.expect(name, &rows, &json!({ "box": [[10, 84]] }))
}

/// Tiles of only empty strings.
fn all_empty(cases: &mut Cases) -> Result {
    let name = "dense_all_empty";
    let chains = [
        ("plain", vec![]),
        ("zstd", vec![Filter::zstd(1)]),
        ("shuffled", vec![Filter::Byteshuffle, Filter::gzip(1)]),
        ("rle", vec![Filter::Rle { level: -1 }]),
        ("dict", vec![Filter::Dictionary { level: -1 }]),
        ("dict_zstd", vec![Filter::Dictionary { level: -1 }, Filter::zstd(1)]),
    ];
    let mut columns: Vec<Column> = Vec::new();
    for (chain, filters) in chains {
        for datatype in [Datatype::StringAscii, Datatype::StringUtf8] {
            let attribute = Attribute::new(format!("{chain}_{}", datatype.name()), datatype).var().nullable();
            // The first tile is empty, the second is not.
            let strings: arrow_array::StringArray = (0..8)
                .map(|i| (i != 2).then(|| if i < 4 { String::new() } else { format!("t{i}") }))
                .collect();
            columns.push((attribute.with_filters(filters.clone()), Arc::new(strings)));
        }
    }
    let builder = SchemaBuilder::dense().dimension(dim("x", 0, 7, 4));
    let new = with_attributes(builder, &columns).build()?;
    let array = ArrayWriter::create(&cases.place(name)?, &new, None, Some(1))?;
    let rows = batch_of(&columns)?;
    array.write_dense(&[range(0, 7)], &rows, CellOrder::RowMajor, Some(2))?;
    cases.expect(name, &rows, &json!({ "box": [[0, 7]] }))
}
