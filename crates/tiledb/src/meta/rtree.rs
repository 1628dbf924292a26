//! MBRs of sparse tiles and the R-tree over them (spec §8.4).
//!
//! ```text
//! v5+:  u32 fanout | u32 levels | per level, root first: u64 count, MBRs
//! v3-4: u32 ndims | u32 fanout | u8 datatype | u32 levels | …
//! ```
//!
//! MBRs are kept as stored bytes: an array may have millions of tiles, of which a query inspects few.

use tesselle_core::At;

use super::dimension::Dimension;
use super::value::Bounds;
use super::wire::{put_ranges, ranges};
use crate::{Cursor, Error, Result};

/// Entries per node when writing.
pub(crate) const FANOUT: u32 = 10;

/// The MBRs of one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mbrs {
    bytes: Vec<u8>,
    /// Where each MBR starts, and the end; `None` when all have one size.
    starts: Option<Vec<usize>>,
    count: usize,
}

impl Mbrs {
    /// Parses `count` MBRs.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, count: u64, dims: &[Dimension]) -> Result<Self> {
        let fixed: usize =
            dims.iter().map(|dim| if dim.is_var() { 16 } else { dim.datatype.size() * 2 }).sum();
        let count = cursor.count(count, fixed)?;
        if !dims.iter().any(Dimension::is_var) {
            let bytes = cursor.bytes(fixed.saturating_mul(count))?.to_vec();
            return Ok(Self { bytes, starts: None, count });
        }
        let all = cursor.rest();
        let base = cursor.position();
        let mut starts = Vec::with_capacity(count.saturating_add(1));
        for _ in 0..count {
            starts.push(cursor.position() - base);
            for dim in dims {
                if dim.is_var() {
                    let total = cursor.u64_le()?;
                    cursor.u64_le()?;
                    cursor.bytes_u64(total)?;
                } else {
                    cursor.skip(dim.datatype.size() * 2)?;
                }
            }
        }
        let end = cursor.position() - base;
        starts.push(end);
        Ok(Self { bytes: all.part(..end)?.to_vec(), starts: Some(starts), count })
    }

    /// Packs MBRs.
    pub(crate) fn pack(dims: &[Dimension], mbrs: &[Vec<Bounds>]) -> Result<Self> {
        let mut bytes = Vec::new();
        let mut starts = vec![0];
        for mbr in mbrs {
            put_ranges(&mut bytes, dims, mbr)?;
            starts.push(bytes.len());
        }
        let starts = dims.iter().any(Dimension::is_var).then_some(starts);
        Ok(Self { bytes, starts, count: mbrs.len() })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One MBR.
    pub(crate) fn get(&self, index: usize, dims: &[Dimension]) -> Result<Vec<Bounds>> {
        let slice = match &self.starts {
            None if index < self.count => {
                let size = self.bytes.len() / self.count;
                self.bytes.get(index * size..(index + 1) * size)
            }
            None => None,
            Some(starts) => match (starts.get(index), starts.get(index + 1)) {
                (Some(start), Some(end)) => self.bytes.get(*start..*end),
                _ => None,
            },
        };
        let slice = slice.ok_or_else(|| Error::corrupt(format!("there is no MBR {index}")))?;
        ranges(&mut Cursor::new(slice, 0, "MBR"), dims)
    }
}

/// The R-tree of a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RTree {
    /// Entries per node.
    pub fanout: u32,
    /// The levels, root first; the last one has an MBR per tile. Empty for dense fragments.
    pub levels: Vec<Mbrs>,
}

impl RTree {
    /// Reads the payload of the R-tree's generic tile.
    pub(crate) fn parse(payload: &[u8], version: u32, dims: &[Dimension]) -> Result<Self> {
        let mut cursor = Cursor::new(payload, 0, "R-tree");
        let cursor = &mut cursor;
        if version < 5 {
            let stated = cursor.u32_le()?;
            if stated as usize != dims.len() {
                return Err(
                    cursor.corrupt(format!("the R-tree has {stated} dimensions, expected {}", dims.len()))
                );
            }
        }
        let fanout = cursor.u32_le()?;
        if version < 5 {
            cursor.u8()?;
        }
        let stated = cursor.u32_le()?;
        let count = cursor.count(stated.into(), 8)?;
        let mut levels = Vec::with_capacity(count);
        for _ in 0..count {
            let entries = cursor.u64_le()?;
            levels.push(Mbrs::parse(cursor, entries, dims)?);
        }
        let tree = Self { fanout, levels };
        tree.check()?;
        Ok(tree)
    }

    /// Checks that level sizes follow from the fanout; otherwise a search would miss tiles.
    fn check(&self) -> Result<()> {
        let fanout = self.fanout as usize;
        for pair in self.levels.windows(2) {
            if let [upper, lower] = pair
                && (fanout < 2 || upper.len() != lower.len().div_ceil(fanout))
            {
                return Err(Error::corrupt(format!(
                    "a level of the R-tree has {} entries above {}, with a fanout of {fanout}",
                    upper.len(),
                    lower.len()
                )));
            }
        }
        if self.levels.first().is_some_and(|root| root.len() > 1) {
            return Err(Error::corrupt("the R-tree has no single root"));
        }
        Ok(())
    }

