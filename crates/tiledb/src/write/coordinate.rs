//! Coordinates and tile extents as people write them: those of times may be dates, times and lengths of time.

use tesselle_core::{Scalar, coordinates_in, split_ends};

use crate::Datatype;
use crate::meta::value::Bounds;
use crate::read::schema::element_type;

/// A number of this datatype; a time may be written in ISO 8601.
pub(super) fn coordinate(text: &str, datatype: Datatype) -> Option<Scalar> {
    if datatype.is_float() {
        return text.trim().parse().ok().map(Scalar::Float);
    }
    tesselle_core::coordinate(text, &element_type(datatype, false)).map(Scalar::Int)
}

/// A tile extent of this datatype; that of times may be a length such as `7 days`.
pub(super) fn extent(text: &str, datatype: Datatype) -> Option<Scalar> {
    if datatype.is_float() {
        return text.trim().parse().ok().map(Scalar::Float);
    }
    coordinates_in(text, &element_type(datatype, false)).map(Scalar::Int)
}

impl Bounds {
    /// The range `low:high` of a dimension of this datatype; times may be written in ISO 8601. `None` if it is none.
    ///
    /// ```
    /// use tesselle_tiledb::{Bounds, Datatype};
    /// let january = Bounds::parse("1970-01-01:1970-01-31", Datatype::DatetimeDay);
    /// assert_eq!(january, Bounds::parse("0:30", Datatype::DatetimeDay));
    /// ```
    pub fn parse(text: &str, datatype: Datatype) -> Option<Self> {
        let is_end = |end: &str| coordinate(end, datatype).is_some();
        let (low, high, None) = split_ends(text, is_end)? else { return None };
        Some(Self { low: coordinate(low, datatype)?, high: coordinate(high, datatype)? })
    }
}
