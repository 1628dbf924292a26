//! Queries that are a scan of one file: they run as a conversion, which keeps the facts about the table.

use arrow_schema::Schema;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{
    Expr, FetchType, Filter, Limit, LogicalPlan, Projection, SkipType, TableScan,
};
use tesselle::core::Pushdown;
use tesselle::name::{expand, is_pattern};
use tesselle::{Opener, Predicate, Scan, Table, Uri};

use crate::filter::{Translated, translate};
use crate::provider::TesselleTable;

/// The file that a query reads, and the scan of it.
pub(crate) struct Plain {
    pub(crate) uri: String,
    /// Further files, whose rows follow.
    pub(crate) others: Vec<String>,
    pub(crate) opener: Opener,
    pub(crate) scan: Scan,
}

/// The whole container of this name, with all its tables. `None` if the name is not that of a single container.
pub(crate) fn whole(uri: String, opener: Opener) -> Option<Plain> {
    let single = !is_pattern(&uri) && tesselle::detect(&Uri::parse(&uri).ok()?.location).is_ok();
    single.then(|| Plain { uri, others: Vec::new(), opener, scan: Scan::all() })
}

/// The scan that answers `plan` exactly, where it reads one table of one file.
pub(crate) fn plain(plan: &LogicalPlan) -> Option<Plain> {
    let scan = table_scan(plan)?;
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<TesselleTable>()?;
    let origin = table.origin()?;
    let schema = table.table().schema();
    let mut request = scan_of(plan, &**table.table())?;
    // All columns in their order are a scan of the whole table.
    let all = schema.fields().iter().map(|field| field.name());
    if request.columns.as_ref().is_some_and(|columns| columns.iter().eq(all)) {
        request.columns = None;
    }
    let files = if is_pattern(&origin.uri) { typed_files(&origin.uri)? } else { vec![origin.uri.clone()] };
    let (uri, others) = files.split_first()?;
    let opener = named(uri, &**table.table(), origin.opener.clone())?;
    Some(Plain { uri: uri.clone(), others: others.to_vec(), opener, scan: request })
}

/// The files of a pattern, if each states its types: others have types that all of them together determine.
fn typed_files(pattern: &str) -> Option<Vec<String>> {
    let files = expand(pattern).ok()?;
    let first = tesselle::detect(&Uri::parse(files.first()?).ok()?.location).ok()?;
    (!first.capabilities().infers_types).then_some(files)
}

/// The opener, which names the table in a container of several, all of which a conversion would take. `None` where the uri
/// is no container.
fn named(uri: &str, table: &dyn Table, opener: Opener) -> Option<Opener> {
    let parsed = Uri::parse(uri).ok()?;
    let format = match opener.format_name() {
        Some(name) => tesselle::format_by_name(name),
        None => tesselle::detect(&parsed.location),
    };
    // Files without types have one table, and opening them takes a look at all values.
    let single = format.ok()?.capabilities().infers_types;
    if single || parsed.table.is_some() || opener.table_name().is_some() {
        return Some(opener);
    }
    let several = opener.open(uri).ok()?.table_names().len() > 1;
    Some(if several { opener.table(table.name().to_owned()) } else { opener })
}

/// The one scan at the bottom of a plan.
fn table_scan(plan: &LogicalPlan) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) => Some(scan),
        LogicalPlan::Limit(Limit { input, .. })
        | LogicalPlan::Projection(Projection { input, .. })
        | LogicalPlan::Filter(Filter { input, .. }) => table_scan(input),
        LogicalPlan::SubqueryAlias(alias) => table_scan(&alias.input),
        _ => None,
    }
}

fn scan_of(plan: &LogicalPlan, table: &dyn Table) -> Option<Scan> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let names = scan.projected_schema.fields().iter().map(|field| field.name().clone());
            let plain = scan.filters.is_empty() && scan.fetch.is_none();
            plain.then(|| Scan::default().columns(names))
        }
        LogicalPlan::SubqueryAlias(alias) => scan_of(&alias.input, table),
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            let mut scan = scan_of(input, table)?;
            let known = scan.columns.take()?;
            let names = expr.iter().map(column_name).collect::<Option<Vec<String>>>()?;
            let mut distinct = names.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let plain = distinct.len() == names.len() && names.iter().all(|name| known.contains(name));
            scan.columns = Some(names);
            plain.then_some(scan)
        }
        LogicalPlan::Filter(Filter { predicate, input, .. }) => {
            let mut scan = scan_of(input, table)?;
            let condition = exact(predicate, &table.schema()).filter(|_| scan.limit.is_none())?;
            let condition = match scan.predicate.take() {
                Some(other) => Predicate::And(vec![other, condition]),
                None => condition,
            };
            let answered = table.pushdown(&condition) == Pushdown::Exact;
            scan.predicate = Some(condition);
            answered.then_some(scan)
        }
        LogicalPlan::Limit(limit) => {
            let mut scan = scan_of(&limit.input, table)?;
            let (Ok(SkipType::Literal(0)), Ok(FetchType::Literal(Some(rows)))) =
                (limit.get_skip_type(), limit.get_fetch_type())
            else {
                return None;
            };
            let rows = u64::try_from(rows).ok()?;
            scan.limit = Some(scan.limit.map_or(rows, |other| other.min(rows)));
            Some(scan)
        }
        _ => None,
    }
}

/// The column that an expression is, under its own name.
fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Column(column) => Some(column.name.clone()),
        Expr::Alias(Alias { expr, name, .. }) => column_name(expr).filter(|column| column == name),
        _ => None,
    }
}

/// The predicate that is exactly equivalent to an expression.
fn exact(expr: &Expr, schema: &Schema) -> Option<Predicate> {
    let Translated { predicate, exact } = translate(expr, schema)?;
    exact.then_some(predicate)
}
