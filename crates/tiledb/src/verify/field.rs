//! Verification of one field of a fragment: every tile decoded, every statistic recomputed.

use std::sync::Arc;

use tesselle_core::{Finding, Region, Report, Severity, Span};

use super::finding;
use super::structure::read;
use crate::container::field_name;
use crate::filter::Filter;
use crate::fragment::Fragment;
use crate::meta::datatype::Datatype;
use crate::meta::slots::Field;
use crate::meta::statistics::{FieldSummary, TileStatistics, TileValues};
use crate::open::Array;
use crate::order::grid::Grid;
use crate::read::sparse::{ColumnTiles, Decoded};
use crate::read::tile::FieldTiles;
use crate::vanished::damage;
use crate::write::cells::{CellType, TileCells};
use crate::write::statistics::{
    Presence, TileStats, Unsettled, is_byte_string, of_tile, summarize, unsettled,
};
use crate::{Error, Result};

/// Checks the tiles of one field.
pub(crate) struct Checker<'a> {
    array: &'a Array,
    fragment: &'a Fragment,
    pub(crate) field: Field,
    name: String,
    tiles: ColumnTiles,
    kind: CellType,
    presence: Presence,
    statistics: Arc<TileStatistics>,
    /// With a lossy filter, statistics describe the written values, not the values read.
    lossy: bool,
    grid: Option<(Grid, u64)>,
    conditions: u64,
}

/// The result of checking one tile.
pub(super) struct TileOutcome {
    pub(super) findings: Vec<Finding>,
    /// Its statistics, if they were recomputed and agree with the stored ones.
    agreed: Option<TileStats>,
}

impl<'a> Checker<'a> {
    pub(crate) fn try_new(array: &'a Array, fragment: &'a Fragment, field: Field) -> Result<Self> {
        let schema = &fragment.schema;
        let missing = || Error::internal("there is no such field");
        let (kind, is_dimension, lossy) = match field {
            Field::Attribute(i) => {
                let attribute = schema.attributes.get(i).ok_or_else(missing)?;
                let lossy = attribute.filters.filters.iter();
                let mut lossy =
                    lossy.filter(|f| matches!(f, Filter::FloatScale { .. } | Filter::Webp { .. }));
                (CellType::of_attribute(attribute), false, lossy.next().is_some())
            }
            Field::Dimension(i) => {
                let dim = schema.dimensions.get(i).ok_or_else(missing)?;
                let lossy = dim.filters.filters.iter().any(|f| matches!(f, Filter::FloatScale { .. }));
                (CellType::of_dimension(dim), true, lossy)
            }
            _ => (CellType::special(), true, true),
        };
        let grid = match &fragment.dense {
            Some(_) => {
                let grid = schema.grid()?;
                let cells = grid.cells_per_tile()?;
                Some((grid, cells))
            }
            None => None,
        };
        let has_statistics = fragment.version() >= 11 && !matches!(field, Field::Coords);
        let presence = Presence::of(kind, is_dimension);
        let presence =
            if has_statistics { presence } else { Presence { min_max: false, sum: false, nulls: false } };
        Ok(Self {
            array,
            fragment,
            field,
            name: field_name(fragment, field),
            tiles: ColumnTiles::Field(Arc::new(FieldTiles::try_new(array, fragment, field)?)),
            kind,
            presence,
            statistics: fragment.statistics(field)?,
            lossy,
            grid,
            conditions: fragment.processed_conditions()?.len() as u64,
        })
    }

    /// Decodes a tile, and compares its statistics if `deep`. Fails if the storage fails.
    pub(super) fn check(&self, tile: u64, deep: bool) -> Result<TileOutcome> {
        let cells = self.cells_of(tile);
        Ok(match read(self.array, &self.tiles, tile, cells) {
            Err(error) => {
                let error = damage(error)?.piece(format!("tile {tile} of '{}'", self.name));
                TileOutcome { findings: vec![Finding::from_error(error.class_name(), &error)], agreed: None }
            }
            Ok(decoded) if deep => self.compare(tile, cells, decoded),
            Ok(_) => TileOutcome { findings: Vec::new(), agreed: None },
        })
    }