    /// A tree without inner levels, for versions that store MBRs only.
    pub(crate) fn flat(leaves: Mbrs) -> Self {
        Self { fanout: 0, levels: if leaves.is_empty() { Vec::new() } else { vec![leaves] } }
    }

    /// Builds the tree over one MBR per tile.
    pub(crate) fn build(dims: &[Dimension], leaves: &[Vec<Bounds>]) -> Result<Self> {
        let mut levels = Vec::new();
        let mut level = leaves.to_vec();
        while !level.is_empty() {
            levels.push(Mbrs::pack(dims, &level)?);
            if level.len() == 1 {
                break;
            }
            level = level
                .chunks(FANOUT as usize)
                .filter_map(|group| {
                    let (first, rest) = group.split_first()?;
                    let mut union = first.clone();
                    for mbr in rest {
                        union.iter_mut().zip(mbr).for_each(|(range, other)| range.extend(other));
                    }
                    Some(union)
                })
                .collect();
        }
        levels.reverse();
        Ok(Self { fanout: FANOUT, levels })
    }

    /// The payload in the form of version 5 and later.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = self.fanout.to_le_bytes().to_vec();
        out.extend_from_slice(&(self.levels.len() as u32).to_le_bytes());
        for level in &self.levels {
            out.extend_from_slice(&(level.count as u64).to_le_bytes());
            out.extend_from_slice(&level.bytes);
        }
        out
    }

    /// The MBRs of the tiles.
    pub(crate) fn leaves(&self) -> Option<&Mbrs> {
        self.levels.last()
    }

    /// The tiles whose MBR passes `keep`, in tile order. Subtrees whose MBR does not pass are skipped.
    ///
    /// `keep` must accept every MBR that contains an accepted one.
    pub(crate) fn search(&self, dims: &[Dimension], keep: &dyn Fn(&[Bounds]) -> bool) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        let Some(last) = self.levels.len().checked_sub(1) else { return Ok(found) };
        let roots = self.levels.first().map_or(0, Mbrs::len);
        let mut stack: Vec<(usize, usize)> = (0..roots).rev().map(|index| (0, index)).collect();
        while let Some((depth, index)) = stack.pop() {
            let Some(level) = self.levels.get(depth) else { continue };
            if !keep(&level.get(index, dims)?) {
                continue;
            }
            if depth == last {
                found.push(index);
                continue;
            }
            let fanout = self.fanout as usize;
            let below = self.levels.get(depth + 1).map_or(0, Mbrs::len);
            let first = index * fanout;
            stack.extend((first..(first + fanout).min(below)).rev().map(|index| (depth + 1, index)));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use tesselle_core::Scalar;

    use super::*;
    use crate::filter::Pipeline;
    use crate::meta::datatype::Datatype;
    use crate::meta::dimension::VAR;

    fn dims() -> Vec<Dimension> {
        let dim = |name: &str, datatype, cell_val_num| Dimension {
            name: name.to_owned(),
            datatype,
            cell_val_num,
            filters: Pipeline::default(),
            domain: None,
            extent: None,
        };
        vec![dim("x", Datatype::Int32, 1), dim("s", Datatype::StringAscii, VAR)]
    }

    fn leaves(count: i32) -> Vec<Vec<Bounds>> {
        let text = |i: i32| Scalar::from(format!("{i:04}").as_str());
        (0..count)
            .map(|i| {
                vec![
                    Bounds { low: (i * 10).into(), high: (i * 10 + 9).into() },
                    Bounds { low: text(i), high: text(i) },
                ]
            })
            .collect()
    }

    #[test]
    fn a_tree_survives_writing_and_finds_its_tiles() {
        let dims = dims();
        let tree = RTree::build(&dims, &leaves(130)).unwrap();
        assert_eq!(tree.levels.iter().map(Mbrs::len).collect::<Vec<_>>(), [1, 2, 13, 130]);
        let back = RTree::parse(&tree.write(), 22, &dims).unwrap();
        assert_eq!(back, tree);
        let wanted = Bounds { low: Scalar::Int(305), high: Scalar::Int(325) };
        let found = back.search(&dims, &|mbr| mbr.first().is_some_and(|x| x.intersects(&wanted))).unwrap();
        assert_eq!(found, [30, 31, 32]);
    }

    #[test]
    fn cut_and_twisted_trees_are_refused() {
        let dims = dims();
        let payload = RTree::build(&dims, &leaves(30)).unwrap().write();
        for len in 0..payload.len() {
            assert!(RTree::parse(&payload[..len], 22, &dims).is_err(), "{len}");
        }
        let mut huge = payload.clone();
        huge[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(RTree::parse(&huge, 22, &dims).is_err());
    }
}
