//! Consolidation: many fragments, commits or metadata files into one, in bounded memory (spec §11, §12.1, §14, §16).
//!
//! The consolidated files are kept until they are vacuumed: reads as of an earlier time still need them.

mod dense;
mod lists;
pub(super) mod source;
mod sparse;

use std::sync::Arc;

#[cfg(test)]
pub(super) use dense::runs_in_tile;
#[cfg(test)]
pub(super) use source::read_cells;
use tesselle_core::{OpenOptions, Secret, setters};

use super::array::{ArrayWriter, Written};
use super::commit::{commit, put_lines, vacuum_path};
use super::fragment::FinishedFragment;
use crate::fragment::Fragment;
use crate::meta::schema::ArrayKind;
use crate::open::Array;
use crate::{Error, Result};

/// Which fragments to consolidate, and how.
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct Consolidation {
    /// Only fragments inside this time range, both ends included.
    pub between: Option<(u64, u64)>,
    /// Removes deleted cells permanently, so that time travel does not find them.
    pub purge: bool,
}

setters! { Consolidation {
    with_between => between: impl Into<Option<(u64, u64)>>,
    with_purge => purge: bool,
} }

/// A fragment that a consolidation would merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFragment {
    /// Its name.
    pub name: String,
    /// The first and the last time of its cells.
    pub timestamps: (u64, u64),
    /// Its cells; of a dense fragment those of its tiles.
    pub cells: u64,
    /// The bytes of its data files.
    pub bytes: u64,
}

impl ArrayWriter {
    /// Consolidates fragments into one. Does nothing if there are fewer than two, or if a purge leaves no cell: the
    /// format has no empty fragments.
    pub fn consolidate(&self, consolidation: &Consolidation) -> Result<Written> {
        let array = self.open_for_reading()?;
        let chosen = self.choose(&array, consolidation)?;
        if chosen.len() < 2 {
            return Ok(Written::default());
        }
        let start = chosen.iter().map(|fragment| fragment.name.start).min().unwrap_or(0);
        let end = chosen.iter().map(|fragment| fragment.name.end).max().unwrap_or(0);
        let merged = self.install(|| match self.schema.kind {
            ArrayKind::Dense => self.merge_dense(&array, &chosen, (start, end)).map(Some),
            ArrayKind::Sparse => self.merge_sparse(&array, &chosen, (start, end), consolidation.purge),
        })?;
        let Some((fragment, cells)) = merged else { return Ok(Written::default()) };
        commit(&self.location, std::slice::from_ref(&fragment.name), (start, end))?;
        let lines: Vec<String> = chosen.iter().map(|old| format!("/{}", old.path)).collect();
        put_lines(&self.location.join(&vacuum_path(&fragment.name)), &lines)?;
        Ok(Written { fragments: vec![fragment.name], cells, tiles: fragment.tiles, bytes: fragment.bytes })
    }

    /// The fragments that [`ArrayWriter::consolidate`] would merge; none where there are fewer than two.
    pub fn plan_consolidation(&self, consolidation: &Consolidation) -> Result<Vec<PlannedFragment>> {
        let array = self.open_for_reading()?;
        let chosen = self.choose(&array, consolidation)?;
        let few = chosen.len() < 2;
        let planned = |fragment: &Arc<Fragment>| {
            let footer = &fragment.footer;
            let sizes = footer.file_sizes.iter().chain(&footer.var_file_sizes);
            let sizes = sizes.chain(&footer.validity_file_sizes);
            Ok(PlannedFragment {
                name: fragment.name.name.clone(),
                timestamps: (fragment.name.start, fragment.name.end),
                cells: crate::stated::cells(fragment)?,
                bytes: sizes.fold(0, |sum, size| sum.saturating_add(*size)),
            })
        };
        chosen.iter().filter(|_| !few).map(planned).collect()
    }

    /// Writes the cells of a fragment of `array`, which has the columns of this array, as a fragment of the same times.
    /// It is not committed; `None` if it has no cells.
    pub(crate) fn rewrite_fragment(
        &self,
        array: &Array,
        fragment: &Arc<Fragment>,
    ) -> Result<Option<FinishedFragment>> {
        if fragment.tiles == 0 {
            return Ok(None);
        }
        let times = (fragment.name.start, fragment.name.end);
        let written = self.install(|| match self.schema.kind {
            ArrayKind::Dense => self.merge_dense(array, std::slice::from_ref(fragment), times).map(Some),
            ArrayKind::Sparse => self.rewrite_sparse(array, fragment),
        })?;
        Ok(written.map(|(fragment, _)| fragment))
    }

    pub(crate) fn open_for_reading(&self) -> Result<Array> {
        let key = self.key.as_ref().map(|key| Secret::new(key.expose().to_vec()));
        Array::open(&self.location, &OpenOptions::default().with_key(key))
    }

    fn choose(&self, array: &Array, consolidation: &Consolidation) -> Result<Vec<Arc<Fragment>>> {
        let (start, end) = consolidation.between.unwrap_or((0, u64::MAX));
        let inside = |fragment: &Fragment| fragment.name.is_within(&(start..=end));
        let chosen: Vec<Arc<Fragment>> =
            array.fragments.iter().filter(|f| inside(f)).map(Arc::clone).collect();
        if self.schema.kind == ArrayKind::Dense && chosen.len() > 1 {
            dense::refuse_hiding(array, &chosen)?;
        }
        if self.schema.kind == ArrayKind::Dense && consolidation.purge {
            return Err(Error::invalid("dense arrays have no deleted cells to purge"));
        }
        Ok(chosen)
    }
}
