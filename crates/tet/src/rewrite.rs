//! Copying of all datasets of a file to another one: everything is preserved, unless a setting changes it.

use tesselle_core::{
    Action, At, Driver, Error, Location, Result, RewriteRequest, Rewritten, Settings, Summary, setters,
};

use crate::container::File;
use crate::meta::index::{Codec, MemoryBudget};
use crate::write::datasets::{Copying, merged_footer};
use crate::write::options::{FooterChoice, checksum, numbers, word};
use crate::write::spec::{Alignment, DatasetSpec, FooterSpec, WriterOptions};
use crate::write::writer::Writer;

/// The settings of a rewrite; the others place rows, which do not occur here.
const KNOWN: [&str; 8] =
    ["chunk", "codec", "level", "checksum", "footer", "align", "budget_bytes", "budget_percent_bps"];

/// The change of the footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FooterChange {
    /// Unchanged.
    #[default]
    Keep,
    /// Removed: history, metadata, zone maps and the secondary index are dropped.
    Drop,
    /// Version 1: zone maps and the secondary index are dropped.
    Plain,
    /// Version 2: zone maps and the secondary index are built.
    Indexed,
}

/// How a file is rewritten.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RewriteOptions {
    /// The chunk shape of every dataset of this rank; others, and all if absent, keep theirs.
    pub chunk_shape: Option<Vec<u64>>,
    /// The codec of all chunks; if absent, each keeps its own.
    pub codec: Option<Codec>,
    /// The zstd level.
    pub level: Option<i32>,
    /// Whether zstd chunks are recompressed even if the codec stays. Otherwise payloads of unchanged chunks are copied.
    pub recompress: bool,
    /// Memory hints; if absent, those of the source.
    pub budget: Option<MemoryBudget>,
    /// The change of the footer, unless `writer` has one.
    pub footer: FooterChange,
    /// Alignment, checksums, and a footer to replace that of the source.
    pub writer: WriterOptions,
}

setters! { RewriteOptions {
    with_chunk_shape => chunk_shape: impl Into<Option<Vec<u64>>>,
    with_codec => codec: impl Into<Option<Codec>>,
    with_level => level: impl Into<Option<i32>>,
    with_recompress => recompress: bool,
    with_budget => budget: impl Into<Option<MemoryBudget>>,
    with_footer => footer: FooterChange,
    with_writer => writer: WriterOptions,
} }

/// Writes all datasets of `source` to `target`, which may be the same file.
pub fn rewrite(
    source: &File,
    target: &Location,
    options: RewriteOptions,
    driver: &Driver,
) -> Result<Summary> {
    let catalog = &source.opened.catalog;
    let specs = specs(source, &options)?;
    let mut settings = options.writer;
    settings.footer = settings.footer.or_else(|| footer(source, options.footer));
    target.refuse_existing(settings.overwrite)?;
    let keep_order = settings.alignment != Alignment::Sorted;
    let mut writer = Writer::start(target, &specs, specs.len(), settings, driver)?;
    if keep_order {
        let index = source.opened.index()?;
        let first = |id: &usize| index.datasets.get(*id).map(|rows| rows.first);
        writer.order.sort_by_key(first);
    }
    let copying = Copying { recompress: options.recompress, ..Copying::default() };
    for id in writer.order.clone() {
        let same_chunks =
            catalog.datasets.get(id).zip(specs.get(id)).is_some_and(|(d, s)| d.chunk_shape == s.chunk_shape);
        if same_chunks && options.codec.is_none() {
            writer.copy_dataset(id, source, id, &copying)?;
        } else {
            let array = source.array(id)?;
            writer.put_array(id, &*array)?;
        }
    }
    writer.finish()
}

fn specs(source: &File, options: &RewriteOptions) -> Result<Vec<DatasetSpec>> {
    let catalog = &source.opened.catalog;
    let spec = |(id, dataset): (usize, &crate::meta::directory::Dataset)| {
        let grid = source.opened.grid(id)?;
        let stored = source.opened.index()?.datasets.at(id)?.codec;
        let chunk_shape = options.chunk_shape.clone().filter(|chunk| chunk.len() == grid.rank());
        Ok(DatasetSpec {
            name: dataset.name.clone(),
            dtype: grid.dtype,
            shape: dataset.shape.clone(),
            chunk_shape: chunk_shape.unwrap_or_else(|| dataset.chunk_shape.clone()),
            codec: options.codec.unwrap_or(stored),
            level: options.level,
            budget: options.budget.unwrap_or(catalog.budget),
        })
    };
    catalog.datasets.iter().enumerate().map(spec).collect()
}

fn footer(source: &File, change: FooterChange) -> Option<FooterSpec> {
    let own = merged_footer(source, None);
    match change {
        FooterChange::Keep => own,
        FooterChange::Drop => None,
        FooterChange::Plain => Some(FooterSpec { indexes: false, version: None, ..own.unwrap_or_default() }),
        FooterChange::Indexed => Some(FooterSpec { indexes: true, ..own.unwrap_or_default() }),
    }
}

