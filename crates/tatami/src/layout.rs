//! The byte map: every byte range of a file with its meaning.

use tesselle_core::{Extent, FileLayout, LayoutMap, Role};

use crate::meta::extension;
use crate::meta::footer::tags;
use crate::meta::header::HEADER_LEN;
use crate::meta::inverted::Run;
use crate::meta::record::RECORD_LEN;
use crate::meta::types::{codec_name, encoding_name};
use crate::open::File;
use crate::read::chunk::page_headers;

/// Builds the byte map of a file. Pages after an unreadable header are shown as one range.
pub(crate) fn layout(file: &File) -> LayoutMap {
    let mut extents = vec![Extent::new(0..HEADER_LEN, Role::Header, header_label(file))];
    chunks(file, &mut extents);
    regions(file, &mut extents);
    footer(file, &mut extents);
    let size = file.size();
    for extent in &mut extents {
        extent.range = extent.range.start.min(size)..extent.range.end.min(size);
    }
    LayoutMap {
        files: vec![FileLayout { file: file.location().name().to_owned(), size, extents }.close_gaps()],
    }
}

fn header_label(file: &File) -> String {
    let header = file.header();
    format!(
        "header: version {}.{}, flags {:#06x}, {} rows",
        header.major, header.minor, header.flags, header.rows
    )
}

fn column_name(file: &File, column: u64) -> String {
    let field = usize::try_from(column).ok().and_then(|c| file.footer().schema.fields.get(c));
    field.map_or_else(|| format!("column {column}"), super::meta::schema::Field::display_name)
}

fn record(offset: u64, len: u64, role: Role, label: String) -> Extent {
    let end = offset.saturating_add(RECORD_LEN).saturating_add(len);
    Extent::new(offset..end, role, label)
}

fn chunks(file: &File, out: &mut Vec<Extent>) {
    for (g, group) in file.footer().groups.iter().enumerate() {
        for chunk in &group.chunks {
            let name = column_name(file, chunk.column);
            if let Ok(pages) = page_headers(file, chunk, g) {
                for (number, (offset, page)) in pages.into_iter().enumerate() {
                    let label = format!(
                        "row group {g}, {name}, page {number}: {} rows, {}, {}, {} of {} bytes",
                        page.values,
                        encoding_name(page.encoding),
                        codec_name(page.codec),
                        page.compressed,
                        page.uncompressed,
                    );
                    out.push(
                        record(offset, u64::from(page.compressed), Role::Data, label).column(name.clone()),
                    );
                }
            } else {
                let range = chunk.offset..chunk.offset.saturating_add(chunk.stored_len());
                let label = format!("row group {g}, {name}: unreadable pages");
                out.push(Extent::new(range, Role::Data, label).column(name.clone()));
            }
            if let Some(offset) = chunk.page_index {
                let len = file.record(offset).map_or(0, |(r, _)| u64::from(r.compressed));
                out.push(
                    record(offset, len, Role::Index, format!("row group {g}, {name}: page index"))
                        .column(name),
                );
            }
        }
    }
}

fn regions(file: &File, out: &mut Vec<Extent>) {
    let footer = file.footer();
    for blob in &footer.blobs {
        let name = column_name(file, blob.column);
        for (number, run) in blob.runs.iter().enumerate() {
            let label = format!(
                "{name}, blob run {number}: {} values, {} of {} bytes",
                run.values, run.compressed, run.uncompressed
            );
            out.push(record(run.offset, run.compressed, Role::Data, label).column(name.clone()));
        }
    }
    let stored = |offset: u64| file.record(offset).map_or(0, |(r, _)| u64::from(r.compressed));
    for (number, dictionary) in footer.dictionaries.iter().enumerate() {
        let label = format!("content dictionary {}: {} bytes", number + 1, dictionary.uncompressed);
        out.push(record(dictionary.offset, stored(dictionary.offset), Role::Data, label));
    }
    for dictionary in &footer.extension.dictionaries {
        let name = column_name(file, dictionary.column);
        let label = format!("{name}: value dictionary of {} entries", dictionary.entries);
        out.push(record(dictionary.offset, dictionary.stored, Role::Data, label).column(name));
    }
    for (number, bloom) in footer.blooms.iter().enumerate() {
        out.push(record(bloom.offset, bloom.len, Role::Index, format!("bloom filter {}", number + 1)));
    }
    if let Some(inverted) = &footer.inverted {
        let runs = [
            ("term dictionary", inverted.terms),
            ("postings", inverted.postings),
            ("skip tables", inverted.skips),
        ];
        let present = |name, run: Option<Run>| run.filter(|run| run.len > 0).map(|run| (name, run));
        let runs = runs.into_iter().chain(present("positions", footer.positions));
        let runs = runs.chain(present("live documents", Some(inverted.live)));
        out.extend(
            runs.map(|(name, run)| {
                record(run.offset, run.len, Role::Index, format!("inverted index: {name}"))
            }),
        );
    }
}

fn footer(file: &File, out: &mut Vec<Extent>) {
    let trailer = file.trailer();
    let end = trailer.footer_offset + u64::from(trailer.footer_len);
    out.push(Extent::new(trailer.footer_offset..end, Role::Metadata, "footer"));
    for (tag, offset, len) in &file.footer().sections {
        let name = match *tag {
            tags::SCHEMA => "schema",
            tags::ROW_GROUPS => "row groups",
            tags::BLOBS => "blob columns",
            tags::DICTIONARIES => "dictionaries",
            tags::BLOOMS => "bloom filters",
            tags::KEY_VALUE => "key/value metadata",
            tags::STATS => "statistics",
            tags::INVERTED => "inverted index",
            tags::POSITIONS => "positions of the inverted index",
            extension::TAG => "extended profile",
            _ => "unknown section",
        };
        out.push(
            Extent::new(*offset..offset + len, Role::Metadata, format!("section {tag}: {name}")).depth(1),
        );
    }
    out.push(Extent::new(end..file.size(), Role::Metadata, "trailer: footer length, checksum, magic"));
}
