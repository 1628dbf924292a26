//! Selection of a part of a grid, axis by axis.
//!
//! A [`Selection`] is given in the axis's own coordinates (positions for tensors, domain values for arrays) and may
//! have open bounds; a [`Region`] is its resolution on a concrete grid: positions from 0, all bounds known.

use arrow_schema::Schema;

use crate::coordinate::{instant, split_ends, unit_of};
use crate::error::{Error, Result};

/// The selected part of each axis. Axes after the end of the list are selected completely.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Selection {
    /// One entry per axis, first axis first.
    pub axes: Vec<AxisSelection>,
}

/// The selected positions of one axis.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AxisSelection {
    /// `start:stop:step`, half open; a missing bound is the end of the axis.
    Range {
        /// First coordinate.
        start: Option<i128>,
        /// Coordinate after the last.
        stop: Option<i128>,
        /// Distance between coordinates, at least 1.
        step: u64,
    },
    /// These coordinates, in this order.
    Points(Vec<i128>),
    /// A range of points in time, half open, in nanoseconds since 1970. [`Selection::bind`] makes it one of coordinates.
    Times {
        /// First point in time.
        start: Option<i128>,
        /// Point in time after the last.
        stop: Option<i128>,
        /// Distance between coordinates, at least 1.
        step: u64,
    },
}

impl AxisSelection {
    /// The whole axis.
    pub const ALL: Self = Self::Range { start: None, stop: None, step: 1 };
}

/// One axis of a [`Region`]: `start`, `start + step`, … below `stop`, as positions from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First position.
    pub start: u64,
    /// Position after the last candidate.
    pub stop: u64,
    /// Distance, at least 1.
    pub step: u64,
}

impl Span {
    /// All of an axis.
    pub fn whole(extent: u64) -> Self {
        Self { start: 0, stop: extent, step: 1 }
    }

    /// How many positions it selects.
    pub fn len(&self) -> u64 {
        self.stop.saturating_sub(self.start).div_ceil(self.step.max(1))
    }

    /// Whether it selects nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The selected positions in `[lo, hi)`: the index of the first among the selected ones, its position, and their
    /// number. `None` if there are none.
    pub fn within(&self, lo: u64, hi: u64) -> Option<SpanPart> {
        let skipped = lo.saturating_sub(self.start).div_ceil(self.step.max(1));
        let first = self.start.checked_add(skipped.checked_mul(self.step)?)?;
        let stop = self.stop.min(hi);
        (first < stop).then(|| SpanPart { index: skipped, first, len: (stop - first).div_ceil(self.step) })
    }
}

/// The part of a [`Span`] inside an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanPart {
    /// Index of the first position among all selected ones.
    pub index: u64,
    /// The first position itself.
    pub first: u64,
    /// How many positions.
    pub len: u64,
}

/// A resolved box with steps on a concrete grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// One span per axis.
    pub spans: Vec<Span>,
}

impl Region {
    /// All of a grid.
    pub fn whole(shape: &[u64]) -> Self {
        Self { spans: shape.iter().map(|extent| Span::whole(*extent)).collect() }
    }

    /// The shape of the result.
    pub fn shape(&self) -> Vec<u64> {
        self.spans.iter().map(Span::len).collect()
    }

    /// The number of selected cells; `None` if it exceeds 64 bits.
    pub fn cells(&self) -> Option<u64> {
        self.spans.iter().try_fold(1_u64, |n, span| n.checked_mul(span.len()))
    }

    /// Whether it covers a whole grid of this shape.
    pub fn is_whole(&self, shape: &[u64]) -> bool {
        *self == Self::whole(shape)
    }
}

impl Selection {
    /// Everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// The selection for a table of this schema, whose first columns are its axes: points in time become counts in the
    /// unit of their axis. Fails where an axis does not count time.
    pub fn bind(&self, schema: &Schema) -> Result<Self> {
        let axes = self.axes.iter().enumerate().map(|(axis, selection)| {
            let AxisSelection::Times { start, stop, step } = selection else { return Ok(selection.clone()) };
            let column = schema.fields().get(axis);
            let unit = column.and_then(|column| unit_of(column.data_type())).ok_or_else(|| {
                let name = column.map_or("", |column| column.name().as_str());
                Error::invalid(format!(
                    "axis {axis}: '{name}' does not count time, and the slice states times"
                ))
                .hint("write its coordinates as numbers")
            })?;
            // The first count at or after a time.
            let count = |time: Option<i128>| {
                time.map(|time| time.div_euclid(unit) + i128::from(time.rem_euclid(unit) != 0))
            };
            Ok(AxisSelection::Range { start: count(*start), stop: count(*stop), step: *step })
        });
        Ok(Self { axes: axes.collect::<Result<_>>()? })
    }

