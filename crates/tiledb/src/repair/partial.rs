//! Rewriting of a damaged fragment from its tiles that decode: a sparse fragment loses the other tiles, in a dense one
//! their cells become the fill value.

use std::ops::Range as Span;
use std::sync::Arc;

use tesselle_core::{ErrorKind, Location};

use crate::container::stored_fields;
use crate::fragment::Fragment;
use crate::meta::schema::ArraySchema;
use crate::meta::slots::Field;
use crate::open::Array;
use crate::read::sparse::Decoded;
use crate::verify::{Checker, cells_of, misplaced, tile_cells};
use crate::write::cells::TileCells;
use crate::write::fragment::{FragmentEnd, FragmentPlan, FragmentWriter, OLDEST_VERSION, TileSet};
use crate::{Error, Result};

/// Tiles that are written at once.
const GROUP: usize = 16;

/// The saved part of a fragment.
pub(super) struct Saved {
    /// Tiles whose every field was kept.
    pub(super) tiles: u64,
    /// Bytes of the kept tiles in the files of the source.
    pub(super) bytes: u64,
    /// The error of the first tile that was not kept entirely.
    pub(super) why: String,
}

/// Writes the tiles that decode to `target`, as a fragment of the same name that is not committed yet. `None` if there
/// is nothing to keep.
pub(super) fn save(array: &Array, fragment: &Fragment, target: &Location) -> Result<Option<Saved>> {
    if fragment.version() < OLDEST_VERSION {
        return Ok(None);
    }
    let fields = stored_fields(fragment);
    // Without its lists, nothing is known about a field's tiles.
    let Ok(checkers) =
        fields.iter().map(|field| Checker::try_new(array, fragment, *field)).collect::<Result<Vec<_>>>()
    else {
        return Ok(None);
    };
    let (Some(schema_name), Ok(processed_conditions)) =
        (fragment.footer.schema_name.clone(), fragment.processed_conditions())
    else {
        return Ok(None);
    };
    let plan = FragmentPlan {
        array: target.clone(),
        schema: Arc::clone(&fragment.schema),
        schema_name,
        key: array.key.clone(),
        version: fragment.version(),
        timestamps: (fragment.name.start, fragment.name.end),
        name: Some(fragment.name.name.clone()),
        with_timestamps: fragment.footer.has_timestamps,
        with_deletes: fragment.footer.has_deletes,
    };
    let mut job = Job {
        fragment,
        checkers: &checkers,
        // The domain was checked when the cells were written; the array may have been shrunk by hand since.
        schema: ArraySchema { current_domain: None, ..(*fragment.schema).clone() },
        end: FragmentEnd { processed_conditions, ..FragmentEnd::default() },
        saved: Saved { tiles: 0, bytes: 0, why: String::new() },
        kept: 0,
    };
    let mut writer = FragmentWriter::create(plan)?;
    let mut tile = 0;
    while tile < fragment.tiles {
        let mut group = Vec::new();
        while tile < fragment.tiles && group.len() < GROUP {
            group.extend(job.tile(tile)?);
            tile += 1;
        }
        match writer.append(&group) {
            // Fill values do not pass every filter.
            Err(error) if error.kind() == ErrorKind::Invalid => return Ok(None),
            appended => appended?,
        }
    }
    if job.kept == 0 {
        return Ok(None);
    }
    if fragment.footer.dense {
        job.end.domain.clone_from(&fragment.footer.non_empty_domain);
        job.end.last_tile_cells = checkers.first().map_or(0, |checker| checker.cells_of(0));
    }
    match writer.finish(&job.end) {
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(None),
        finished => finished.map(|_| Some(job.saved)),
    }
}

struct Job<'a> {
    fragment: &'a Fragment,
    checkers: &'a [Checker<'a>],
    schema: ArraySchema,
    end: FragmentEnd,
    saved: Saved,
    /// Tiles of single fields that were kept.
    kept: u64,
}

