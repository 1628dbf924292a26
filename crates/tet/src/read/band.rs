//! A band: the box of a scan that one task answers, in row-major order.
//!
//! Tasks follow the row-major order of the result, so a task covers single positions of the leading axes, a stretch
//! of one axis, and all that is wanted of the axes behind it.

use std::ops::Range;

use tesselle_core::array::{TileAxis, TileGrid};

/// A stretch of the wanted positions of one axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AxisBand {
    /// The tiles it touches, as positions in the axis's list of parts.
    pub(crate) parts: Range<usize>,
    /// Wanted positions of the first tile that come before it.
    pub(crate) skip: u64,
    /// How many wanted positions it has.
    pub(crate) len: u64,
}

impl AxisBand {
    /// All wanted positions of these tiles.
    pub(crate) fn of_parts(axis: &TileAxis, parts: Range<usize>) -> Self {
        let len = axis.parts.get(parts.clone()).unwrap_or_default().iter().map(|part| part.len).sum();
        Self { parts, skip: 0, len }
    }

    /// The number of its first wanted position among all wanted ones.
    pub(crate) fn first(&self, axis: &TileAxis) -> u64 {
        axis.parts.get(self.parts.start).map_or(0, |part| part.index + self.skip)
    }
}

/// One [`AxisBand`] per axis.
pub(crate) type Band = Vec<AxisBand>;

/// Cells a task aims at: enough to be worth a thread, few enough to come out soon.
const TARGET_CELLS: u64 = 256 << 10;
/// Bytes of decoded cells that a task over compressed tiles may hold, before tiles are decoded more than once.
const MOST_BYTES: u64 = 256 << 20;

/// Cuts the wanted box into bands, in row-major order.
///
/// Tiles that are stored as they are cost nothing to touch twice, so bands may cut through them anywhere; compressed
/// ones are cut only where a band would not fit into memory.
pub(crate) fn bands(tiles: &TileGrid, element: u64, raw: bool) -> Vec<Band> {
    let rank = tiles.axes.len();
    let lens: Vec<u64> = tiles.axes.iter().map(|axis| axis.parts.iter().map(|part| part.len).sum()).collect();
    if lens.contains(&0) {
        return Vec::new();
    }
    let behind = |axis: usize| lens.iter().skip(axis + 1).product::<u64>();
    let mut axis = 0;
    while axis + 1 < rank && behind(axis) > TARGET_CELLS {
        let thin = tiles.axes.get(axis).is_some_and(|a| a.parts.iter().all(|part| part.len == 1));
        if !raw && !thin {
            break;
        }
        axis += 1;
    }
    let Some(cut) = tiles.axes.get(axis) else { return Vec::new() };
    let most = if raw { TARGET_CELLS } else { (MOST_BYTES / element.max(1)).max(TARGET_CELLS) };
    let stretches = stretches(cut, behind(axis), most);
    let leading: Vec<Vec<AxisBand>> = tiles.axes.iter().take(axis).map(single_positions).collect();
    let trailing: Vec<AxisBand> =
        tiles.axes.iter().skip(axis + 1).map(|a| AxisBand::of_parts(a, 0..a.parts.len())).collect();
    let mut bands = vec![Vec::with_capacity(rank)];
    for choices in leading.iter().chain([&stretches]) {
        bands = bands
            .iter()
            .flat_map(|band: &Band| {
                choices.iter().map(|choice| {
                    let mut longer = band.clone();
                    longer.push(choice.clone());
                    longer
                })
            })
            .collect();
    }
    for band in &mut bands {
        band.extend(trailing.iter().cloned());
    }
    bands
}

fn single_positions(axis: &TileAxis) -> Vec<AxisBand> {
    let parts = axis.parts.iter().enumerate();
    parts
        .flat_map(|(i, part)| (0..part.len).map(move |skip| AxisBand { parts: i..i + 1, skip, len: 1 }))
        .collect()
}

/// Cuts one axis: small tiles are gathered up to the target, large ones are cut at `most` cells.
fn stretches(axis: &TileAxis, behind: u64, most: u64) -> Vec<AxisBand> {
    let mut out: Vec<AxisBand> = Vec::new();
    for (i, part) in axis.parts.iter().enumerate() {
        if let Some(last) = out.last_mut()
            && last.skip == 0
            && (last.len + part.len).saturating_mul(behind) <= TARGET_CELLS
        {
            last.parts.end = i + 1;
            last.len += part.len;
            continue;
        }
        let step = (most / behind.max(1)).clamp(1, part.len);
        let mut skip = 0;
        while skip < part.len {
            let len = step.min(part.len - skip);
            out.push(AxisBand { parts: i..i + 1, skip, len });
            skip += len;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tesselle_core::Region;

    fn cells(shape: &[u64], chunk: &[u64], raw: bool) -> Vec<u64> {
        let tiles = TileGrid::new(shape, chunk, &Region::whole(shape)).unwrap();
        bands(&tiles, 4, raw).iter().map(|band| band.iter().map(|a| a.len).product()).collect()
    }

    #[test]
    fn bands_cover_the_box_in_pieces_of_moderate_size() {
        assert_eq!(cells(&[10], &[3], true), [10]);
        let million = cells(&[1_000_000], &[10], false);
        assert!(million.len() < 10 && million.iter().sum::<u64>() == 1_000_000);
        let raw = cells(&[100, 1000, 1000], &[50, 100, 100], true);
        assert!(raw.iter().all(|n| *n <= TARGET_CELLS) && raw.iter().sum::<u64>() == 100_000_000);
        let packed = cells(&[100, 1000, 1000], &[50, 100, 100], false);
        assert_eq!(packed, [50_000_000, 50_000_000]);
        let thin = cells(&[100, 1000, 1000], &[1, 100, 1000], false);
        assert_eq!(thin.len(), 500);
    }
}