    /// The cells of a tile, or what is wrong with them. Fails if the storage fails.
    pub(crate) fn intact(&self, tile: u64) -> Result<std::result::Result<Decoded, String>> {
        let decoded = match read(self.array, &self.tiles, tile, self.cells_of(tile)) {
            Ok(decoded) => decoded,
            Err(error) => return damage(error).map(|error| Err(error.message().to_owned())),
        };
        let mut findings = Vec::new();
        self.check_values(tile, &decoded, &mut findings);
        Ok(match findings.pop() {
            Some(finding) => Err(finding.message),
            None => Ok(decoded),
        })
    }

    /// Cells of a tile, padding included.
    pub(crate) fn cells_of(&self, tile: u64) -> u64 {
        self.grid.as_ref().map_or_else(|| self.fragment.cells_of(tile), |(_, cells)| *cells)
    }

    /// The bytes of a tile in the files of the field.
    pub(crate) fn stored_bytes(&self, tile: u64) -> u64 {
        self.tiles.stored_bytes(tile)
    }

    /// The name of the field.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The cells of a tile that were written, and all of them.
    fn candidates(&self, tile: u64, cells: u64) -> [Vec<std::ops::Range<usize>>; 2] {
        let count = usize::try_from(cells).unwrap_or(0);
        let whole: Vec<std::ops::Range<usize>> = std::iter::once(0..count).collect();
        [self.real_cells(tile, count).unwrap_or_else(|| whole.clone()), whole]
    }

    fn compare(&self, tile: u64, cells: u64, decoded: Decoded) -> TileOutcome {
        let mut findings = Vec::new();
        self.check_values(tile, &decoded, &mut findings);
        if self.lossy || !(self.presence.min_max || self.presence.sum || self.presence.nulls) {
            return TileOutcome { findings, agreed: None };
        }
        let mut wrong = Vec::new();
        let mut agreed = None;
        let tile_cells = tile_cells(decoded);
        // A consolidated dense fragment counts the padding of its border tiles as cells.
        for places in self.candidates(tile, cells) {
            let stats = of_tile(&tile_cells, self.kind, self.presence, &places);
            wrong = self.differences(tile, &stats, &Unsettled::default());
            if wrong.is_empty() {
                agreed = Some(stats);
                break;
            }
            if self.fragment.footer.dense {
                wrong = self.differences(tile, &stats, &unsettled(&tile_cells, self.kind, &places));
                if wrong.is_empty() {
                    agreed = Some(self.as_stored(tile, stats));
                    break;
                }
            }
        }
        if agreed.is_none() {
            let known = self.is_known_defect();
            let severity = if known { Severity::Warning } else { Severity::Error };
            let message = format!(
                "the stored {} of tile {tile} of '{}' {} not that of its cells",
                wrong.join(" and "),
                self.name,
                if wrong.len() == 1 { "is" } else { "are" }
            );
            findings.push(
                finding(severity, "tile_statistics", message, self.fragment.metadata_path())
                    .piece(format!("tile {tile} of '{}'", self.name)),
            );
        }
        TileOutcome { findings, agreed }
    }