impl Job<'_> {
    /// The cells of a tile to write; `None` for a dropped tile.
    fn tile(&mut self, tile: u64) -> Result<Option<TileSet>> {
        let mut decoded: Vec<Option<Decoded>> = Vec::with_capacity(self.checkers.len());
        let mut bytes = 0_u64;
        for checker in self.checkers {
            match checker.intact(tile)? {
                Ok(cells) => {
                    bytes = bytes.saturating_add(checker.stored_bytes(tile));
                    decoded.push(Some(cells));
                }
                Err(why) => {
                    self.lost(tile, checker.name(), &why);
                    decoded.push(None);
                }
            }
        }
        let whole = decoded.iter().all(Option::is_some);
        let set = if self.fragment.footer.dense {
            self.kept += decoded.iter().flatten().count() as u64;
            Some(self.dense(tile, decoded)?)
        } else if whole {
            self.sparse(tile, decoded.into_iter().flatten().collect())?
        } else {
            None
        };
        if set.is_some() {
            self.saved.bytes = self.saved.bytes.saturating_add(bytes);
            self.saved.tiles += u64::from(whole);
        }
        Ok(set)
    }

    fn lost(&mut self, tile: u64, field: &str, why: &str) {
        if self.saved.why.is_empty() {
            self.saved.why = format!("tile {tile} of '{field}': {why}");
        }
    }

    fn dense(&self, tile: u64, decoded: Vec<Option<Decoded>>) -> Result<TileSet> {
        let mut fields = Vec::with_capacity(decoded.len());
        let mut real: Vec<Span<usize>> = Vec::new();
        for (cells, checker) in decoded.into_iter().zip(self.checkers) {
            let count = usize::try_from(checker.cells_of(tile))
                .map_err(|_| Error::limit("a tile has too many cells"))?;
            fields.push(match cells {
                Some(cells) => tile_cells(cells),
                None => self.fill(checker.field, count)?,
            });
            if real.is_empty() {
                real = checker.real_cells(tile, count).unwrap_or_else(|| std::iter::once(0..count).collect());
            }
        }
        Ok(TileSet { fields, real })
    }

    /// A tile of fill values.
    fn fill(&self, field: Field, count: usize) -> Result<TileCells> {
        let attribute = match field {
            Field::Attribute(i) => self.fragment.schema.attributes.get(i),
            _ => None,
        };
        let attribute =
            attribute.ok_or_else(|| Error::internal("a dense fragment stores more than attributes"))?;
        let size = attribute.fill.len();
        Ok(TileCells {
            data: attribute.fill.repeat(count),
            offsets: attribute.is_var().then(|| (0..count).map(|cell| (cell * size) as u64).collect()),
            validity: attribute.nullable.then(|| vec![u8::from(attribute.fill_valid); count]),
        })
    }

    fn sparse(&mut self, tile: u64, decoded: Vec<Decoded>) -> Result<Option<TileSet>> {
        let attributes = self.schema.attributes.len();
        let dims = &self.schema.dimensions;
        let coords = || decoded.iter().skip(attributes).take(dims.len());
        let has_box = coords().zip(dims).all(|(cells, dim)| cells.range(dim).is_some());
        let cells: Vec<_> = coords().map(|cells| cells_of(cells.clone())).collect();
        let wrong = misplaced(self.fragment, &self.schema, &cells).map(|(_, why)| why);
        if !has_box || wrong.is_some() {
            self.lost(tile, "coordinates", wrong.as_deref().unwrap_or("there are none"));
            return Ok(None);
        }
        self.end.last_tile_cells = self.fragment.cells_of(tile);
        self.kept += 1;
        let count = usize::try_from(self.end.last_tile_cells)
            .map_err(|_| Error::limit("a tile has too many cells"))?;
        let fields = decoded.into_iter().map(tile_cells).collect();
        Ok(Some(TileSet { fields, real: std::iter::once(0..count).collect() }))
    }
}
