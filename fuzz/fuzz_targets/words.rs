//! Any string, taken for what users write: names, times, types, settings, slices, keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tesselle::name::{parse_time, parse_times};
use tesselle::{Uri, parse_types};
use tesselle_core::reduce::ReduceOp;
use tesselle_core::{ErrorKind, Region, Result, Secret, Selection, Settings};

fn judge<T>(result: Result<T>) -> Option<T> {
    if let Err(error) = &result {
        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
        assert!(!error.to_string().is_empty());
    }
    result.ok()
}

fuzz_target!(|text: &str| {
    let (path, table) = Uri::split(text);
    assert_eq!(path.len() + table.map_or(0, |table| table.len() + 1), text.len());
    judge(parse_time(text));
    if let Some((start, end)) = judge(parse_times(text)) {
        assert_eq!(judge(parse_times(&format!("{start},{end}"))), Some((start, end)));
    }
    judge(parse_types(text));
    judge(text.parse::<ReduceOp>());
    judge(Secret::parse(text.as_bytes()));
    judge(Settings::from_pairs(&text.split('\n').collect::<Vec<_>>()));
    if let Some(selection) = judge(text.parse::<Selection>()) {
        let shape = [10, 1, 7];
        if let Some(regions) = judge(selection.resolve(&[0, -3, 5], &shape)) {
            let cells = Region::whole(&shape).cells();
            assert!(regions.cells() <= cells, "more cells than there are");
        }
    }
});
