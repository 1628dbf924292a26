use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use tesselle_core::driver::{Progress, Silent};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Location, Storage};

use super::accumulate::{Accumulator, PARTS};
use super::encode::RunEncoder;
use super::merge::{merge, spill};
use super::scratch::{RunBytes, Scratch, Spool};
use crate::search::meta::DictionaryKind;

fn encoded(documents: &[String], spill_every: usize, shard_docs: usize) -> [Bytes; 4] {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let mut scratch = Scratch::next_to(&Location::new(Arc::clone(&storage), "folder/out.tatami"));
    let mut accumulator = Accumulator::new(true);
    let (mut runs, mut doc) = (Vec::new(), 0);
    for (i, bodies) in documents.chunks(shard_docs).enumerate() {
        let mut shard = accumulator.shard();
        for body in bodies {
            shard.add(doc, 0, body.as_bytes());
            doc += 1;
        }
        accumulator.absorb(&[shard.finish(PARTS)]);
        if i % spill_every == spill_every - 1 {
            runs.push(spill(&mut accumulator, &mut scratch).unwrap());
            assert_eq!(accumulator.memory(), 0);
        }
    }
    let mut encoder = RunEncoder::new(DictionaryKind::Flat, true);
    let progress: Arc<dyn Progress> = Arc::new(Silent);
    merge(&runs, accumulator, &mut encoder, &mut scratch, &progress).unwrap();
    let runs = encoder.finish(&mut scratch).unwrap().into_inverted(u64::from(doc));
    let collect = |run: &RunBytes| {
        let mut bytes = Vec::new();
        run.for_each(|piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        Bytes::from(bytes)
    };
    let result = [&runs.terms, &runs.postings, &runs.skips, &runs.positions].map(collect);
    drop(scratch);
    assert!(storage.list("folder").map_or(true, |entries| entries.is_empty()));
    result
}

proptest! {
    #[test]
    fn the_runs_do_not_depend_on_spills_or_shards(
        documents in prop::collection::vec("([a-d]{1,3} ){0,8}", 0..60),
        spill_every in 1usize..6,
        shard_docs in 1usize..9,
    ) {
        prop_assert_eq!(encoded(&documents, spill_every, shard_docs), encoded(&documents, usize::MAX, 1000));
    }
}

#[test]
fn a_spool_returns_what_was_written() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let mut scratch = Scratch::next_to(&Location::new(storage, "out"));
    for limit in [0, 10, 1000] {
        let mut spool = Spool::new(limit);
        for i in 0..100u8 {
            spool.write(&[i; 3], &mut scratch).unwrap();
        }
        let spooled = spool.finish().unwrap();
        let mut all = Vec::new();
        spooled
            .for_each(|bytes| {
                all.extend_from_slice(bytes);
                Ok(())
            })
            .unwrap();
        assert_eq!((all.len() as u64, all[299]), (spooled.len(), 99));
    }
}
