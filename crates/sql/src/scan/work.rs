//! The tasks of a scan, shared by its partitions.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tesselle::core::{Plan, Pushdown, Task};
use tesselle::{Error, Predicate, Scan, Table};

use super::current::current;
use super::{Pushed, Request};

/// The plan of a scan, cut into partitions.
pub(super) struct Work {
    table: Arc<dyn Table>,
    request: Arc<Request>,
    /// Filters that other operators learn while the plan runs.
    dynamic: Vec<Pushed>,
    partitions: usize,
    planned: Mutex<Option<Planned>>,
}

/// The tasks of a partition, and a condition on their rows that the table does not apply.
pub(super) struct Share {
    pub(super) tasks: Vec<Box<dyn Task>>,
    pub(super) condition: Option<Predicate>,
}

struct Planned {
    scan: Scan,
    /// The filters of other operators that the table does not apply.
    condition: Option<Predicate>,
    groups: Vec<Range<usize>>,
    /// Each is taken once; another execution plans again.
    tasks: Vec<Option<Box<dyn Task>>>,
}

impl Planned {
    fn new(scan: Scan, condition: Option<Predicate>, plan: Plan, groups: Vec<Range<usize>>) -> Self {
        Self { scan, condition, groups, tasks: plan.tasks.into_iter().map(Some).collect() }
    }
}

impl Work {
    /// The tasks of `plan`, the plan of the request, in these groups.
    pub(super) fn new(
        table: Arc<dyn Table>,
        request: Arc<Request>,
        plan: Plan,
        groups: Vec<Range<usize>>,
    ) -> Self {
        let partitions = groups.len();
        let planned = Planned::new(request.scan.clone(), None, plan, groups);
        Self { table, request, dynamic: Vec::new(), partitions, planned: Mutex::new(Some(planned)) }
    }

    /// The same, planned when the first partition starts: what other operators have learned until then prunes, and what
    /// they learn later filters rows.
    pub(super) fn later(&self, dynamic: Vec<Pushed>) -> Self {
        let (table, request) = (Arc::clone(&self.table), Arc::clone(&self.request));
        Self { table, request, dynamic, partitions: self.partitions, planned: Mutex::default() }
    }

    /// The filters that other operators learn while the plan runs.
    pub(super) fn dynamic(&self) -> &[Pushed] {
        &self.dynamic
    }

    /// The tasks of one partition: those of the first plan, or of the same planned again if they have already run.
    pub(super) fn take(&self, partition: usize) -> tesselle::Result<Share> {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        if planned.is_none() {
            let (scan, condition) = self.narrowed();
            let plan = self.table.plan(&scan)?;
            let groups = plan.runs(self.partitions);
            *planned = Some(Planned::new(scan, condition, plan, groups));
        }
        let Some(Planned { scan, condition, groups, tasks }) = planned.as_mut() else {
            return Err(Error::internal("a scan was not planned"));
        };
        let condition = condition.clone();
        // A narrowed scan may have fewer groups than partitions; the others have nothing to do.
        let range = groups.get(partition).cloned().unwrap_or_default();
        let slots = tasks.get_mut(range.clone()).unwrap_or_default();
        let taken: Vec<_> = slots.iter_mut().filter_map(Option::take).collect();
        if taken.len() == range.len() {
            return Ok(Share { tasks: taken, condition });
        }
        let scan = scan.clone();
        drop(planned);
        let plan = self.table.plan(&scan)?;
        let tasks = plan.tasks.into_iter().skip(range.start).take(range.len()).collect();
        Ok(Share { tasks, condition })
    }

    /// The parts of the own predicate that the table only prunes with, and that are cheap to test on the rows of its
    /// batches: comparisons of a column of a fixed width. The plan filters by them anyway; tested before the filters of
    /// other operators, they leave fewer rows to look up.
    fn cheap_tests(&self) -> impl Iterator<Item = Predicate> {
        let schema = &self.request.schema;
        let is_cheap = |part: &Predicate| match part {
            Predicate::Compare { column, .. } => schema
                .field_with_name(column)
                .is_ok_and(|field| field.data_type().primitive_width().is_some()),
            _ => false,
        };
        let parts = self.request.scan.predicate.iter().flat_map(Predicate::conjuncts);
        let cheap = parts.filter(move |part| is_cheap(part));
        cheap.filter(|part| self.table.pushdown(part) != Pushdown::Exact).cloned()
    }

    /// The scan with the filters of other operators: as predicates that prune, and as conditions, from which its tasks learn
    /// what prunes later. Those that the table does not apply to its rows come with it.
    fn narrowed(&self) -> (Scan, Option<Predicate>) {
        let scan = self.request.scan.clone();
        let mut parts: Vec<Predicate> = scan.predicate.iter().cloned().collect();
        let schema = self.table.schema();
        parts.extend(self.dynamic.iter().filter_map(|filter| current(filter.expr(), &schema)));
        let (own, left): (Vec<Predicate>, Vec<Predicate>) = self
            .dynamic
            .iter()
            .map(Pushed::predicate)
            .partition(|condition| self.table.pushdown(condition) == Pushdown::Exact);
        parts.extend(own);
        // Next to a condition that the table does not apply, it may not apply those that nothing else does.
        let is_applied = |predicate: &Predicate| self.table.pushdown(predicate) == Pushdown::Exact;
        if !self.request.scan.predicate.as_ref().is_some_and(is_applied) {
            let asked = left.iter().filter(|condition| self.table.pushdown(condition) == Pushdown::Inexact);
            parts.extend(asked.cloned());
        }
        let left = if left.is_empty() { left } else { self.cheap_tests().chain(left).collect() };
        let all = |parts: Vec<Predicate>| (!parts.is_empty()).then_some(Predicate::And(parts));
        (scan.with_predicate(all(parts)), all(left))
    }
}
