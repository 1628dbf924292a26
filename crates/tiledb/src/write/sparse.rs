//! Sparse writes (spec §8.3): cells with their coordinates, sorted into tiles.

use arrow_array::RecordBatch;
use tesselle_core::{Action, At, Within, setters};

use super::array::{ArrayWriter, Written};
use super::cells::Cells;
use super::commit::{commit, fragment_path};
use super::fragment::{FinishedFragment, FragmentEnd, FragmentPlan, FragmentWriter, TileSet, stored_fields};
use super::name::stamp;
use super::order::{GlobalOrder, Ordered};
use crate::meta::schema::ArrayKind;
use crate::{Error, Result};

/// The behavior when two cells of a write share coordinates and the array does not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDuplicate {
    /// The write is refused.
    #[default]
    Refuse,
    /// The cell that came last stays.
    KeepLast,
}

/// How cells come.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SparseOptions {
    /// Whether the cells are already in global order; an error if they are not.
    pub in_global_order: bool,
    /// The behavior on duplicates.
    pub on_duplicate: OnDuplicate,
    /// When the write happens, in milliseconds since the epoch; `None` is now.
    pub timestamp: Option<u64>,
}

setters! { SparseOptions {
    with_in_global_order => in_global_order: bool,
    with_on_duplicate => on_duplicate: OnDuplicate,
    with_timestamp => timestamp: impl Into<Option<u64>>,
} }

/// Tiles that are filtered at once.
const GROUP_BYTES: usize = 16 << 20;

impl ArrayWriter {
    /// Writes the cells of `batches`, one column per dimension and attribute, as one fragment.
    pub fn write_sparse(&self, batches: &[RecordBatch], options: &SparseOptions) -> Result<Written> {
        let timestamps = stamp(options.timestamp);
        let fragment = self.install(|| self.write_fragment(batches, timestamps, options))?;
        self.commit_all(fragment.into_iter().collect(), timestamps)
    }

    /// Writes the cells of many batches as one fragment, or as several that become visible together if they exceed a
    /// quarter of the driver's memory. Duplicates are detected within a fragment.
    pub fn write_sparse_all(
        &self,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
        options: &SparseOptions,
    ) -> Result<Written> {
        let timestamps = stamp(options.timestamp);
        let mut fragments = Vec::new();
        let added = self.add_fragments(batches, timestamps, options, &mut fragments);
        self.commit_if(added, fragments, timestamps)
    }

    /// Commits fragments together, or removes them if the work on them failed.
    pub(super) fn commit_if(
        &self,
        done: Result<()>,
        fragments: Vec<(FinishedFragment, u64)>,
        timestamps: (u64, u64),
    ) -> Result<Written> {
        if let Err(error) = done {
            for (fragment, _) in &fragments {
                let folder = self.location.join(&fragment_path(&fragment.name));
                // Without its commit the folder is invisible; a failed removal only wastes space.
                let _ = folder.storage().remove(folder.path());
            }
            return Err(error);
        }
        self.commit_all(fragments, timestamps)
    }

    fn add_fragments(
        &self,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
        timestamps: (u64, u64),
        options: &SparseOptions,
        fragments: &mut Vec<(FinishedFragment, u64)>,
    ) -> Result<()> {
        let most = self.driver.as_ref().map_or(u64::MAX, |driver| driver.budget().total() / 4);
        let (mut waiting, mut bytes) = (Vec::new(), 0_u64);
        for batch in batches {
            self.check_canceled()?;
            let batch = self.fit(&batch?)?;
            bytes = bytes.saturating_add(batch.get_array_memory_size() as u64);
            waiting.push(batch);
            if bytes > most {
                fragments.extend(self.install(|| self.write_fragment(&waiting, timestamps, options))?);
                waiting.clear();
                bytes = 0;
            }
        }
        fragments.extend(self.install(|| self.write_fragment(&waiting, timestamps, options))?);
        self.check_canceled()
    }

    fn write_fragment(
        &self,
        batches: &[RecordBatch],
        timestamps: (u64, u64),
        options: &SparseOptions,
    ) -> Result<Option<(FinishedFragment, u64)>> {
        let columns = self.sparse_columns(batches)?;
        self.write_cells(self.plan(timestamps), &columns, options)
    }

