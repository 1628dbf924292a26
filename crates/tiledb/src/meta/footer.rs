//! The footer of a fragment metadata file (spec §9.2), from version 3 on. Never compressed or encrypted.
//!
//! It is at the end of the file; from version 10, or when a dimension is a string, its length follows as a `u64`.

use bytes::Bytes;

use super::dimension::Dimension;
use super::schema::{ArrayKind, ArraySchema, check_version};
use super::slots::Slots;
use super::value::Bounds;
use super::wire::{flag, name64, numbers_of, put_bytes64, put_ranges, ranges};
use crate::{Cursor, Error, Result};

/// Where the lists of one kind start in the metadata file, slot by slot.
pub(crate) type Places = Vec<u64>;

/// The footer of a fragment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Footer {
    /// The format version of the fragment.
    pub version: u32,
    /// The schema it was written with; before version 10 the array has only one.
    pub schema_name: Option<String>,
    /// Dense or sparse.
    pub dense: bool,
    /// The box that its cells span.
    pub non_empty_domain: Option<Vec<Bounds>>,
    /// Tiles of a sparse fragment.
    pub sparse_tiles: u64,
    /// Cells in the last tile.
    pub last_tile_cells: u64,
    /// Whether cells carry timestamps.
    pub has_timestamps: bool,
    /// Whether cells carry deletion timestamps and condition indexes.
    pub has_deletes: bool,
    /// Sizes of the files with fixed data or offsets.
    pub file_sizes: Vec<u64>,
    /// Sizes of the files with variable data.
    pub var_file_sizes: Vec<u64>,
    /// Sizes of the files with validity.
    pub validity_file_sizes: Vec<u64>,
    /// Where the R-tree is.
    pub rtree: u64,
    /// Where the offsets of tiles are.
    pub tile_offsets: Places,
    /// Where the offsets of variable-length tiles are.
    pub var_offsets: Places,
    /// Where the sizes of variable-length tiles are.
    pub var_sizes: Places,
    /// Where the offsets of validity tiles are (7+).
    pub validity_offsets: Places,
    /// Where the minimum values are (11+).
    pub mins: Places,
    /// Where the maximum values are (11+).
    pub maxs: Places,
    /// Where the sums are (11+).
    pub sums: Places,
    /// Where the null counts are (11+).
    pub null_counts: Places,
    /// Where the summary of the fragment is (12+).
    pub summary: Option<u64>,
    /// Where the list of processed delete conditions is (16+).
    pub processed_conditions: Option<u64>,
    /// Sections by number, their bytes uninterpreted (23+).
    pub sections: Vec<(u64, Vec<u8>)>,
}

/// The version and the schema name, needed to parse the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FooterHead {
    /// The format version.
    pub version: u32,
    /// The schema's name, from version 10.
    pub schema_name: Option<String>,
}

impl FooterHead {
    /// Reads the head of a footer that starts the slice.
    pub(crate) fn parse(footer: &[u8], base: u64) -> Result<Self> {
        Self::read(&mut Cursor::new(footer, base, "fragment footer"))
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let version = cursor.u32_le()?;
        check_version(version).map_err(|error| error.offset(cursor.offset()))?;
        let schema_name = if version >= 10 { Some(name64(cursor)?) } else { None };
        Ok(Self { version, schema_name })
    }
}

/// Cuts the footer from the end of a metadata file that stores its length (10+, or string dimensions).
pub(crate) fn footer_by_length(file: &Bytes) -> Result<(u64, Bytes)> {
    let size = file.len() as u64;
    let trailer = file.len().checked_sub(8).and_then(|at| file.get(at..));
    let Some(length) = trailer.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes) else {
        return Err(
            Error::corrupt(format!("a fragment metadata file has only {size} bytes")).class("truncated")
        );
    };
    cut(file, size - 8, length)
}

/// Cuts the footer of `length` bytes that ends at `end`.
pub(crate) fn cut(file: &Bytes, end: u64, length: u64) -> Result<(u64, Bytes)> {
    let start = end.checked_sub(length).ok_or_else(|| {
        Error::corrupt(format!(
            "the footer of a fragment has {length} bytes, but only {end} are before its end"
        ))
        .class("bad_footer")
        .offset(end)
    })?;
    let range =
        usize::try_from(start).ok().zip(usize::try_from(end).ok()).filter(|(_, end)| *end <= file.len());
    let (from, to) = range.ok_or_else(|| Error::corrupt("the footer lies outside its file"))?;
    Ok((start, file.slice(from..to)))
}

/// The length of a footer before version 10 whose dimensions are all fixed.
pub(crate) fn footer_length(schema: &ArraySchema, version: u32) -> u64 {
    let domain: usize = schema.dimensions.iter().map(|dim| 2 * dim.datatype.size()).sum();
    let attributes = schema.attributes.len();
    let numbers = if version < 5 {
        // Sizes of files and of variable files, the R-tree, three kinds of lists, two counts.
        (attributes + 1) + attributes + 1 + (attributes + 1) + attributes + attributes + 2
    } else {
        let slots = Slots::new(schema, version, false, false).len();
        let lists = if version >= 7 { 7 } else { 5 };
        lists * slots + 1 + 2
    };
    (4 + 2 + domain + 8 * numbers) as u64
}

