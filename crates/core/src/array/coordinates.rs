//! The axis columns of a table over a grid: generated, never stored.

use std::ops::Range;

use crate::selection::{Region, Span};

/// The result of `of` for the positions along `axis` of the cells `cells` (row-major positions in the region's result).
pub fn coordinates<T: Copy>(
    region: &Region,
    axis: usize,
    cells: Range<u64>,
    of: impl Fn(u64) -> T,
) -> Vec<T> {
    let mut out = Vec::with_capacity((cells.end - cells.start) as usize);
    let Some(span) = region.spans.get(axis) else { return out };
    // A coordinate is constant for `run` cells and repeats after `run * len`.
    let run = region.spans.iter().skip(axis + 1).map(Span::len).product::<u64>().max(1);
    let len = span.len().max(1);
    let position = |index: u64| span.start.wrapping_add(index.wrapping_mul(span.step));
    let mut at = cells.start;
    let mut index = (at / run) % len;
    while at < cells.end {
        if run == 1 {
            let n = (cells.end - at).min(len - index);
            out.extend((index..index + n).map(|index| of(position(index))));
            at += n;
            index = 0;
        } else {
            let n = (run - at % run).min(cells.end - at);
            out.resize(out.len() + n as usize, of(position(index)));
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
                    assert_eq!(coordinates(&region, axis, start..end, |at| 10 + at as i64), want);
                }
            }
        }
    }
}