/// The rewrite for these settings; `None` if one of them requires the conversion of rows.
pub(crate) fn rewrite_with(request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
    let RewriteRequest { source, target, open, write } = request;
    if write.settings.expect_only(&KNOWN).is_err() {
        return Ok(None);
    }
    let file = File::open(source, open)?;
    let options = options(&file, &write.settings, write.overwrite)?;
    let lost = changes(&file, &options)?;
    let kept = kept(&file, options.footer);
    let mut summary = rewrite(&file, target, options, driver)?;
    summary.lost = lost;
    Ok(Some(Rewritten { summary, kept }))
}

fn options(file: &File, settings: &Settings, overwrite: bool) -> Result<RewriteOptions> {
    let codec = word(settings, "codec", &[("raw", Codec::Raw), ("zstd", Codec::Zstd)])?;
    let (level, checksum) = (settings.zstd_level()?, checksum(settings)?);
    let zstd = file.opened.index()?.iter().any(|row| row.codec == Codec::Zstd);
    for (name, set) in [("level", level.is_some()), ("checksum", checksum.is_some())] {
        if set && codec.map_or(!zstd, |codec| codec == Codec::Raw) {
            return Err(Error::invalid(format!("{name} is set, but all chunks are raw"))
                .suggest("add {}", [Action::setting("codec", "zstd")]));
        }
    }
    let bps = settings.parse("budget_percent_bps", "a number of basis points")?;
    let bytes = settings.bytes("budget_bytes")?;
    let own = file.opened.catalog.budget;
    let aligned = [("gaps", Alignment::Gaps), ("packed", Alignment::Packed), ("sorted", Alignment::Sorted)];
    let footer = word(
        settings,
        "footer",
        &[("none", FooterChoice::None), ("v1", FooterChoice::Plain), ("v2", FooterChoice::Indexed)],
    )?;
    Ok(RewriteOptions {
        chunk_shape: numbers(settings, "chunk")?,
        codec,
        level,
        recompress: level.is_some() || checksum.is_some(),
        budget: (bps.is_some() || bytes.is_some()).then(|| MemoryBudget {
            percent_bps: bps.unwrap_or(own.percent_bps),
            bytes: bytes.unwrap_or(own.bytes),
        }),
        footer: match footer {
            None | Some(FooterChoice::Auto) => FooterChange::Keep,
            Some(FooterChoice::None) => FooterChange::Drop,
            Some(FooterChoice::Plain) => FooterChange::Plain,
            Some(FooterChoice::Indexed) => FooterChange::Indexed,
        },
        writer: WriterOptions {
            overwrite,
            alignment: word(settings, "align", &aligned)?.unwrap_or_default(),
            footer: None,
            checksum: checksum.unwrap_or(true),
        },
    })
}

/// The changes, one line each.
fn changes(file: &File, options: &RewriteOptions) -> Result<Vec<String>> {
    let catalog = &file.opened.catalog;
    let mut lines = Vec::new();
    let mut fits = options.chunk_shape.is_none();
    for (id, dataset) in catalog.datasets.iter().enumerate() {
        let name = &dataset.name;
        if let Some(codec) = options.codec {
            let rows = file.opened.index()?.iter();
            let others = rows.filter(|row| row.dataset_id == id as u64 && row.codec != codec);
            if others.count() > 0 {
                lines.push(format!("the codec of '{name}', now {}", codec.name()));
            }
        }
        match &options.chunk_shape {
            Some(chunk) if chunk.len() != dataset.shape.len() => {
                let axes = dataset.shape.len();
                lines.push(format!(
                    "the setting chunk for '{name}', which has {axes} axes and keeps its chunks"
                ));
            }
            Some(chunk) => {
                fits = true;
                if *chunk != dataset.chunk_shape {
                    lines.push(format!("the chunks {:?} of '{name}', now {chunk:?}", dataset.chunk_shape));
                }
            }
            None => {}
        }
    }
    if !fits {
        let chunk = options.chunk_shape.as_ref().map_or(0, Vec::len);
        return Err(Error::invalid(format!("chunk has {chunk} numbers, but no dataset has that many axes")));
    }
    let footer = catalog.footer.as_ref();
    if options.footer == FooterChange::Drop && footer.is_some() {
        lines.push("history and metadata".to_owned());
    }
    let indexed = footer.is_some_and(|footer| footer.document.zone_maps_ref.is_some());
    if matches!(options.footer, FooterChange::Drop | FooterChange::Plain) && indexed {
        lines.push("zone maps and the secondary index".to_owned());
    }
    Ok(lines)
}

/// The kept attributes, by dataset if there are several.
fn kept(file: &File, footer: FooterChange) -> Vec<String> {
    let Some(metadata) = file.metadata().filter(|_| footer != FooterChange::Drop) else { return Vec::new() };
    let several = metadata.datasets.len() > 1;
    let names = metadata.datasets.iter().flat_map(|(dataset, about)| {
        about.attrs.keys().map(move |key| if several { format!("{dataset}.{key}") } else { key.clone() })
    });
    names.collect()
}
