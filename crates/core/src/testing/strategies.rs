//! Strategies for proptest: cell types, shapes, tiles and regions.

use proptest::prelude::*;

use crate::array::DType;
use crate::selection::{Region, Span};

/// Any cell type.
pub fn dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL.to_vec())
}

/// Shapes of 1 to `rank` axes whose extents are at least 1 and at most `extent`.
pub fn shape(rank: usize, extent: u64) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1..=extent, 1..=rank)
}

/// Tile shapes for `shape`: from single cells to more than the whole axis.
pub fn tile_shape(shape: &[u64]) -> impl Strategy<Value = Vec<u64>> + use<> {
    shape.iter().map(|extent| 1..=extent + 2).collect::<Vec<_>>()
}

/// Regions of `shape`, with steps; some are empty.
pub fn region(shape: &[u64]) -> impl Strategy<Value = Region> + use<> {
    let span = |extent: u64| {
        let any = (0..=extent, 0..=extent, 1..=extent + 1).prop_map(|(a, b, step)| Span {
            start: a.min(b),
            stop: a.max(b),
            step,
        });
        prop_oneof![1 => Just(Span::whole(extent)), 2 => any]
    };
    shape.iter().map(|extent| span(*extent)).collect::<Vec<_>>().prop_map(|spans| Region { spans })
}

/// An array's geometry: shape, tile shape and a region of it.
pub fn geometry(rank: usize, extent: u64) -> impl Strategy<Value = (Vec<u64>, Vec<u64>, Region)> {
    shape(rank, extent).prop_flat_map(|shape| {
        let (tile, region) = (tile_shape(&shape), region(&shape));
        (Just(shape), tile, region)
    })
}
