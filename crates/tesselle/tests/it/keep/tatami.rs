//! tatami: tables of all types, settings and profiles, search segments and collections.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use tesselle::search::{Deletion, delete};
use tesselle::tatami::Collection;
use tesselle::{Attribute, Location, OpenOptions, Settings};

use super::draw::Draw;
use super::{CASES, check};
use crate::support::driver;

fn write(target: &Path, draw: &mut Draw) {
    let mut kinds = vec![
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float32,
        DataType::Float64,
        DataType::Utf8,
        DataType::Binary,
        DataType::Timestamp(TimeUnit::Microsecond, None),
    ];
    let extended = draw.chance(40);
    if extended {
        let item = Arc::new(Field::new_list_field(DataType::Utf8, true));
        kinds.push(DataType::List(item));
    }
    let rows = draw.pick(&[0, 1, 30, 500]);
    let columns = draw.columns(&kinds, rows);
    let mut settings = Settings::default()
        .with("row_group_rows", draw.pick(&[50, 100_000]))
        .with("page_rows", draw.pick(&[11, 1_000]))
        .with("profile", if extended { "extended" } else { "plain" })
        .with("codec", draw.pick(if extended { &["zstd", "none", "lz4"] } else { &["zstd", "none"] }))
        .with("creator_id", draw.below(200))
        .with("page_size_hint", draw.pick(&[0, 65_536]));
    if draw.chance(50) {
        settings.set("sort_key", "id");
    }
    let named = |wanted: fn(&DataType) -> bool| -> Vec<String> {
        let fields = columns.iter().filter(|(field, _)| wanted(field.data_type()));
        fields.map(|(field, _)| field.name().clone()).collect()
    };
    let text = named(|kind| matches!(kind, DataType::Utf8 | DataType::Binary));
    let blobs = draw.some(&text, 40);
    let plain = named(|kind| !matches!(kind, DataType::List(_)));
    let plain: Vec<String> = plain.into_iter().filter(|name| !blobs.contains(name)).collect();
    let blooms = draw.some(&plain, 40);
    for (name, list) in [("blob", blobs), ("bloom", blooms)] {
        if !list.is_empty() {
            settings.set(name, list.join(","));
        }
    }
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let all = [(Field::new("id", DataType::Int64, false), ids)].into_iter().chain(columns);
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = all.unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let mut create = tesselle::create(target.to_str().unwrap(), batch.schema()).options(settings.clone());
    if draw.chance(50) {
        create = create.attribute(Attribute::new("title", "a table"));
    }
    let mut writer = create.on(&driver()).start().unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    writer.write(&batch).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    writer.finish().unwrap();
}

/// A search segment of random words, some documents deleted.
fn segment(target: &Path, draw: &mut Draw) {
    let rows = 1 + draw.below(60) as usize;
    let words = ["river", "stone", "bridge", "paper", "light"];
    let text = |draw: &mut Draw, most: u64| -> ArrayRef {
        let line = |draw: &mut Draw| {
            let count = 1 + draw.below(most);
            (0..count).map(|_| draw.pick(&words)).collect::<Vec<_>>().join(" ")
        };
        Arc::new((0..rows).map(|_| Some(line(draw))).collect::<StringArray>())
    };
    let ids: ArrayRef = Arc::new((0..rows).map(|row| Some(format!("d{row}"))).collect::<StringArray>());
    let columns = [("id", ids), ("title", text(draw, 3)), ("body", text(draw, 40))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let source = target.with_extension("arrow");
    let mut writer =
        tesselle::create(source.to_str().unwrap(), batch.schema()).on(&driver()).start().unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let index = tesselle::index(source.to_str().unwrap(), target.to_str().unwrap()).id("id");
    let index = index.text(["title", "body"]).on(&driver());
    let index = if draw.chance(50) { index.stored(["title", "body"]) } else { index };
    index.run().unwrap();
    if draw.chance(50) {
        let gone =
            (0..rows).filter(|row| *row > 0 && draw.chance(30)).map(|row| format!("d{row}").into_bytes());
        let gone: Vec<Vec<u8>> = gone.collect();
        if !gone.is_empty() {
            let place = Location::local(target).unwrap();
            delete(&place, &place, &Deletion::Ids(gone), true, &driver()).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn tatami_files_stay_what_they_are(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.tatami");
        write(&source, &mut Draw::new(seed));
        check(&source);
    }

    #[test]
    fn search_segments_and_collections_stay_what_they_are(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let draw = &mut Draw::new(seed);
        let source = folder.path().join("a.tatami");
        segment(&source, draw);
        check(&source);
        let hits = |path: &Path| {
            let found = tesselle::search(path.to_str().unwrap(), "river stone").k(100).run().unwrap();
            found.hits.iter().map(|hit| (hit.doc, hit.score)).collect::<Vec<_>>()
        };
        prop_assert_eq!(hits(&folder.path().join("copy.a.tatami")), hits(&source));

        let collection = folder.path().join("collection");
        std::fs::create_dir(&collection).unwrap();
        let names: Vec<String> = (0..=draw.below(3)).map(|i| format!("{i}.tatami")).collect();
        for name in &names {
            segment(&collection.join(name), draw);
            std::fs::remove_file(collection.join(name).with_extension("arrow")).unwrap();
        }
        let paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut members = Collection::open(&Location::local(&collection).unwrap(), &OpenOptions::default()).unwrap();
        members.add(&paths).unwrap();
        members.set_tier(&paths[..1], draw.below(5) as u8).unwrap();
        check(&collection);
    }
}
