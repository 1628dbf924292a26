//! DataFusion configured for Tesselle files.

use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList, SchemaProvider,
};
use datafusion::common::config::ConfigNonZeroUsize;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::memory_pool::TrackConsumersPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use tesselle::Result;

use crate::bounds::AnswerFromBounds;
use crate::decimals::DecimalsAmongFloats;
use crate::error::ours;
use crate::files::{ExternalTables, Opener};
use crate::functions::{Function, Listing};
use crate::lists::ListsOfConstants;
use crate::parts::FEWEST_ROWS;
use crate::pool::OperatorMemory;
use crate::spill;
use crate::tables::Tables;
use crate::times::TimesOfColumns;

/// Where the tables of a session are.
pub(crate) const CATALOG: &str = "tess";
const SCHEMA: &str = "main";

/// The number of memory consumers listed in an error.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN;

/// Memory that a sort reserves for merging its spills, per partition, if available.
const MERGE_RESERVE: usize = 10 << 20;

/// Memory of an operator for each row of its batches: those of a session with little memory have fewer rows.
const BYTES_PER_ROW: usize = 4 << 10;

/// A spill file ends with the first batch that exceeds this size: each batch gets a separate file.
///
/// With larger files a query over several scans can deadlock. If a batch of a repartitioning does not fit into memory,
/// its input appends it to the oldest file without a writer, and announces it in a queue shared by all inputs of the
/// output. The output reads the files one after the other, each to its end. With two inputs two files are open: the
/// announced batch may be in the second while the output waits for more of the first, and the inputs in turn wait until
/// the output takes what they have announced. A reader never waits for a file with a single batch longer than its
/// writer takes to write it, and writing does not wait.
const SPILL_FILE: usize = 1;

/// A context over tables and files by name, whose operators share `memory` bytes and spill above that. Where the bound was
/// `given`, joins are those that can spill.
pub(crate) fn build(
    opener: &Opener,
    tables: &Arc<Tables>,
    memory: u64,
    given: bool,
) -> Result<SessionContext> {
    let threads = opener.driver.threads();
    let memory = usize::try_from(memory).unwrap_or(usize::MAX);
    let share = memory / threads.max(1);
    let mut config = SessionConfig::new()
        .with_target_partitions(threads)
        .with_information_schema(true)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema(CATALOG, SCHEMA);
    let options = config.options_mut();
    // The operators of each partition hold several batches at once.
    let most = options.execution.batch_size.get();
    let rows = (share / BYTES_PER_ROW).clamp(FEWEST_ROWS.min(most), most);
    options.execution.batch_size = ConfigNonZeroUsize::try_new(rows).map_err(ours)?;
    let reserve = MERGE_RESERVE.min(share / 4);
    options.execution.sort_spill_reservation_bytes = reserve;
    options.execution.collect_statistics = true;
    // The table of a hash join stays in memory; a merge of sorted inputs spills.
    options.optimizer.prefer_hash_join = !given;
    // 0.06 is exact, as in other databases; 6e-2 is a double.
    options.sql_parser.parse_float_as_decimal = true;
    options.execution.max_spill_file_size_bytes = ConfigNonZeroUsize::try_new(SPILL_FILE).map_err(ours)?;
    let pool = TrackConsumersPool::new(OperatorMemory::new(memory, reserve), NAMED_CONSUMERS);
    let mut runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(pool));
    // Where there is no place for them, an operator that has to spill reports why.
    if let Some(disk) = spill::disk(share) {
        runtime = runtime.with_disk_manager_builder(disk);
    }
    let runtime = runtime.build_arc().map_err(ours)?;
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema(SCHEMA, Arc::clone(tables) as Arc<dyn SchemaProvider>).map_err(ours)?;
    let catalogs = MemoryCatalogProviderList::new();
    catalogs.register_catalog(CATALOG.to_owned(), Arc::new(catalog));
    let mut builder = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_catalog_list(Arc::new(catalogs));
    builder = builder.with_physical_optimizer_rule(Arc::new(AnswerFromBounds));
    // Statements may give text files a schema and options, which DataFusion's reader handles.
    for format in tesselle::formats().iter().filter(|format| !format.capabilities().infers_types) {
        let factory = ExternalTables { opener: opener.clone(), format: format.name() };
        builder = builder.with_table_factory(format.name().to_ascii_uppercase(), Arc::new(factory));
    }
    let mut state = builder.build();
    state.register_function_rewrite(Arc::new(DecimalsAmongFloats)).map_err(ours)?;
    state.register_function_rewrite(Arc::new(TimesOfColumns)).map_err(ours)?;
    state.register_function_rewrite(Arc::new(ListsOfConstants)).map_err(ours)?;
    let context = SessionContext::new_with_state(state);
    for function in Function::ALL {
        let (options, driver) = (opener.options.clone(), opener.driver.clone());
        context.register_udtf(function.name(), Arc::new(Listing { function, options, driver }));
    }
    Ok(context)
}