    /// Values that no writer may store.
    fn check_values(&self, tile: u64, decoded: &Decoded, findings: &mut Vec<Finding>) {
        let mut add = |kind: &'static str, message: String| {
            let found = finding(Severity::Error, kind, message, self.fragment.path.clone());
            findings.push(found.piece(format!("tile {tile} of '{}'", self.name)));
        };
        let times = self.fragment.name.start..=self.fragment.name.end;
        match self.field {
            Field::Timestamps => {
                if let Some(time) = decoded.numbers().iter().find(|time| !times.contains(time)) {
                    add("timestamps", format!("a cell has timestamp {time}, outside its fragment's"));
                }
            }
            Field::DeleteCondition => {
                let known = |index: u64| index == u64::MAX || index < self.conditions;
                if let Some(index) = decoded.numbers().iter().find(|index| !known(**index)) {
                    add(
                        "delete_condition",
                        format!("a cell names delete condition {index} of {}", self.conditions),
                    );
                }
            }
            _ => {}
        }
        if let Decoded::Var { cells, .. } = decoded {
            let size = self.kind.datatype.size().max(1) as u64;
            if cells.offsets.iter().any(|offset| *offset % size != 0) {
                add(
                    "cell_length",
                    format!("a cell is not a multiple of {} values", self.kind.datatype.name()),
                );
            }
        }
        if decoded.validity().is_some_and(|validity| validity.iter().any(|valid| *valid > 1)) {
            add("validity", "a validity byte is neither 0 nor 1".to_owned());
        }
    }

    /// The cells of a dense tile that were written, as runs; the others are padding.
    pub(crate) fn real_cells(&self, tile: u64, count: usize) -> Option<Vec<std::ops::Range<usize>>> {
        let (grid, _) = self.grid.as_ref()?;
        let dense = self.fragment.dense.as_ref()?;
        let index = grid.tile_index(&dense.tiles, tile)?;
        let part = grid.tile_region(&index).intersect(&dense.region)?;
        let spans = part.low.iter().zip(&part.high);
        let spans =
            spans.map(|(low, high)| Span { start: *low, stop: high.saturating_add(1), step: 1 }).collect();
        let runs = grid.runs(&index, &part, &Region { spans })?;
        let mut written = vec![false; count];
        for run in &runs.starts {
            for i in 0..runs.len {
                *written.get_mut(run.source + i * runs.step)? = true;
            }
        }
        let mut out: Vec<std::ops::Range<usize>> = Vec::new();
        for (cell, _) in written.iter().enumerate().filter(|(_, written)| **written) {
            match out.last_mut() {
                Some(run) if run.end == cell => run.end += 1,
                _ => out.push(cell..cell + 1),
            }
        }
        Some(out)
    }

    /// Statistics with the stored minimum, maximum and sum.
    fn as_stored(&self, tile: u64, mut stats: TileStats) -> TileStats {
        let at = usize::try_from(tile).unwrap_or(usize::MAX);
        let (stored, size) = (&self.statistics, self.kind.cell_size());
        if let (Some(min), Some(max)) = (stored.mins.fixed_at(at, size), stored.maxs.fixed_at(at, size)) {
            (stats.min, stats.max) = (min.to_vec(), max.to_vec());
        }
        stats.sum = stored.sums.get(at).copied().unwrap_or(stats.sum);
        stats
    }

    /// The stored statistics that differ from the recomputed ones by more than what is unsettled about them.
    fn differences(&self, tile: u64, stats: &TileStats, unsettled: &Unsettled) -> Vec<&'static str> {
        let mut out = Vec::new();
        let Ok(at) = usize::try_from(tile) else { return out };
        let stored = &self.statistics;
        let all_null = stats.nulls == stats.cells;
        if self.presence.min_max && !stored.mins.fixed.is_empty() {
            let (min, max) = if self.kind.is_var() {
                (stored.mins.var_at(at), stored.maxs.var_at(at))
            } else {
                let size = self.kind.cell_size();
                (stored.mins.fixed_at(at, size), stored.maxs.fixed_at(at, size))
            };
            // Nulls alone have no minimum: engines mostly store zeros, but not always.
            let same = |stored: Option<&[u8]>, found: &[u8]| match stored {
                Some(_) if all_null || unsettled.min_max => true,
                Some(stored) => stored == found || self.same_floats(stored, found),
                None => false,
            };
            if !same(min, &stats.min) {
                out.push("minimum");
            }
            if !same(max, &stats.max) {
                out.push("maximum");
            }
        }
        if self.presence.sum && !stored.sums.is_empty() {
            let same = stored.sums.get(at).is_some_and(|sum| {
                let is_float = self.kind.datatype.is_float();
                let (a, b) = (f64::from_bits(*sum), f64::from_bits(stats.sum));
                *sum == stats.sum
                    || unsettled.sum.is_infinite()
                    || (is_float && ((a.is_nan() && b.is_nan()) || (a - b).abs() <= unsettled.sum))
            });
            if !same {
                out.push("sum");
            }
        }
        if self.presence.nulls
            && !stored.null_counts.is_empty()
            && stored.null_counts.get(at) != Some(&stats.nulls)
        {
            out.push("null count");
        }
        out
    }

    /// Whether two values are both NaN, or zeros of whichever sign: of equal values the order of the cells decides.
    fn same_floats(&self, a: &[u8], b: &[u8]) -> bool {
        let number = |bytes: &[u8]| match self.kind.datatype {
            Datatype::Float32 => bytes.try_into().ok().map(|bytes| f64::from(f32::from_le_bytes(bytes))),
            Datatype::Float64 => bytes.try_into().ok().map(f64::from_le_bytes),
            _ => None,
        };
        let (Some(a), Some(b)) = (number(a), number(b)) else { return false };
        a == b || (a.is_nan() && b.is_nan())
    }

    /// Statistics that released engines are known to write wrongly (spec §20): min and max of strings and everything
    /// about nulls in dense tiles, and null counts of fields without min and max.
    fn is_known_defect(&self) -> bool {
        let text = matches!(self.kind.datatype, Datatype::StringAscii | Datatype::Char);
        let null_counts = self.kind.nullable && (self.kind.is_var() || !self.presence.min_max);
        null_counts || (self.fragment.footer.dense && (text || self.kind.nullable))
    }

    /// Compares the fragment summary with the statistics of its tiles, where these were correct.
    pub(super) fn check_summary(&self, outcomes: &[TileOutcome], report: &mut Report) {
        let agreed: Option<Vec<TileStats>> = outcomes.iter().map(|outcome| outcome.agreed.clone()).collect();
        let (Some(stats), Ok(Some(summary))) = (agreed.filter(|s| !s.is_empty()), self.fragment.summary())
        else {
            return;
        };
        let slot = self.fragment.slots.index(self.field);
        let Some(stored) = slot.and_then(|slot| summary.get(slot)) else { return };
        let found = summarize(&stats, self.kind, self.presence);
        let nan = |bits: u64| self.kind.datatype.is_float() && f64::from_bits(bits).is_nan();
        let same_value = |a: &[u8], b: &[u8]| a == b || self.same_floats(a, b);
        // Nulls alone have no minimum; engines store their initial value.
        let has_values = stats.iter().any(|tile| tile.cells > tile.nulls);
        let same = (!(self.presence.min_max && has_values)
            || (same_value(&stored.min, &found.min) && same_value(&stored.max, &found.max)))
            && (!self.presence.sum || stored.sum == found.sum || (nan(stored.sum) && nan(found.sum)))
            && (!self.presence.nulls || stored.null_count == found.null_count);
        if !same {
            // Of strings of fixed size the engine takes the wrong tiles if some have only nulls.
            let shifted = self.kind.nullable && !self.kind.is_var() && is_byte_string(self.kind);
            let known = self.is_known_defect() || shifted;
            let severity = if known { Severity::Warning } else { Severity::Error };
            let message = format!("the summary of '{}' does not follow from its tiles", self.name);
            report.add(finding(severity, "fragment_statistics", message, self.fragment.metadata_path()));
        }
    }
}

