use proptest::prelude::*;

use super::*;
use crate::driver::DriverOptions;
use crate::error::ErrorKind;
use crate::selection::Span;
use crate::testing::{TiledArray, strategies};

fn driver(threads: usize) -> Driver {
    Driver::try_new(&DriverOptions { threads: Some(threads), memory: Some(1 << 20) }).unwrap()
}

/// The cells of a region, one by one.
fn oracle(size: usize, shape: &[u64], region: &Region, cells: &[u8]) -> Vec<u8> {
    let mut positions: Vec<u64> = vec![0];
    for (extent, span) in shape.iter().zip(&region.spans) {
        let along = |outer: &u64| {
            let outer = *outer;
            (span.start..span.stop).step_by(span.step as usize).map(move |i| outer * extent + i)
        };
        positions = positions.iter().flat_map(along).collect();
    }
    positions.iter().flat_map(|p| &cells[*p as usize * size..][..size]).copied().collect()
}

fn cells_of(shape: &[u64], size: usize) -> Vec<u8> {
    let n = shape.iter().product::<u64>() as usize * size;
    (0..n).map(|i| (i * 31 + i / 251) as u8).collect()
}

/// All ways an array may offer its cells.
fn arrays(dtype: DType, shape: &[u64], tile: &[u64], cells: &[u8]) -> [TiledArray; 5] {
    let array = TiledArray::try_new(dtype, shape, tile, cells).unwrap();
    [
        array.clone(),
        array.clone().stored(),
        array.clone().decoded(),
        array.clone().decoded_by_rows(),
        array.contiguous_in(cells.to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_region_reads_like_its_cells_one_by_one(
        (shape, tile, region) in strategies::geometry(4, 9),
        dtype in strategies::dtype(),
        threads in 1_usize..5,
    ) {
        let cells = cells_of(&shape, dtype.size());
        let want = oracle(dtype.size(), &shape, &region, &cells);
        for array in arrays(dtype, &shape, &tile, &cells) {
            let mut got = vec![0xaa; want.len()];
            read_region(&array, &region, &mut got, &driver(threads)).unwrap();
            prop_assert_eq!(&got, &want);
        }
    }
}

#[test]
fn large_regions_use_all_ways_of_sharing_the_work() {
    // Many bands, fewer bands than threads, a long first axis of one position, tiles that span rows, one large tile.
    for (shape, tile) in [
        (vec![300, 300], vec![7, 64]),
        (vec![300, 300], vec![400, 64]),
        (vec![1, 300, 300], vec![1, 200, 11]),
        (vec![2, 50_000], vec![1, 1000]),
        (vec![90_000], vec![1000]),
        (vec![90, 1000], vec![9, 1000]),
        (vec![600, 500], vec![600, 600]),
    ] {
        let cells = cells_of(&shape, 4);
        let steps = shape.iter().map(|n| Span { start: 0, stop: *n, step: if *n > 9 { 3 } else { 1 } });
        for region in [Region::whole(&shape), Region { spans: steps.collect() }] {
            let want = oracle(4, &shape, &region, &cells);
            for array in arrays(DType::F32, &shape, &tile, &cells) {
                for threads in 1..5 {
                    let mut got = vec![0; want.len()];
                    read_region(&array, &region, &mut got, &driver(threads)).unwrap();
                    assert!(got == want, "{shape:?} {tile:?} {threads}");
                }
            }
        }
    }
}

#[test]
fn a_wrong_destination_or_region_is_refused() {
    let array = TiledArray::try_new(DType::U8, &[4], &[2], &[0; 4]).unwrap();
    let region = Region { spans: vec![Span { start: 2, stop: 6, step: 1 }] };
    let error = read_region(&array, &region, &mut [0; 4], &driver(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(read_region(&array, &Region::whole(&[4]), &mut [0; 5], &driver(1)).is_err());
}

#[test]
fn work_that_was_canceled_ends() {
    let array = TiledArray::try_new(DType::U8, &[4], &[2], &[0; 4]).unwrap();
    let driver = driver(2);
    driver.cancel();
    let error = read_region(&array, &Region::whole(&[4]), &mut [0; 4], &driver).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Canceled);
}
