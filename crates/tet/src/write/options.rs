//! The parsed settings of a sink.

use std::collections::BTreeMap;

use tesselle_core::{Action, Error, Fitted, Result, Settings, TableFacts, WriteOptions};

use super::spec::{Alignment, DatasetSpec, FooterSpec};
use crate::meta::index::{Codec, MemoryBudget};
use crate::meta::metadata::{DatasetMetadata, FileMetadata, Metadata};
use crate::notes::Notes;

/// The default name of a dataset.
pub(super) const UNNAMED: &str = "data";

/// Every setting there is.
const KNOWN: [&str; 12] = [
    "chunk",
    "codec",
    "level",
    "shape",
    "axes",
    "order",
    "fill",
    "footer",
    "align",
    "budget_bytes",
    "budget_percent_bps",
    "checksum",
];

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowOrder {
    /// Row-major: written as they come.
    RowMajor,
    /// Any: placed by coordinate, in memory.
    Any,
}

/// The requested footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FooterChoice {
    /// Only where there is metadata to keep.
    Auto,
    /// None at all.
    None,
    /// Version 1: history and metadata.
    Plain,
    /// Version 2: also zone maps and the secondary index.
    Indexed,
}

/// The settings of a sink.
#[derive(Debug, Clone)]
pub(super) struct SinkSettings {
    pub(super) name: Option<String>,
    pub(super) chunk: Option<Vec<u64>>,
    pub(super) codec: Codec,
    pub(super) level: Option<i32>,
    /// Whether zstd frames carry a checksum.
    pub(super) checksum: bool,
    pub(super) shape: Option<Vec<u64>>,
    pub(super) axes: Option<String>,
    pub(super) order: RowOrder,
    pub(super) fill: Option<String>,
    pub(super) footer: FooterChoice,
    pub(super) alignment: Alignment,
    pub(super) budget: MemoryBudget,
    /// Attributes of every dataset.
    pub(super) attrs: BTreeMap<String, String>,
    /// Facts of another tensor file about datasets of the same names, and its history.
    pub(super) notes: Notes,
    keeps_notes: bool,
}

impl SinkSettings {
    /// Parses the settings; unknown names are an error. A renamed dataset loses the facts that another tensor file
    /// states about it, and keeps its attributes.
    pub(super) fn try_new(options: &WriteOptions, facts: &TableFacts) -> Result<Self> {
        let settings = &options.settings;
        settings.expect_only(&KNOWN)?;
        let level = settings.zstd_level()?;
        let codec = word(settings, "codec", &[("raw", Codec::Raw), ("zstd", Codec::Zstd)])?;
        if level.is_some() && codec != Some(Codec::Zstd) {
            return Err(Error::invalid("level is set, but the codec is raw")
                .suggest("add {}", [Action::setting("codec", "zstd")]));
        }
        let checksum = checksum(settings)?;
        if checksum == Some(true) && codec != Some(Codec::Zstd) {
            return Err(Error::invalid("checksum is set, but raw chunks have none")
                .suggest("add {}", [Action::setting("codec", "zstd")]));
        }
        let notes = Notes::among(facts).filter(|_| options.table.is_none());
        let attributes = facts.attributes.iter().filter(|_| notes.is_none());
        let attrs = attributes.map(|attribute| (attribute.name.clone(), attribute.value_string())).collect();
        Ok(Self {
            name: options.table.clone(),
            chunk: numbers(settings, "chunk")?,
            codec: codec.unwrap_or(Codec::Raw),
            level,
            checksum: checksum.unwrap_or(true),
            shape: numbers(settings, "shape")?,
            axes: settings.get("axes").map(str::to_owned),
            order: word(settings, "order", &[("row-major", RowOrder::RowMajor), ("any", RowOrder::Any)])?
                .unwrap_or(RowOrder::RowMajor),
            fill: settings.get("fill").map(str::to_owned),
            footer: word(
                settings,
                "footer",
                &[("none", FooterChoice::None), ("v1", FooterChoice::Plain), ("v2", FooterChoice::Indexed)],
            )?
            .unwrap_or(FooterChoice::Auto),
            alignment: word(
                settings,
                "align",
                &[("gaps", Alignment::Gaps), ("packed", Alignment::Packed), ("sorted", Alignment::Sorted)],
            )?
            .unwrap_or_default(),
            budget: MemoryBudget {
                percent_bps: settings.parse("budget_percent_bps", "a number of basis points")?.unwrap_or(0),
                bytes: settings.bytes("budget_bytes")?.unwrap_or(0),
            },
            attrs,
            keeps_notes: notes.is_some(),
            notes: notes.cloned().unwrap_or_default(),
        })
    }
}

impl SinkSettings {
    /// How the facts about the source are stored.
    pub(super) fn fitted(&self, facts: &TableFacts) -> Fitted {
        let mut fitted = Fitted::keeping(facts);
        if self.keeps_notes {
            fitted.lost.clone_from(&facts.unkept);
        }
        fitted
    }

    /// The footer for datasets over these axes: by default none, unless there is metadata.
    pub(super) fn footer(&self, specs: &[DatasetSpec], axes: &[String]) -> Option<FooterSpec> {
        let defaults = axes.iter().enumerate().all(|(axis, name)| *name == format!("i{axis}"));
        let own_names = Some(axes.to_vec()).filter(|names| !names.is_empty() && !defaults);
        let mut attrs = self.attrs.clone();
        if let Some(fill) = &self.fill {
            attrs.entry("_FillValue".to_owned()).or_insert_with(|| fill.clone());
        }
        let about = |spec: &DatasetSpec| {
            let mut about = self.notes.datasets.get(&spec.name).cloned().unwrap_or_default();
            about.attrs.extend(attrs.clone());
            about.dim_names = own_names.clone().or(about.dim_names);
            (spec.name.clone(), about)
        };
        let datasets: BTreeMap<String, DatasetMetadata> =
            specs.iter().map(about).filter(|(_, about)| !about.is_empty()).collect();
        let has_metadata = !datasets.is_empty();
        match self.footer {
            FooterChoice::None => return None,
            FooterChoice::Auto if !has_metadata && self.notes.history.is_empty() => return None,
            _ => {}
        }
        let file = has_metadata.then(|| FileMetadata {
            tool: None,
            library_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            created_at: Some(now()),
        });
        let metadata = Metadata { file, datasets };
        Some(FooterSpec {
            history: self.notes.history.clone(),
            metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
            indexes: self.footer == FooterChoice::Indexed,
            version: None,
        })
    }
}

/// Whether zstd frames have a checksum.
pub(crate) fn checksum(settings: &Settings) -> Result<Option<bool>> {
    word(settings, "checksum", &[("true", true), ("false", false)])
}

/// Unix seconds, in decimal.
fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs()).to_string()
}

pub(crate) fn word<T: Copy>(settings: &Settings, name: &str, words: &[(&str, T)]) -> Result<Option<T>> {
    let Some(text) = settings.get(name) else { return Ok(None) };
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.map(Some).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Error::invalid(format!("{name}={text} is not known")).hint(format!("use one of {}", known.join(", ")))
    })
}

/// `512,512`
pub(super) fn parse_numbers(text: &str) -> Option<Vec<u64>> {
    text.split(',').map(|word| word.trim().parse().ok()).collect()
}

pub(crate) fn numbers(settings: &Settings, name: &str) -> Result<Option<Vec<u64>>> {
    settings
        .get(name)
        .map(|text| {
            parse_numbers(text).ok_or_else(|| {
                Error::invalid(format!("{name}={text} is not a list of numbers")).hint("use the form 512,512")
            })
        })
        .transpose()
}
