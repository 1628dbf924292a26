//! Datasets are removed, renamed and extended; unchanged chunks are copied as stored.

use std::sync::Arc;

use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Container, DType, Depth, Location, OpenOptions, Report};
use tesselle_tet::{
    AxisLabels, Codec, DatasetMetadata, DatasetSpec, File, FooterSpec, Metadata, Writer, WriterOptions,
};

use crate::golden::{driver, open_bytes, tensor};

fn written(datasets: &[(DatasetSpec, Vec<u8>)], footer: Option<FooterSpec>) -> (MemoryStorage, Location) {
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage.clone()), "data.tet");
    let specs: Vec<DatasetSpec> = datasets.iter().map(|(spec, _)| spec.clone()).collect();
    let options = WriterOptions::default().with_footer(footer);
    let mut writer = Writer::create(&location, &specs, options, &driver()).unwrap();
    for (id, (_, values)) in datasets.iter().enumerate() {
        writer.push_rows(id, values).unwrap();
    }
    writer.finish().unwrap();
    (storage, location)
}

fn healthy(storage: &MemoryStorage) -> File {
    let file = open_bytes(storage.get("data.tet").unwrap()).unwrap();
    let mut report = Report::new(Depth::Deep);
    file.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{:?}", report.findings());
    file
}

fn sample() -> Vec<(DatasetSpec, Vec<u8>)> {
    vec![
        (DatasetSpec::new("a", DType::U8, [3, 5]).chunk_shape([2, 2]).codec(Codec::Zstd), (0..15).collect()),
        (DatasetSpec::new("b", DType::U16, [4]).chunk_shape([3]), (0..8).collect()),
        (DatasetSpec::new("c", DType::U8, [2]), vec![7, 8]),
    ]
}

fn about() -> FooterSpec {
    let labels = |n: u64| AxisLabels { labels: (0..n).map(|i| format!("l{i}")).collect() };
    let about = DatasetMetadata {
        attrs: [("unit".to_owned(), "m".to_owned())].into(),
        dim_names: Some(vec!["y".to_owned(), "x".to_owned()]),
        coords: Some([("y".to_owned(), labels(3)), ("x".to_owned(), labels(5))].into()),
    };
    let metadata = Metadata { datasets: [("a".to_owned(), about)].into(), ..Metadata::default() };
    FooterSpec { metadata: Some(metadata), indexes: true, ..FooterSpec::default() }
}

#[test]
fn datasets_are_removed_and_renamed_with_their_metadata() {
    let (storage, location) = written(&sample(), Some(about()));
    tesselle_tet::rename(&location, "a", "height", &driver()).unwrap();
    let file = healthy(&storage);
    assert_eq!(file.table_names(), ["height", "b", "c"]);
    assert_eq!(file.metadata().unwrap().datasets["height"].attrs["unit"], "m");
    assert_eq!(tensor(&file, 0).unwrap(), (0..15).collect::<Vec<u8>>());
    tesselle_tet::remove(&location, &["height", "c"], &driver()).unwrap();
    let file = healthy(&storage);
    assert_eq!(file.table_names(), ["b"]);
    assert!(file.metadata().is_none_or(|metadata| metadata.datasets.is_empty()));
    assert_eq!(tensor(&file, 0).unwrap(), (0..8).collect::<Vec<u8>>());
    let before = storage.get("data.tet").unwrap();
    assert!(tesselle_tet::remove(&location, &["none"], &driver()).is_err());
    assert!(tesselle_tet::rename(&location, "b", "b", &driver()).is_err());
    assert_eq!(storage.get("data.tet").unwrap(), before);
    tesselle_tet::remove(&location, &["b"], &driver()).unwrap();
    assert!(healthy(&storage).table_names().is_empty());
}

#[test]
fn a_dataset_grows_along_any_axis() {
    for (axis, added, shape) in
        [(0, [4, 5], [7, 5]), (1, [3, 3], [3, 8]), (0, [1, 5], [4, 5]), (1, [3, 0], [3, 5])]
    {
        let cells = (added[0] * added[1]) as u8;
        let more: Vec<u8> = (100..100 + cells).collect();
        let (storage, location) = written(&sample(), Some(about()));
        let (_, other) = written(&[(DatasetSpec::new("m", DType::U8, added), more.clone())], None);
        let array = File::open(&other, &OpenOptions::default()).unwrap().array(0).unwrap();
        let before = healthy(&storage);
        let summary = tesselle_tet::extend(&location, "a", axis, &*array, &driver()).unwrap();
        assert_eq!(summary.lost.len(), 1, "the labels of one axis do not fit: {:?}", summary.lost);
        let file = healthy(&storage);
        let grown = file.array(0).unwrap();
        assert_eq!(grown.shape(), shape);
        let want: Vec<u8> = (0..shape[0] * shape[1])
            .map(|cell| {
                let (y, x) = (cell / shape[1], cell % shape[1]);
                if y < 3 && x < 5 {
                    (y * 5 + x) as u8
                } else {
                    let (y, x) = if axis == 0 { (y - 3, x) } else { (y, x - 5) };
                    more[(y * added[1] + x) as usize]
                }
            })
            .collect();
        assert_eq!(tensor(&file, 0).unwrap(), want, "axis {axis}");
        for id in [1, 2] {
            assert_eq!(tensor(&file, id).unwrap(), tensor(&before, id).unwrap());
        }
        assert!(
            tesselle_tet::extend(&location, "b", 0, &*array, &driver()).is_err(),
            "another type and rank"
        );
        assert!(tesselle_tet::extend(&location, "a", 2, &*array, &driver()).is_err(), "no such axis");
    }
}
