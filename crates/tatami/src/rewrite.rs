//! Rewrites a file or a collection as tatami, preserving everything except what a setting changes.
//!
//! Without settings the records are copied after their checksums are checked: pages, blob runs, dictionaries
//! and the index of a search segment stay byte-identical. With settings the rows are re-encoded; row groups,
//! pages, column flags, metadata and the index are preserved unless a setting changes them.

use tesselle_core::driver::Steps;
use tesselle_core::storage::StagedFolder;
use tesselle_core::{
    Action, Depth, Driver, Error, Location, Report, Result, RewriteRequest, Rewritten, Settings, Sink,
    Summary, WriteOptions, driver,
};

use crate::collection::{Collection, MANIFEST_NAME};
use crate::meta::groups::Chunk;
use crate::meta::string_blobs;
use crate::meta::types::Codec;
use crate::open::File;
use crate::repair::{for_each_batch, read_runs};
use crate::search::is_segment;
use crate::verify::verify;
use crate::write::options::WriterOptions;
use crate::write::writer::Writer;

/// Settings that change the columns or their roles: rows have to be converted.
const STRUCTURAL: [&str; 3] = ["blob", "bloom", "sort_key"];

/// Rewrites the file or collection at `source`; `None` if its rows have to be converted.
pub(crate) fn rewrite(request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
    let RewriteRequest { source, target, open, write } = request;
    // Stored rows, including deleted ones: the index refers to them by number.
    let open = open.clone().with_text_as_binary(true).with_deleted(true);
    let structural = STRUCTURAL.iter().find(|name| write.settings.get(name).is_some());
    if source.is_dir()? || source.name().ends_with(".manifest") {
        let collection = Collection::open(source, &open)?;
        return match structural {
            Some(_) => Ok(None),
            None => rewrite_collection(&collection, target, write, driver).map(Some),
        };
    }
    let file = File::open(source, &open)?;
    if let Some(name) = structural {
        if is_segment(&file) {
            return Err(Error::invalid(format!("'{name}' cannot be set for a search segment"))
                .suggest("its columns are fixed; {} builds one with other columns", [Action::Index]));
        }
        return Ok(None);
    }
    let rewritten =
        Rewritten { summary: rewrite_file(&file, target, write, driver)?, kept: attributes(&file) };
    Ok(Some(rewritten))
}

/// Rewrites all members under their paths, and a manifest that lists them.
fn rewrite_collection(
    collection: &Collection,
    target: &Location,
    write: &WriteOptions,
    driver: &Driver,
) -> Result<Rewritten> {
    target.refuse_existing(write.overwrite)?;
    let staged = StagedFolder::try_new(target)?;
    let mut all = Rewritten::default();
    for member in collection.members() {
        let place = staged.join(&member.path)?;
        if let Some(folder) = place.parent() {
            folder.storage().create_dir(folder.path())?;
        }
        let file = collection.open_member(member)?;
        let summary = rewrite_file(&file, &place, write, driver)?;
        all.summary.rows += summary.rows;
        all.summary.bytes += summary.bytes;
        all.summary.pieces += summary.pieces;
        all.kept.extend(attributes(&file));
    }
    all.kept.sort();
    all.kept.dedup();
    let log = collection.relocated(staged.location())?;
    let mut manifest = staged.join(MANIFEST_NAME)?.create(false)?;
    manifest.write(&log)?;
    manifest.commit()?;
    all.summary.bytes += log.len() as u64;
    staged.commit()?;
    Ok(all)
}

/// The keys of the user's metadata pairs.
fn attributes(file: &File) -> Vec<String> {
    let names = file.footer().key_value.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned());
    let own =
        |name: &String| name == "tatami.version" || name == "tatami.sort_key" || name == string_blobs::KEY;
    names.filter(|name| !own(name)).collect()
}

