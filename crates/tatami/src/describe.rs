//! The description that `info` prints: from metadata alone, nothing decoded.

use serde_json::{Map, Value, json};
use tesselle_core::{ColumnDescription, ColumnRole, Description, Result, TableDescription, hex, json_bytes};

use crate::meta::groups::{Chunk, RowGroup};
use crate::meta::schema::flags;
use crate::meta::types::{codec_name, encoding_name};
use crate::meta::zone::to_scalar;
use crate::open::File;
use crate::read::chunk::page_headers;

/// Builds the object of `info`, except for the part that `search` adds.
pub(crate) fn describe(file: &File) -> Description {
    let (header, footer) = (file.header(), file.footer());
    let mut out = Description::new(crate::format::NAME, format!("{}.{}", header.major, header.minor));
    out.metadata =
        footer.key_value.iter().map(|(key, value)| json!([json_bytes(key), json_bytes(value)])).collect();
    let fields = footer.schema.fields.iter();
    let columns = fields.map(|field| {
        let mut extra = Map::new();
        if field.has(flags::SORT_KEY) {
            extra.insert("sort_key".into(), true.into());
        }
        if field.has(flags::BLOOM) {
            extra.insert("bloom".into(), true.into());
        }
        ColumnDescription {
            name: field.display_name(),
            kind: field.logical.name().to_owned(),
            role: ColumnRole::Column,
            nullable: field.has(flags::NULLABLE),
            extra,
        }
    });
    out.tables.push(TableDescription {
        name: String::new(),
        rows: Some(file.rows()),
        columns: columns.collect(),
        extra: Map::new(),
    });
    let groups: Vec<Value> = footer
        .groups
        .iter()
        .map(|g| json!({ "first_row": g.first_row, "rows": g.rows, "bytes": g.bytes }))
        .collect();
    let extra = &mut out.extra;
    extra.insert("uuid".into(), hex(&header.uuid).into());
    extra.insert("created_ms".into(), header.created_ms.into());
    extra.insert("creator_id".into(), header.creator_id.into());
    extra.insert("page_size_hint".into(), header.page_size_hint.into());
    extra.insert("flags".into(), header.flag_names().into());
    extra.insert("file_bytes".into(), file.size().into());
    extra.insert("stored_bytes".into(), footer.stats.compressed.into());
    extra.insert("raw_bytes".into(), footer.stats.uncompressed.into());
    if let Some(key) = footer.schema.sort_key().and_then(|k| footer.schema.fields.get(k)) {
        extra.insert("sort_key".into(), key.display_name().into());
    }
    if !footer.blooms.is_empty() {
        extra.insert("bloom_filters".into(), footer.blooms.len().into());
    }
    if !footer.blobs.is_empty() {
        let blobs = footer.blobs.iter().map(|b| {
            let (stored, raw) = b.runs.iter().fold((0u64, 0u64), |(s, r), run| {
                (s.saturating_add(run.compressed), r.saturating_add(run.uncompressed))
            });
            let name = footer.schema.fields.get(b.column as usize).map(crate::meta::schema::Field::display_name);
            json!({ "column": name, "runs": b.runs.len(), "stored_bytes": stored, "raw_bytes": raw, "dictionary": b.dictionary > 0 })
        });
        extra.insert("blob_columns".into(), blobs.collect());
    }
    extra.insert("row_groups".into(), groups.into());
    out
}

/// The column chunks in file order, with their pages.
pub(crate) fn chunks(file: &File, limit: Option<usize>) -> Result<Vec<Value>> {
    let groups = file.footer().groups.iter().enumerate();
    let all = groups.flat_map(|(g, group)| ordered(group).into_iter().map(move |chunk| (g, chunk)));
    all.take(limit.unwrap_or(usize::MAX)).map(|(g, chunk)| describe_chunk(file, g, chunk)).collect()
}

fn ordered(group: &RowGroup) -> Vec<&Chunk> {
    let mut chunks: Vec<&Chunk> = group.chunks.iter().collect();
    chunks.sort_by_key(|chunk| chunk.offset);
    chunks
}

fn describe_chunk(file: &File, group: usize, chunk: &Chunk) -> Result<Value> {
    let field = usize::try_from(chunk.column).ok().and_then(|c| file.footer().schema.fields.get(c));
    let name =
        field.map_or_else(|| format!("column {}", chunk.column), crate::meta::schema::Field::display_name);
    let value = |bound: &[u8]| field.and_then(|f| to_scalar(f.logical, bound)).map(|scalar| scalar.to_json());
    let zone = chunk.zone.as_ref();
    let pages = page_headers(file, chunk, group)?.into_iter().map(|(offset, page)| {
        json!({
            "offset": offset, "encoding": encoding_name(page.encoding), "codec": codec_name(page.codec),
            "flags": page.flags, "values": page.values, "uncompressed": page.uncompressed,
            "compressed": page.compressed, "nulls": page.nulls, "first_row": page.first_row, "crc32c": page.crc,
        })
    });
    Ok(json!({
        "row_group": group, "column": name, "values": chunk.values, "nulls": chunk.nulls,
        "encoding": encoding_name(chunk.encoding), "codec": codec_name(chunk.codec),
        "compressed": chunk.compressed, "uncompressed": chunk.uncompressed,
        "min": zone.map(|z| value(&z.min)), "max": zone.map(|z| value(&z.max)),
        "zone_min": zone.map(|z| hex(&z.min)), "zone_max": zone.map(|z| hex(&z.max)),
        "offset": chunk.offset, "bloom": chunk.bloom.is_some(), "page_index": chunk.page_index,
        "pages": pages.collect::<Vec<_>>(),
    }))
}
