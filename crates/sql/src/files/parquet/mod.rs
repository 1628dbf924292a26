//! DataFusion's Parquet, without its trust in the bounds of floats.
//!
//! Parquet leaves NaNs out of its bounds and does not say whether there are any. DataFusion takes such bounds for exact:
//! it would answer `max` without the NaNs, read a column of one number and NaNs as that number in every row, and miss
//! rows of NaNs that match a condition.

mod source;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Result, Statistics, internal_datafusion_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::parquet::{ParquetFormat, ParquetFormatFactory};
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory, FileMeta};
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSinkConfig, FileSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::{LexOrdering, LexRequirement};
use datafusion::physical_plan::ExecutionPlan;

use source::CautiousSource;

/// Makes the format for statements that name it.
#[derive(Debug)]
pub(crate) struct ParquetFactory(ParquetFormatFactory);

impl ParquetFactory {
    pub(crate) fn new() -> Self {
        Self(ParquetFormatFactory::new())
    }
}

impl GetExt for ParquetFactory {
    fn get_ext(&self) -> String {
        self.0.get_ext()
    }
}

impl FileFormatFactory for ParquetFactory {
    fn create(&self, state: &dyn Session, options: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        Ok(Arc::new(Parquet(self.0.create(state, options)?)))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(Parquet(Arc::new(ParquetFormat::default())))
    }
}

/// Parquet files whose bounds of floats are estimates.
#[derive(Debug)]
struct Parquet(Arc<dyn FileFormat>);

fn doubt_floats(mut statistics: Statistics, schema: &SchemaRef) -> Statistics {
    for (column, field) in statistics.column_statistics.iter_mut().zip(schema.fields()) {
        if field.data_type().is_floating() {
            column.min_value = column.min_value.clone().to_inexact();
            column.max_value = column.max_value.clone().to_inexact();
        }
    }
    statistics
}

#[async_trait]
impl FileFormat for Parquet {
    fn get_ext(&self) -> String {
        self.0.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.0.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.0.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        self.0.infer_schema(state, store, objects).await
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        let statistics = self.0.infer_stats(state, store, Arc::clone(&schema), object).await?;
        Ok(doubt_floats(statistics, &schema))
    }

    async fn infer_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Option<LexOrdering>> {
        self.0.infer_ordering(state, store, schema, object).await
    }

    async fn infer_stats_and_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<FileMeta> {
        let mut meta = self.0.infer_stats_and_ordering(state, store, Arc::clone(&schema), object).await?;
        meta.statistics = doubt_floats(meta.statistics, &schema);
        Ok(meta)
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.0.create_physical_plan(state, config).await?;
        let exec = plan.downcast_ref::<DataSourceExec>();
        let config = exec.and_then(|exec| exec.data_source().downcast_ref::<FileScanConfig>());
        let config = config.ok_or_else(|| internal_datafusion_err!("Parquet is read without files"))?;
        let source = CautiousSource(Arc::clone(config.file_source()));
        let config = FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build();
        Ok(DataSourceExec::from_data_source(config))
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
        config: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.create_writer_physical_plan(input, state, config, order).await
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        self.0.file_source(schema)
    }
}
