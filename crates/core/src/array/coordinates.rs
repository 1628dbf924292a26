//! The axis columns of a table over a grid: generated, never stored.

use std::ops::Range;

use crate::selection::{Region, Span};

/// The coordinates along `axis` of the cells `cells` (row-major positions in the region's result); position 0 of the
/// axis has the coordinate `origin`.
pub fn coordinates(region: &Region, axis: usize, cells: Range<u64>, origin: i64) -> Vec<i64> {
    let mut out = Vec::with_capacity((cells.end - cells.start) as usize);
    let Some(span) = region.spans.get(axis) else { return out };
    // A coordinate is constant for `run` cells and repeats after `run * len`.
    let run = region.spans.iter().skip(axis + 1).map(Span::len).product::<u64>().max(1);
    let (len, step) = (span.len().max(1), span.step.cast_signed());
    let first = origin.wrapping_add(span.start.cast_signed());
    let mut at = cells.start;
    let mut index = (at / run) % len;
    while at < cells.end {
        if run == 1 {
            let n = (cells.end - at).min(len - index);
            let start = index.cast_signed();
            out.extend((start..start + n.cast_signed()).map(|i| first.wrapping_add(i.wrapping_mul(step))));
            at += n;
            index = 0;
        } else {
            let n = (run - at % run).min(cells.end - at);
            let value = first.wrapping_add(index.cast_signed().wrapping_mul(step));
            out.resize(out.len() + n as usize, value);
            at += n;
            index = (index + 1) % len;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Span;

    #[test]
    fn coordinates_are_those_of_each_cell() {
        let region = Region {
            spans: vec![
                Span { start: 1, stop: 4, step: 1 },
                Span { start: 0, stop: 5, step: 2 },
                Span { start: 3, stop: 5, step: 1 },
            ],
        };
        let shape = region.shape();
        let cells = region.cells().unwrap();
        for start in 0..cells {
            for end in start..=cells {
                for axis in 0..3 {
                    let want: Vec<i64> = (start..end)
                        .map(|cell| {
                            let inner: u64 = shape[axis + 1..].iter().product();
                            let index = cell / inner % shape[axis];
                            10 + (region.spans[axis].start + index * region.spans[axis].step) as i64
                        })
                        .collect();
                    assert_eq!(coordinates(&region, axis, start..end, 10), want);
                }
            }
        }
    }
}
