//! Files that DataFusion reads by itself: Parquet and Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::SessionState;
use tesselle::foreign::Foreign;
use tesselle::{Error, Location};

use super::parquet::ParquetFactory;

/// What DataFusion reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Parquet,
    Arrow,
}

impl Kind {
    /// What a file is, by content first and name second; `None` where the facade makes a table of it.
    pub(super) fn of(location: &Location) -> tesselle::Result<Option<Self>> {
        let kind = match Foreign::detect(location)? {
            Some(Foreign::Parquet) => Self::Parquet,
            Some(Foreign::Arrow) => Self::Arrow,
            _ => return Ok(None),
        };
        if location.size()? == 0 {
            // DataFusion takes such files for tables without rows and columns.
            return Err(Error::corrupt("this file is empty").class("incomplete").file(location.path()));
        }
        Ok(Some(kind))
    }

    fn format(self, state: &SessionState) -> Result<Arc<dyn FileFormat>> {
        match self {
            Self::Parquet => ParquetFactory::new().create(state, &HashMap::new()),
            Self::Arrow => Ok(Arc::new(ArrowFormat)),
        }
    }
}

/// The files as one table of DataFusion's.
pub(super) async fn provider(
    state: &SessionState,
    kind: Kind,
    paths: &[String],
) -> Result<Arc<dyn TableProvider>> {
    let format = kind.format(state)?;
    let urls = paths.iter().map(ListingTableUrl::parse).collect::<Result<Vec<_>>>()?;
    let options = ListingOptions::new(format).with_file_extension("");
    let config = ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options);
    let config = config.infer_schema(state).await?;
    Ok(Arc::new(ListingTable::try_new(config)?))
}
