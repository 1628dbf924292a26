//! Conditions that are evaluated outside of this crate.

use std::fmt;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};

use super::Predicate;
use crate::error::{Error, Result};

/// A condition over rows that [`Predicate`](super::Predicate) cannot express itself. Its `Display` is its source.
pub trait Condition: Send + Sync + fmt::Debug + fmt::Display {
    /// The columns it needs.
    fn columns(&self) -> &[String];

    /// True, false or null for each row; `batch` has at least the columns it needs.
    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray>;

    /// A predicate without custom conditions that is true wherever this one is true, now and later. A condition that learns
    /// while a scan runs excludes more with every call; the default is one that knows of none.
    fn implied(&self) -> Option<Predicate> {
        None
    }
}

/// A shared [`Condition`]; two are equal if their strings are.
#[derive(Debug, Clone)]
pub struct Custom(Arc<dyn Condition>);

impl Custom {
    /// Wraps a condition.
    pub fn new(condition: impl Condition + 'static) -> Self {
        Self(Arc::new(condition))
    }

    /// A condition of which only the source is known, as it arrives from another process.
    /// [`Predicate::resolve`](super::Predicate::resolve) replaces it.
    pub fn unread(source: impl Into<String>) -> Self {
        Self::new(Unread(source.into()))
    }

    /// The condition.
    pub fn condition(&self) -> &dyn Condition {
        &*self.0
    }
}

/// The source of a condition, for a reader that can parse it.
#[derive(Debug)]
struct Unread(String);

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Condition for Unread {
    fn columns(&self) -> &[String] {
        &[]
    }

    fn evaluate(&self, _: &RecordBatch) -> Result<BooleanArray> {
        Err(Error::unsupported(format!("the condition '{self}' needs SQL")))
    }
}

/// The serialized form is the source.
#[cfg(feature = "serde")]
impl serde::Serialize for Custom {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An [unread](Custom::unread) condition.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Custom {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::unread)
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