impl Footer {
    /// Reads a whole footer with the schema that its head names.
    pub(crate) fn parse(footer: &[u8], base: u64, schema: &ArraySchema) -> Result<Self> {
        let mut cursor = Cursor::new(footer, base, "fragment footer");
        let cursor = &mut cursor;
        let FooterHead { version, schema_name } = FooterHead::read(cursor)?;
        let dense = flag(cursor)?;
        if dense != (schema.kind == ArrayKind::Dense) {
            return Err(cursor.corrupt("a fragment and its schema disagree on whether the array is dense"));
        }
        let is_null = flag(cursor)?;
        let domain = ranges(cursor, &schema.dimensions)?;
        let non_empty_domain = (!is_null).then_some(domain);
        let sparse_tiles = cursor.u64_le()?;
        let last_tile_cells = cursor.u64_le()?;
        let has_timestamps = version >= 14 && flag(cursor)?;
        let has_deletes = version >= 15 && flag(cursor)?;
        let attributes = schema.attributes.len();
        let slots = Slots::new(schema, version, has_timestamps, has_deletes).len();
        let (all, only_attributes) = if version < 5 { (attributes + 1, attributes) } else { (slots, slots) };
        let list = |cursor: &mut Cursor<'_>, since: u32, count: usize| {
            if version >= since { numbers_of(cursor, count) } else { Ok(Vec::new()) }
        };
        Ok(Self {
            version,
            schema_name,
            dense,
            non_empty_domain,
            sparse_tiles,
            last_tile_cells,
            has_timestamps,
            has_deletes,
            file_sizes: list(cursor, 0, all)?,
            var_file_sizes: list(cursor, 0, only_attributes)?,
            validity_file_sizes: list(cursor, 7, all)?,
            rtree: cursor.u64_le()?,
            tile_offsets: list(cursor, 0, all)?,
            var_offsets: list(cursor, 0, only_attributes)?,
            var_sizes: list(cursor, 0, only_attributes)?,
            validity_offsets: list(cursor, 7, all)?,
            mins: list(cursor, 11, all)?,
            maxs: list(cursor, 11, all)?,
            sums: list(cursor, 11, all)?,
            null_counts: list(cursor, 11, all)?,
            summary: if version >= 12 { Some(cursor.u64_le()?) } else { None },
            processed_conditions: if version >= 16 { Some(cursor.u64_le()?) } else { None },
            sections: if version >= 23 { parse_sections(cursor)? } else { Vec::new() },
        })
    }

    /// The bytes of the footer, followed by its length where the version stores it.
    pub(crate) fn write(&self, dims: &[Dimension]) -> Result<Vec<u8>> {
        let mut out = self.version.to_le_bytes().to_vec();
        if self.version >= 10 {
            put_bytes64(&mut out, self.schema_name.as_deref().unwrap_or_default().as_bytes());
        }
        out.extend_from_slice(&[u8::from(self.dense), u8::from(self.non_empty_domain.is_none())]);
        match &self.non_empty_domain {
            Some(ranges) => put_ranges(&mut out, dims, ranges)?,
            None => out.resize(out.len() + dims.iter().map(|dim| 2 * dim.datatype.size()).sum::<usize>(), 0),
        }
        let put = |out: &mut Vec<u8>, numbers: &[u64]| {
            out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        };
        put(&mut out, &[self.sparse_tiles, self.last_tile_cells]);
        if self.version >= 14 {
            out.push(u8::from(self.has_timestamps));
        }
        if self.version >= 15 {
            out.push(u8::from(self.has_deletes));
        }
        put(&mut out, &self.file_sizes);
        put(&mut out, &self.var_file_sizes);
        if self.version >= 7 {
            put(&mut out, &self.validity_file_sizes);
        }
        put(&mut out, &[self.rtree]);
        put(&mut out, &self.tile_offsets);
        put(&mut out, &self.var_offsets);
        put(&mut out, &self.var_sizes);
        if self.version >= 7 {
            put(&mut out, &self.validity_offsets);
        }
        if self.version >= 11 {
            for list in [&self.mins, &self.maxs, &self.sums, &self.null_counts] {
                put(&mut out, list);
            }
        }
        if self.version >= 12 {
            put(&mut out, &[self.summary.unwrap_or_default()]);
        }
        if self.version >= 16 {
            put(&mut out, &[self.processed_conditions.unwrap_or_default()]);
        }
        if self.version >= 23 {
            out.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());
            for (id, bytes) in &self.sections {
                put(&mut out, &[*id]);
                out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes);
            }
        }
        if self.version >= 10 || dims.iter().any(Dimension::is_var) {
            let length = out.len() as u64;
            put(&mut out, &[length]);
        }
        Ok(out)
    }
}

fn parse_sections(cursor: &mut Cursor<'_>) -> Result<Vec<(u64, Vec<u8>)>> {
    let stated = cursor.u32_le()?;
    let count = cursor.count(stated.into(), 12)?;
    (0..count)
        .map(|_| {
            let id = cursor.u64_le()?;
            let size = cursor.u32_le()?;
            Ok((id, cursor.bytes_u64(size.into())?.to_vec()))
        })
        .collect()
}