/// Decoded cells in the form for writing.
pub(crate) fn tile_cells(decoded: Decoded) -> TileCells {
    match decoded {
        Decoded::Fixed { bytes, validity, .. } => TileCells { data: bytes, offsets: None, validity },
        Decoded::Var { cells, validity } => {
            let mut offsets = cells.offsets;
            offsets.pop();
            TileCells { data: cells.data, offsets: Some(offsets), validity }
        }
    }
}

/// The statistics of all tiles of a field, computed from its cells, and their summary.
pub(crate) fn recompute(
    array: &Array,
    fragment: &Fragment,
    field: Field,
) -> Result<(TileStatistics, FieldSummary)> {
    let checker = Checker::try_new(array, fragment, field)?;
    let (kind, presence) = (checker.kind, checker.presence);
    let mut out = TileStatistics::default();
    let mut all = Vec::new();
    for tile in 0..fragment.tiles {
        let cells = checker.cells_of(tile);
        let decoded = read(array, &checker.tiles, tile, cells)?;
        let [real, _] = checker.candidates(tile, cells);
        let stats = of_tile(&tile_cells(decoded), kind, presence, &real);
        if presence.min_max {
            push_value(&mut out.mins, &stats.min, kind);
            push_value(&mut out.maxs, &stats.max, kind);
        }
        if presence.sum {
            out.sums.push(stats.sum);
        }
        if presence.nulls {
            out.null_counts.push(stats.nulls);
        }
        all.push(stats);
    }
    Ok((out, summarize(&all, kind, presence)))
}

/// Appends the value of one tile; zeros if a tile has none.
fn push_value(values: &mut TileValues, value: &[u8], kind: CellType) {
    if kind.is_var() {
        values.fixed.extend_from_slice(&(values.var.len() as u64).to_le_bytes());
        values.var.extend_from_slice(value);
    } else {
        let end = values.fixed.len().saturating_add(kind.cell_size());
        values.fixed.extend_from_slice(value);
        values.fixed.resize(end, 0);
    }
}
