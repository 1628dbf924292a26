//! A storage that fails at the n-th step of a write: what was there before stays, or the new state is whole.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod golden;

use std::sync::Arc;

use golden::{driver, open_bytes, tensor};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::FaultyStorage;
use tesselle_core::{DType, Location};
use tesselle_tet::{Codec, DatasetSpec, FooterSpec, HistoryRow, Writer, WriterOptions};

fn options() -> WriterOptions {
    let history = vec![HistoryRow::new("write", "test", "1")];
    WriterOptions {
        footer: Some(FooterSpec { history, indexes: true, ..FooterSpec::default() }),
        ..WriterOptions::default()
    }
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
