//! Conditions that are evaluated outside of this crate.

use std::fmt;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};

use crate::error::Result;

/// A condition over rows that [`Predicate`](super::Predicate) cannot express itself. Its `Display` is its source.
pub trait Condition: Send + Sync + fmt::Debug + fmt::Display {
    /// The columns it needs.
    fn columns(&self) -> &[String];

    /// True, false or null for each row; `batch` has at least the columns it needs.
    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray>;
}

/// A shared [`Condition`]; two are equal if their strings are.
#[derive(Debug, Clone)]
pub struct Custom(Arc<dyn Condition>);

impl Custom {
    /// Wraps a condition.
    pub fn new(condition: impl Condition + 'static) -> Self {
        Self(Arc::new(condition))
    }

    /// The condition.
    pub fn condition(&self) -> &dyn Condition {
        &*self.0
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl fmt::Display for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