    pub(super) fn commit_all(
        &self,
        fragments: Vec<(FinishedFragment, u64)>,
        timestamps: (u64, u64),
    ) -> Result<Written> {
        let mut written = Written::default();
        for (fragment, cells) in fragments {
            written.cells += cells;
            written.tiles += fragment.tiles;
            written.bytes += fragment.bytes;
            written.fragments.push(fragment.name);
        }
        commit(&self.location, &written.fragments, timestamps)?;
        Ok(written)
    }

    fn sparse_columns(&self, batches: &[RecordBatch]) -> Result<Vec<Cells>> {
        if self.schema.kind != ArrayKind::Sparse {
            return Err(Error::invalid("a dense array takes boxes of cells, not cells with coordinates"));
        }
        let fields = stored_fields(&self.schema, false, false);
        let parts: Vec<Vec<Cells>> =
            batches.iter().map(|batch| self.cells_of(batch, &fields)).collect::<Result<_>>()?;
        let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
        let mut columns = Vec::with_capacity(fields.len());
        for _ in &fields {
            columns.extend(Cells::concat(parts.iter_mut().filter_map(Iterator::next).collect()));
        }
        Ok(columns)
    }

    /// Writes cells as a fragment that is not committed yet. `columns` are in the order of stored fields.
    pub(crate) fn write_cells(
        &self,
        plan: FragmentPlan,
        columns: &[Cells],
        options: &SparseOptions,
    ) -> Result<Option<(FinishedFragment, u64)>> {
        // Without batches there are no columns.
        if columns.is_empty() {
            return Ok(None);
        }
        let attributes = self.schema.attributes.len();
        let coords = columns.part(attributes..attributes + self.schema.dimensions.len())?;
        if coords.first().is_none_or(|column| column.count == 0) {
            return Ok(None);
        }
        let indexes = self.ordered(coords, plan.with_timestamps, options)?;
        let mut writer = FragmentWriter::create(plan)?;
        let capacity = usize::try_from(self.schema.capacity).unwrap_or(usize::MAX);
        let tiles: Vec<&[u32]> = indexes.chunks(capacity).collect();
        let total: usize = columns.iter().map(Cells::bytes).sum();
        let per_tile = (total / tiles.len().max(1)).max(1);
        for group in tiles.chunks((GROUP_BYTES / per_tile).clamp(1, 1024)) {
            self.check_canceled()?;
            writer.append_made(group, |indexes| {
                let fields = columns.iter().map(|column| column.gather(indexes)).collect();
                Ok(TileSet { fields, real: std::iter::once(0..indexes.len()).collect() })
            })?;
        }
        let last_tile_cells = tiles.last().map_or(0, |tile| tile.len() as u64);
        let fragment = writer.finish(&FragmentEnd { last_tile_cells, ..FragmentEnd::default() })?;
        Ok(Some((fragment, indexes.len() as u64)))
    }

    /// The cells in global order, with duplicates resolved.
    fn ordered(&self, coords: &[Cells], versions: bool, options: &SparseOptions) -> Result<Vec<u32>> {
        let order = GlobalOrder::try_new(&self.schema, coords)?;
        let Ordered { mut indexes, repeats } = if options.in_global_order {
            order.checked()?.map_err(|row| {
                Error::invalid(format!("row {row} is not in the global order of the array"))
                    .hint("write the cells as unordered, so that they are sorted")
            })?
        } else {
            order.sorted()?
        };
        let Some(first) = repeats.first().filter(|_| !self.schema.allows_dups && !versions) else {
            return Ok(indexes);
        };
        match options.on_duplicate {
            OnDuplicate::Refuse => {
                let row = |place: u32| indexes.value(place as usize);
                let (a, b) = (row(first - 1), row(*first));
                return Err(Error::invalid(format!("rows {a} and {b} have the same coordinates"))
                    .suggest("create the array with {} to keep both", [Action::setting("dups", "true")]));
            }
            OnDuplicate::KeepLast => {
                // A cell that is followed by one with the same coordinates is dropped.
                let mut gone = repeats.iter().map(|place| place - 1).peekable();
                let mut place = 0_u32;
                indexes.retain(|_| {
                    let keep = gone.next_if_eq(&place).is_none();
                    place += 1;
                    keep
                });
            }
        }
        Ok(indexes)
    }
}
