//! Facts that only another tensor file can store: labels, names of axes and the history of the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use tesselle_core::{Native, TableFacts};

use crate::meta::catalog::Catalog;
use crate::meta::footer::HistoryRow;
use crate::meta::metadata::DatasetMetadata;

/// The contents of a file besides attributes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    /// By dataset.
    pub(crate) datasets: BTreeMap<String, DatasetMetadata>,
    pub(crate) history: Vec<HistoryRow>,
}

impl Notes {
    pub(crate) fn of(catalog: &Catalog) -> Self {
        let Some(footer) = &catalog.footer else { return Self::default() };
        let datasets = footer.metadata.as_ref().map(|metadata| metadata.datasets.clone());
        Self { datasets: datasets.unwrap_or_default(), history: footer.document.history.clone() }
    }

    /// The notes as facts of one dataset.
    pub(crate) fn native(self, dataset: &str) -> Native {
        let mut lost = Vec::new();
        if self.datasets.get(dataset).is_some_and(|own| own.coords.is_some()) {
            lost.push(format!("the labels of the axes of '{dataset}'"));
        }
        if !self.history.is_empty() {
            lost.push(format!("{} rows of history", self.history.len()));
        }
        Native { value: Arc::new(self), lost }
    }

    /// The notes among the facts about a source.
    pub(crate) fn among(facts: &TableFacts) -> Option<&Self> {
        facts.native.as_ref()?.value.downcast_ref()
    }
}