fn rewrite_file(file: &File, target: &Location, write: &WriteOptions, driver: &Driver) -> Result<Summary> {
    let header = file.header();
    let mut same = Settings::default();
    same.set("version", format!("{}.{}", header.major, header.minor));
    if write.settings == Settings::default() || write.settings == same {
        copy(file, target, write.overwrite, driver)
    } else {
        encode(file, target, write, driver)
    }
}

/// Copies a file with valid checksums.
fn copy(file: &File, target: &Location, overwrite: bool, driver: &Driver) -> Result<Summary> {
    target.refuse_existing(overwrite)?;
    let mut report = Report::new(Depth::Pieces);
    verify(file, Depth::Pieces, driver, &mut report)?;
    report.refuse_copy(file.path())?;
    let mut staged = target.create(overwrite)?;
    driver::copy(file.location(), 0..file.size(), &mut *staged, driver)?;
    staged.commit()?;
    Ok(Summary { rows: file.rows(), bytes: file.size(), pieces: pages(file), lost: Vec::new() })
}

fn chunks(file: &File) -> impl Iterator<Item = &Chunk> {
    file.footer().groups.iter().flat_map(|group| &group.chunks)
}

fn pages(file: &File) -> u64 {
    chunks(file).fold(0, |n, chunk| n.saturating_add(chunk.pages))
}

/// Re-encodes all rows with the given settings, and otherwise with those of the file.
fn encode(file: &File, target: &Location, write: &WriteOptions, driver: &Driver) -> Result<Summary> {
    let given = |name: &str| write.settings.get(name).is_some();
    let own_groups = given("row_group_rows") || given("row_group_bytes");
    let mut options = WriterOptions::from_settings(&with_facts(file, &write.settings))?;
    if !own_groups {
        (options.row_group_rows, options.row_group_bytes) = (usize::MAX, u64::MAX);
    }
    let string = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    options.metadata = file.footer().key_value.iter().map(|(k, v)| (string(k), string(v))).collect();
    let schema = file.footer().schema.clone();
    options.minor.get_or_insert(file.header().minor.min(1));
    let mut writer = Writer::with_schema(target, schema, &file.schema(), options, write.overwrite, driver)?;
    if let Some(inverted) = file.footer().inverted.filter(|_| is_segment(file)) {
        writer.attach_inverted(read_runs(file, &inverted, file.footer().positions)?);
    }
    let groups = &file.footer().groups;
    let bytes = groups.iter().fold(0, |bytes: u64, group| bytes.saturating_add(group.bytes.min(file.size())));
    let mut steps = Steps::new(driver.progress(), bytes, file.rows());
    for group in 0..groups.len() {
        driver.check_canceled()?;
        for_each_batch(file, group, None, |batch| {
            writer.write(batch)?;
            steps.advance(batch.num_rows() as u64);
            Ok(())
        })?;
        if !own_groups {
            writer.end_group()?;
        }
    }
    steps.finish();
    Box::new(writer).finish()
}

/// The settings that describe the file, as defaults.
pub(crate) fn with_facts(file: &File, given: &Settings) -> Settings {
    let header = file.header();
    let mut facts = given.clone();
    let mut set = |name: &str, value: String| {
        if facts.get(name).is_none() {
            facts.set(name, value);
        }
    };
    let pages =
        chunks(file).filter(|chunk| chunk.pages > 1).map(|chunk| chunk.values.div_ceil(chunk.pages)).max();
    if let Some(rows) = pages {
        set("page_rows", rows.to_string());
    }
    if let Some(codec) = chunks(file).next().and_then(|chunk| codec_setting(chunk.codec)) {
        set("codec", codec.to_owned());
    }
    if file.footer().extension.features != 0 {
        set("profile", "extended".to_owned());
    }
    set("uuid", tesselle_core::hex(&header.uuid));
    set("created_ms", header.created_ms.to_string());
    set("creator_id", header.creator_id.to_string());
    set("page_size_hint", header.page_size_hint.to_string());
    facts
}

fn codec_setting(id: u8) -> Option<&'static str> {
    [Codec::None, Codec::Lz4, Codec::Zstd].into_iter().find(|codec| codec.id() == id).map(Codec::name)
}
