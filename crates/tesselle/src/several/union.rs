//! Several files as one table, from a glob or a folder.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use tesselle_core::{
    ColumnStats, Error, Known, Plan, Predicate, Pushdown, Result, Scalar, Scan, Storage, Table, TableStats,
};

/// Tables with equal columns, in any order, one after the other.
pub(super) struct UnionTable {
    first: Arc<dyn Table>,
    others: Vec<Arc<dyn Table>>,
    schema: SchemaRef,
}

impl UnionTable {
    /// Fails on tables that differ in their columns. The names are used in the error.
    pub(super) fn try_new(tables: Vec<(String, Arc<dyn Table>)>) -> Result<Self> {
        let mut tables = tables.into_iter();
        let Some((first_name, first)) = tables.next() else {
            return Err(Error::not_found("no file matches"));
        };
        let mut fields: Vec<Field> = first.schema().fields().iter().map(|field| (**field).clone()).collect();
        let mut others = Vec::new();
        for (name, table) in tables {
            let schema = table.schema();
            let same =
                |a: &Field| schema.field_with_name(a.name()).is_ok_and(|b| a.data_type() == b.data_type());
            if schema.fields().len() != fields.len() || !fields.iter().all(same) {
                return Err(Error::invalid(format!("'{name}' has different columns than '{first_name}'"))
                    .hint("read files with different columns one by one"));
            }
            for field in &mut fields {
                let other = schema.field_with_name(field.name())?;
                *field = field.clone().with_nullable(field.is_nullable() || other.is_nullable());
            }
            others.push(table);
        }
        Ok(Self { first, others, schema: Arc::new(Schema::new(fields)) })
    }

    fn tables(&self) -> impl Iterator<Item = &Arc<dyn Table>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The combined statistics of all tables.
    fn sum(&self, of: impl Fn(&dyn Table) -> TableStats) -> TableStats {
        let mut sum = of(&*self.first);
        for table in &self.others {
            let stats = of(&**table);
            sum.rows = add(&sum.rows, &stats.rows);
            sum.bytes = add(&sum.bytes, &stats.bytes);
            let columns = std::mem::take(&mut sum.columns);
            let both = columns.into_iter().filter_map(|(name, a)| {
                let b = stats.columns.get(&name)?;
                Some((name, merge(&a, b)))
            });
            sum.columns = both.collect();
        }
        sum
    }
}

impl Table for UnionTable {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        self.sum(|table| table.stats())
    }

    fn stats_of(&self, columns: &[&str]) -> TableStats {
        self.sum(|table| table.stats_of(columns))
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        let mut all = self.tables().map(|table| table.pushdown(predicate));
        let first = all.next().unwrap_or(Pushdown::None);
        // If they differ, each row may or may not match.
        if all.all(|other| other == first) { first } else { Pushdown::Inexact }
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        let mut scan = scan.clone();
        if scan.columns.is_none() {
            scan = scan.columns(self.schema.fields().iter().map(|field| field.name()));
        }
        let mut whole = Plan::empty();
        for table in self.tables() {
            let plan = table.plan(&scan)?;
            whole.tasks.extend(plan.tasks);
            whole.pieces += plan.pieces;
            whole.pruned += plan.pruned;
        }
        Ok(whole)
    }

    fn plans_in_parallel(&self) -> bool {
        self.tables().any(|table| table.plans_in_parallel())
    }

    fn storage(&self) -> Arc<dyn Storage> {
        // Files of one glob are on one storage, which can read any of its paths.
        self.first.storage()
    }
}

fn add(a: &Known<u64>, b: &Known<u64>) -> Known<u64> {
    match (a, b) {
        (Known::Exact(a), Known::Exact(b)) => a.checked_add(*b).map_or(Known::Absent, Known::Exact),
        (a, b) => match (a.value(), b.value()) {
            (Some(a), Some(b)) => a.checked_add(*b).map_or(Known::Absent, Known::Bound),
            _ => Known::Absent,
        },
    }
}

fn merge(a: &ColumnStats, b: &ColumnStats) -> ColumnStats {
    let bound = |a: &Known<Scalar>, b: &Known<Scalar>, pick: fn(Scalar, Scalar) -> Scalar| match (a, b) {
        (Known::Exact(a), Known::Exact(b)) => Known::Exact(pick(a.clone(), b.clone())),
        (a, b) => match (a.value(), b.value()) {
            (Some(a), Some(b)) => Known::Bound(pick(a.clone(), b.clone())),
            _ => Known::Absent,
        },
    };
    ColumnStats {
        min: bound(&a.min, &b.min, Scalar::min),
        max: bound(&a.max, &b.max, Scalar::max),
        nulls: add(&a.nulls, &b.nulls),
        values: add(&a.values, &b.values),
        sum: match (&a.sum, &b.sum) {
            (Known::Exact(Scalar::Int(a)), Known::Exact(Scalar::Int(b))) => {
                a.checked_add(*b).map_or(Known::Absent, |sum| Known::Exact(Scalar::Int(sum)))
            }
            _ => Known::Absent,
        },
    }
}
