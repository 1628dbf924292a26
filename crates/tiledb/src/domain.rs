//! The visible part of an array's domain: the row box of a dense array, and the box covered by fragments.

use crate::Result;
use crate::fragment::Fragment;
use crate::meta::value::Bounds;
use crate::open::Array;
use crate::order::grid::{CellBox, Grid};

impl Array {
    /// The box whose cells are the rows of a dense array: the whole domain if requested, else the current domain, else
    /// the non-empty domain. `None` for an array without fragments, which has no rows.
    pub(crate) fn row_box(&self, grid: &Grid) -> Result<Option<CellBox>> {
        if self.full_domain {
            return Ok(Some(grid.domain()));
        }
        match &self.schema.current_domain {
            Some(ranges) => grid.region_of(ranges).map(Some),
            None => Ok(written_box(self.fragments.iter().map(AsRef::as_ref))),
        }
    }

    /// The bounding box of all visible fragments, one range per dimension; `None` for an empty array.
    pub(crate) fn non_empty_domain(&self) -> Option<Vec<Bounds>> {
        let domains = self.fragments.iter().filter_map(|fragment| fragment.footer.non_empty_domain.as_ref());
        domains.fold(None, |all: Option<Vec<Bounds>>, domain| {
            let Some(mut all) = all else { return Some(domain.clone()) };
            all.iter_mut().zip(domain).for_each(|(all, range)| all.extend(range));
            Some(all)
        })
    }
}

/// The bounding box of dense fragments.
pub(crate) fn written_box<'a>(fragments: impl IntoIterator<Item = &'a Fragment>) -> Option<CellBox> {
    let regions = fragments.into_iter().filter_map(|fragment| fragment.dense.as_ref());
    regions.fold(None, |all: Option<CellBox>, dense| {
        let Some(mut all) = all else { return Some(dense.region.clone()) };
        all.include(&dense.region);
        Some(all)
    })
}