    /// The same selection with its open bounds set to those of a box that starts at `origin` and has this shape.
    #[must_use]
    pub fn bounded(&self, origin: &[i128], shape: &[u64]) -> Self {
        let count = self.axes.len().max(shape.len());
        let axes = (0..count).map(|axis| {
            let own = self.axes.get(axis).unwrap_or(&AxisSelection::ALL);
            let (Some(first), Some(extent), AxisSelection::Range { start, stop, step }) =
                (origin.get(axis), shape.get(axis), own)
            else {
                return own.clone();
            };
            let end = first.saturating_add(i128::from(*extent));
            AxisSelection::Range { start: start.or(Some(*first)), stop: stop.or(Some(end)), step: *step }
        });
        Self { axes: axes.collect() }
    }

    /// Resolves against a grid whose axes start at `origin` and have these extents. Points that form a regular
    /// progression become a span; other points are an error here (a table scan can filter them).
    pub fn resolve(&self, origin: &[i128], shape: &[u64]) -> Result<Region> {
        if self.axes.len() > shape.len() {
            return Err(Error::invalid(format!(
                "the selection has {} axes, the array has {}",
                self.axes.len(),
                shape.len()
            )));
        }
        let spans = shape.iter().enumerate().map(|(axis, extent)| {
            let first = origin.get(axis).copied().unwrap_or(0);
            self.axes
                .get(axis)
                .map_or(Ok(Span::whole(*extent)), |selection| resolve_axis(selection, axis, first, *extent))
        });
        Ok(Region { spans: spans.collect::<Result<_>>()? })
    }
}

fn resolve_axis(selection: &AxisSelection, axis: usize, first: i128, extent: u64) -> Result<Span> {
    let end = first.saturating_add(i128::from(extent));
    let position = |coordinate: i128| u64::try_from(coordinate.clamp(first, end) - first).unwrap_or(extent);
    match selection {
        AxisSelection::Range { start, stop, step } => {
            if *step == 0 {
                return Err(Error::invalid(format!("axis {axis}: the step is 0")).hint("steps are 1 or more"));
            }
            let start = start.unwrap_or(first);
            if start < first {
                return Err(Error::invalid(format!(
                    "axis {axis}: {start} is before the first coordinate {first}"
                )));
            }
            let stop = stop.unwrap_or(end);
            if stop > end {
                return Err(Error::invalid(format!("axis {axis}: {stop} is after the end {end}")));
            }
            let (start, stop) = (position(start), position(stop));
            Ok(Span { start: start.min(stop), stop, step: *step })
        }
        AxisSelection::Points(points) => {
            let outside = points.iter().find(|p| **p < first || **p >= end);
            if let Some(point) = outside {
                return Err(Error::invalid(format!("axis {axis}: {point} is outside {first}:{end}")));
            }
            let positions: Vec<u64> = points.iter().map(|p| position(*p)).collect();
            as_progression(&positions).ok_or_else(|| {
                Error::invalid(format!("axis {axis}: the points are not evenly spaced"))
                    .hint("read them one range at a time, or filter the table by the axis column")
            })
        }
        AxisSelection::Times { .. } => {
            Err(Error::invalid(format!("axis {axis} does not count time, and the slice states times"))
                .hint("write its coordinates as numbers"))
        }
    }
}

fn as_progression(positions: &[u64]) -> Option<Span> {
    let (Some(start), Some(last)) = (positions.first(), positions.last()) else {
        return Some(Span { start: 0, stop: 0, step: 1 });
    };
    let step = positions.get(1).map_or(Some(1), |second| second.checked_sub(*start)).filter(|s| *s > 0)?;
    let even = positions.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(step));
    even.then(|| Span { start: *start, stop: last + 1, step })
}

impl std::str::FromStr for Selection {
    type Err = Error;

