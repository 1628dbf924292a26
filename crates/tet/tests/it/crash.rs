//! Mapped files are borrowed without a copy; a storage that fails at the n-th step of a write leaves the old or the
//! complete new state.

use std::sync::Arc;

use tesselle_core::array::contiguous;
use tesselle_core::storage::{LocalStorage, MemoryStorage};
use tesselle_core::testing::FaultyStorage;
use tesselle_core::{DType, Location};
use tesselle_tet::{Codec, DatasetSpec, FooterSpec, HistoryRow, Writer, WriterOptions};

use crate::golden::{driver, open_bytes, tensor};

fn options() -> WriterOptions {
    let history = vec![HistoryRow::new("write", "test", "1")];
    WriterOptions::default().with_footer(FooterSpec { history, indexes: true, ..FooterSpec::default() })
}

#[test]
fn a_large_tensor_of_a_mapped_file_is_zero_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.tet");
    let location = Location::new(Arc::new(LocalStorage::mapped()), path.to_str().unwrap());
    let specs = [
        DatasetSpec::new("small", DType::U8, [4]).chunk_shape([4]),
        DatasetSpec::new("large", DType::U8, [200_000]).chunk_shape([1000]),
    ];
    let values: Vec<u8> = (0..200_000_u32).map(|i| i as u8).collect();
    let mut writer = Writer::create(&location, &specs, WriterOptions::default(), &driver()).unwrap();
    writer.push_rows(0, &[1, 2, 3, 4]).unwrap();
    writer.push_rows(1, &values).unwrap();
    writer.finish().unwrap();
    let file = tesselle_tet::File::open(&location, &tesselle_core::OpenOptions::default()).unwrap();
    // Small ones may be copied; that must not affect the large one.
    let _ = contiguous(&*file.array(0).unwrap()).unwrap();
    let array = file.array(1).unwrap();
    let (first, second) = (contiguous(&*array).unwrap().unwrap(), contiguous(&*array).unwrap().unwrap());
    assert_eq!(first, values);
    assert_eq!(first.as_ptr(), second.as_ptr());
}

#[test]
fn a_write_that_fails_leaves_the_old_state() {
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage.clone()), "data.tet");
    let first = [DatasetSpec::new("a", DType::F32, [4, 3]).chunk_shape([3, 2])];
    let values: Vec<u8> = (0..48).collect();
    let mut writer = Writer::create(&location, &first, options(), &driver()).unwrap();
    writer.push_rows(0, &values).unwrap();
    writer.finish().unwrap();
    let old = storage.get("data.tet").unwrap();
    let added = [DatasetSpec::new("b", DType::U8, [5]).chunk_shape([2]).codec(Codec::Zstd)];
    let append = |location: &Location| {
        let mut writer = Writer::append(location, &added, options(), &driver())?;
        writer.push_rows(1, &[1, 2, 3, 4, 5])?;
        writer.finish()
    };
    for steps in 0.. {
        let faulty = FaultyStorage::stopping(Arc::new(storage.clone()), steps);
        let done = append(&Location::new(Arc::new(faulty), "data.tet"));
        let now = storage.get("data.tet").unwrap();
        assert_eq!(storage.paths(), ["data.tet"], "nothing is left behind after {steps} steps");
        if done.is_err() {
            assert_eq!(now, old, "after {steps} steps");
            continue;
        }
        assert!(steps > 10);
        let file = open_bytes(now).unwrap();
        assert_eq!(tensor(&file, 0).unwrap(), values);
        assert_eq!(tensor(&file, 1).unwrap(), [1, 2, 3, 4, 5]);
        break;
    }
}