    /// `lo:hi[:step],…`, one part per axis; a lone number is one position; an empty part or `:` is the whole axis. The
    /// bounds of an axis that counts time may be dates and times in ISO 8601.
    ///
    /// ```
    /// use tesselle_core::Selection;
    /// let s: Selection = "0:10,::2,-5".parse()?;
    /// let region = s.resolve(&[0, 0, -8], &[20, 5, 8])?;
    /// assert_eq!(region.shape(), [10, 3, 1]);
    /// # Ok::<(), tesselle_core::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let refuse = |part: &str| {
            Error::invalid(format!("slice '{part}' cannot be parsed"))
                .hint("use lo:hi[:step] for each axis, e.g. \"0:10,::2\"")
        };
        let number = |part: &str, word: &str| match word.trim() {
            "" => Ok(None),
            digits => digits.parse::<i128>().map(Some).map_err(|_| refuse(part)),
        };
        let axes = text.split(',').map(|part| {
            if let Some(times) = times(part) {
                return Ok(times);
            }
            let words: Vec<&str> = part.split(':').collect();
            match *words.as_slice() {
                [word] => {
                    Ok(number(part, word)?.map_or(AxisSelection::ALL, |n| AxisSelection::Points(vec![n])))
                }
                [lo, hi] => {
                    Ok(AxisSelection::Range { start: number(part, lo)?, stop: number(part, hi)?, step: 1 })
                }
                [lo, hi, step] => {
                    let step = number(part, step)?.unwrap_or(1);
                    let step = u64::try_from(step).ok().filter(|s| *s > 0).ok_or_else(|| refuse(part))?;
                    Ok(AxisSelection::Range { start: number(part, lo)?, stop: number(part, hi)?, step })
                }
                _ => Err(refuse(part)),
            }
        });
        Ok(Self { axes: axes.collect::<Result<_>>()? })
    }
}

/// A part with dates or times.
fn times(part: &str) -> Option<AxisSelection> {
    if let Some(time) = instant(part) {
        return Some(AxisSelection::Times { start: Some(time), stop: Some(time + 1), step: 1 });
    }
    let is_end = |end: &str| end.trim().is_empty() || instant(end).is_some();
    let (start, stop, step) = split_ends(part, is_end)?;
    let (start, stop) = (instant(start), instant(stop));
    let step = step.map_or(Some(1), |step| step.trim().parse().ok()).filter(|step| *step > 0)?;
    (start.is_some() || stop.is_some()).then_some(AxisSelection::Times { start, stop, step })
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, TimeUnit};

    use super::*;

    #[test]
    fn dates_and_times_select_the_counts_between_them() {
        let schema = Schema::new(vec![
            Field::new("day", DataType::Date32, true),
            Field::new("second", DataType::Timestamp(TimeUnit::Second, None), false),
            Field::new("x", DataType::Int64, false),
        ]);
        let bound = |text: &str| text.parse::<Selection>().unwrap().bind(&schema);
        for (times, counts) in [
            ("1970-01-03:1970-02-01", "2:31"),
            ("1970-01-03:1970-02-01:7", "2:31:7"),
            ("1970-01-03:", "2:"),
            (":1970-01-03", ":2"),
            // Both ends are rounded up: no day starts between the times.
            ("1970-01-03T06:00:00:1970-01-03T12:00:00", "3:3"),
            ("1969-12-30T12:00:00:1970-01-01", "-1:0"),
            (":,1970-01-01T00:01:00:1970-01-01T00:02:30", ":,60:150"),
            (":,'1970-01-01 00:01:00':'1970-01-01T00:02:30Z':30", ":,60:150:30"),
            ("1970-01-03", "2:3"),
        ] {
            assert_eq!(bound(times).unwrap(), counts.parse().unwrap(), "{times}");
        }
        assert!(bound(":,:,1970-01-03:").unwrap_err().to_string().contains("'x' does not count time"));
        for bad in ["1970-01-03:x", "1970-01-03:1970-13-01", "1970-01-03:1970-01-04:0"] {
            assert!(bad.parse::<Selection>().is_err(), "{bad}");
        }
    }

    #[test]
    fn spans_meet_intervals_exactly() {
        let span = Span { start: 3, stop: 20, step: 4 }; // 3 7 11 15 19
        assert_eq!(span.len(), 5);
        assert_eq!(span.within(0, 3), None);
        assert_eq!(span.within(4, 12), Some(SpanPart { index: 1, first: 7, len: 2 }));
        assert_eq!(span.within(16, 100), Some(SpanPart { index: 4, first: 19, len: 1 }));
        assert_eq!(Span { start: 0, stop: 10, step: u64::MAX }.within(5, 10), None);
    }

    #[test]
    fn coordinates_outside_are_refused() {
        for bad in ["0:11", "-1:3", "0:3:0", "a", "1:2:3:4", "0,0"] {
            let result = bad.parse::<Selection>().and_then(|s| s.resolve(&[0], &[10]));
            assert!(result.is_err(), "{bad}");
        }
        assert_eq!("5:2".parse::<Selection>().unwrap().resolve(&[0], &[10]).unwrap().cells(), Some(0));
    }
}
