//! The global order of sparse cells (spec §8.3): tiles, then coordinates, or the Hilbert curve.

mod chars;
mod numbers;

use std::cmp::Ordering;
use std::ops::Range as Span;

use tesselle_core::driver::parallel;
use tesselle_core::{Hint, Scalar, Within};

use self::chars::Chars;
pub(crate) use self::chars::checked_by_any;
use self::numbers::{Coordinate, Numbers, STRIDE_CELLS, by_type, typed};
use super::cells::Cells;
use super::outside::limit_hint;
use crate::meta::dimension::Dimension;
use crate::meta::layout::Layout;
use crate::meta::schema::ArraySchema;
use crate::meta::value::Bounds;
use crate::order::hilbert;
use crate::{Error, Physical, Result};

/// One sort key of the order.
#[derive(Debug)]
enum Key {
    Words(Vec<u64>),
    Numbers(Numbers),
    Strings(Cells, Chars),
}

impl Key {
    /// Passes the words of some cells to `put`, in order. Strings have none.
    fn each(&self, cells: Span<usize>, put: impl FnMut(u64)) {
        match self {
            Self::Words(words) => words.within(cells).iter().copied().for_each(put),
            Self::Numbers(numbers) => numbers.each(cells, put),
            Self::Strings(..) => {}
        }
    }

    /// The min and max word.
    fn min_max(&self, count: usize) -> (u64, u64) {
        let of = |i: usize| {
            let (mut low, mut high) = (u64::MAX, 0);
            let start = i * STRIDE_CELLS;
            self.each(start..(start + STRIDE_CELLS).min(count), |word| {
                low = low.min(word);
                high = high.max(word);
            });
            (low, high)
        };
        let wider = |a: (u64, u64), b: (u64, u64)| (a.0.min(b.0), a.1.max(b.1));
        parallel::map(0..count.div_ceil(STRIDE_CELLS), of).into_iter().fold((u64::MAX, 0), wider)
    }
}

/// The order of some cells: sort keys from the most significant on. Cells that agree in all keys have the same
/// coordinates, except for the sign of zeros.
#[derive(Debug)]
pub(crate) struct GlobalOrder {
    keys: Vec<Key>,
    count: usize,
    floats: Floats,
}

/// The coordinates of dimensions of floats. The zeros of both signs take the same place, but are different coordinates:
/// engines compare their bytes.
#[derive(Debug, Clone)]
struct Floats(Vec<Cells>);

impl Floats {
    fn of(schema: &ArraySchema, coords: &[Cells]) -> Self {
        let columns = schema.dimensions.iter().zip(coords);
        Self(columns.filter(|(dim, _)| dim.datatype.is_float()).map(|(_, column)| column.clone()).collect())
    }

    fn are_same(&self, a: usize, other: &Self, b: usize) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, theirs)| mine.cell(a) == theirs.cell(b))
    }
}

/// Cells in order.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    /// The cells; equal ones as they came.
    pub(crate) indexes: Vec<u32>,
    /// The positions in `indexes` whose cell has the coordinates of the previous one.
    pub(crate) repeats: Vec<u32>,
}

impl Ordered {
    /// The same, without repeats of coordinates that are zeros of another sign.
    fn with_signs(mut self, floats: &Floats) -> Self {
        let cell = |place: u32| self.indexes.value(place as usize) as usize;
        self.repeats.retain(|place| floats.are_same(cell(place - 1), floats, cell(*place)));
        self
    }
}

impl GlobalOrder {
    /// The order of the cells with these coordinates, one column per dimension. Fails on coordinates outside the
    /// domain.
    pub(crate) fn try_new(schema: &ArraySchema, coords: &[Cells]) -> Result<Self> {
        for (i, (dimension, column)) in schema.dimensions.iter().zip(coords).enumerate() {
            let current = schema.current_domain.as_ref().and_then(|ranges| ranges.get(i));
            let hint = |name: &str| limit_hint(schema, name);
            check_inside(dimension, current.or(dimension.domain.as_ref()), column, hint)?;
        }
        Ok(Self::of(schema, coords, Chars::Signed, Chars::Signed))
    }

    /// An order that can be compared with that of other cells of the array.
    pub(crate) fn comparable(schema: &ArraySchema, coords: &[Cells]) -> Self {
        let order = Self::of(schema, coords, Chars::Signed, Chars::Signed);
        match order.joined() {
            Some(words) => Self { keys: vec![Key::Words(words)], ..order },
            None => order.explicit(),
        }
    }

    /// All sort keys in one word per cell, if the domain of the array leaves room for them: the same for all cells of
    /// the array.
    fn joined(&self) -> Option<Vec<u64>> {
        let limits = self.keys.iter().map(|key| match key {
            Key::Numbers(numbers) => numbers.limits,
            Key::Words(_) | Key::Strings(..) => None,
        });
        let limits: Vec<(u64, u64)> = limits.collect::<Option<_>>()?;
        let bits_of = |(low, high): &(u64, u64)| u64::BITS - high.saturating_sub(*low).leading_zeros();
        if limits.iter().map(bits_of).sum::<u32>() > u64::BITS {
            return None;
        }
        let mut words = vec![0_u64; self.count];
        for (key, limit) in self.keys.iter().zip(&limits) {
            let bits = bits_of(limit);
            let mut slots = words.iter_mut();
            // Coordinates outside the domain are damage; they must not spill into other keys.
            key.each(0..self.count, |word| {
                if let Some(slot) = slots.next() {
                    let within = word.max(limit.0).min(limit.1.max(limit.0)) - limit.0;
                    *slot = slot.checked_shl(bits).unwrap_or(0) | within;
                }
            });
        }
        Some(words)
    }

    /// The global order when string bytes compare as `on_curve` along the Hilbert curve and as `between` for ties.
    fn of(schema: &ArraySchema, coords: &[Cells], on_curve: Chars, between: Chars) -> Self {
        let count = coords.first().map_or(0, |column| column.count);
        let columns = || schema.dimensions.iter().zip(coords);
        let hilbert = schema.cell_order == Layout::Hilbert;
        let mut keys: Vec<Key> = if hilbert {
            vec![Key::Words(hilbert_positions(schema, coords, on_curve))]
        } else {
            columns().filter_map(|(dim, column)| Numbers::tiles(dim, column).map(Key::Numbers)).collect()
        };
        if schema.tile_order == Layout::ColMajor {
            keys.reverse();
        }
        let place = |(dim, column): (&Dimension, &Cells)| {
            if dim.is_var() {
                Key::Strings(column.clone(), between)
            } else {
                Key::Numbers(Numbers::places(dim, column, !hilbert))
            }
        };
        let mut places: Vec<Key> = columns().map(place).collect();
        if schema.cell_order == Layout::ColMajor {
            places.reverse();
        }
        keys.append(&mut places);
        Self { keys, count, floats: Floats::of(schema, coords) }
    }

    /// The same order with precomputed words, for cells that are compared one by one.
    pub(crate) fn explicit(mut self) -> Self {
        for key in &mut self.keys {
            if let Key::Numbers(numbers) = key {
                *key = Key::Words(numbers.words(self.count));
            }
        }
        self
    }

    fn compare_with(&self, first: usize, a: usize, other: &Self, b: usize) -> Ordering {
        for (mine, theirs) in self.keys.iter().zip(&other.keys).skip(first) {
            let order = match (mine, theirs) {
                (Key::Words(mine), Key::Words(theirs)) => mine.get(a).cmp(&theirs.get(b)),
                (Key::Strings(mine, chars), Key::Strings(theirs, _)) => {
                    chars.compare(mine.cell(a), theirs.cell(b))
                }
                (mine, theirs) => {
                    let (mut x, mut y) = (0, 0);
                    mine.each(a..a + 1, |word| x = word);
                    theirs.each(b..b + 1, |word| y = word);
                    x.cmp(&y)
                }
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Compares cell `a` with cell `b` of `other`; both orders must be comparable ones.
    pub(crate) fn compare_across(&self, a: usize, other: &Self, b: usize) -> Ordering {
        self.compare_with(0, a, other, b)
    }

    /// Whether cell `a` has the coordinates of cell `b` of `other`.
    pub(crate) fn same_across(&self, a: usize, other: &Self, b: usize) -> bool {
        self.compare_with(0, a, other, b) == Ordering::Equal && self.floats.are_same(a, &other.floats, b)
    }

    /// The cells in order.
    pub(crate) fn sorted(self) -> Result<Ordered> {
        let floats = self.floats.clone();
        Ok(self.sorted_by_keys()?.with_signs(&floats))
    }

    fn sorted_by_keys(self) -> Result<Ordered> {
        let count = self.checked_count()?;
        let Packed { words, taken, bits } = self.packed();
        let number_bits = u32::BITS - count.leading_zeros();
        if taken < self.keys.len() {
            let order = self.explicit();
            let rest = |i: u32, j: u32| order.compare_with(taken, i as usize, &order, j as usize);
            let mut pairs: Vec<(u64, u32)> = words.into_iter().zip(0..count).collect();
            parallel::sort_unstable_by(&mut pairs, |(a, i), (b, j)| {
                a.cmp(b).then_with(|| rest(*i, *j)).then(i.cmp(j))
            });
            let same = |a: &(u64, u32), b: &(u64, u32)| a.0 == b.0 && rest(a.1, b.1).is_eq();
            return Ok(Ordered {
                repeats: repeats(&pairs, same),
                indexes: pairs.into_iter().map(|(_, index)| index).collect(),
            });
        }
        if bits + number_bits > u64::BITS {
            let mut pairs: Vec<(u64, u32)> = words.into_iter().zip(0..count).collect();
            parallel::sort_unstable_by(&mut pairs, Ord::cmp);
            return Ok(Ordered {
                repeats: repeats(&pairs, |a, b| a.0 == b.0),
                indexes: pairs.into_iter().map(|(_, index)| index).collect(),
            });
        }
        // The key and the index of a cell in one word: half the bytes to move.
        let mut words = words;
        words.iter_mut().zip(0..u64::from(count)).for_each(|(word, index)| {
            *word = word.checked_shl(number_bits).unwrap_or(0) | index;
        });
        parallel::sort_unstable_by(&mut words, Ord::cmp);
        let place = |word: u64| word.checked_shr(number_bits).unwrap_or(0);
        let number = |word: u64| (word & !u64::MAX.checked_shl(number_bits).unwrap_or(0)) as u32;
        Ok(Ordered {
            repeats: repeats(&words, |a, b| place(*a) == place(*b)),
            indexes: words.into_iter().map(number).collect(),
        })
    }

    /// The cells in their given order, or the first one that precedes its predecessor.
    pub(crate) fn checked(self) -> Result<std::result::Result<Ordered, usize>> {
        let count = self.checked_count()?;
        let Packed { words, taken, .. } = self.packed();
        let order = if taken < self.keys.len() { self.explicit() } else { self };
        let compare = |a: usize, b: usize| {
            words.get(a).cmp(&words.get(b)).then_with(|| order.compare_with(taken, a, &order, b))
        };
        let mut repeats = Vec::new();
        for i in 1..count {
            match compare(i as usize - 1, i as usize) {
                Ordering::Less => {}
                Ordering::Equal => repeats.push(i),
                Ordering::Greater => return Ok(Err(i as usize)),
            }
        }
        let ordered = Ordered { indexes: (0..count).collect(), repeats };
        Ok(Ok(ordered.with_signs(&order.floats)))
    }

    fn checked_count(&self) -> Result<u32> {
        u32::try_from(self.count).map_err(|_| Error::limit("a write accepts at most 2^32 cells"))
    }

    /// As many sort keys as fit one word per cell: usually all, so that sorting needs nothing else.
    fn packed(&self) -> Packed {
        let mut packed = Packed { words: vec![0; self.count], taken: 0, bits: 0 };
        for key in &self.keys {
            if let Key::Strings(cells, chars) = key {
                packed.take_strings(cells, *chars);
                break;
            }
            let (low, high) = key.min_max(self.count);
            let bits = u64::BITS - high.saturating_sub(low).leading_zeros();
            if packed.bits + bits > u64::BITS {
                break;
            }
            packed.bits += bits;
            packed.taken += 1;
            if bits == 0 {
                continue;
            }
            parallel::for_each(packed.words.chunks_mut(STRIDE_CELLS).enumerate(), |(i, words)| {
                let mut slots = words.iter_mut();
                let start = i * STRIDE_CELLS;
                key.each(start..(start + STRIDE_CELLS).min(self.count), |word| {
                    if let Some(slot) = slots.next() {
                        *slot = slot.checked_shl(bits).unwrap_or(0) | (word - low);
                    }
                });
            });
        }
        packed
    }
}

/// The first sort keys of an order in one word per cell.
struct Packed {
    words: Vec<u64>,
    /// How many sort keys the words contain.
    taken: usize,
    /// How many bits of the words are in use.
    bits: u32,
}

impl Packed {
    /// Fills the remaining bits of the words with the first bytes in which strings differ. Words that differ decide;
    /// equal words are resolved by comparing the strings, unless the words contain them entirely.
    fn take_strings(&mut self, cells: &Cells, chars: Chars) {
        let room = ((u64::BITS - self.bits) / 8) as usize;
        if room == 0 || cells.count == 0 {
            return;
        }
        let first = cells.cell(0);
        let agree = |text: &[u8]| first.iter().zip(text).take_while(|(a, b)| a == b).count();
        let shared = parallel::map((0..cells.count).step_by(STRIDE_CELLS), |start| {
            let places = start..(start + STRIDE_CELLS).min(cells.count);
            places.map(|i| agree(cells.cell(i))).min().unwrap_or(0)
        });
        let shared = shared.into_iter().min().unwrap_or(0);
        let whole = |words: &mut [u64], start: usize| {
            let mut whole = true;
            for (word, i) in words.iter_mut().zip(start..) {
                let rest = cells.cell(i).within(shared..);
                let taken = rest.get(..room).unwrap_or(rest);
                // Missing bytes count as the lowest byte.
                whole &= rest.len() == taken.len() && !taken.contains(&chars.lowest());
                for place in 0..room {
                    // Relative to the lowest byte, the order of characters is that of the bytes.
                    let byte = taken.get(place).map_or(0, |byte| byte ^ chars.lowest());
                    *word = *word << 8 | u64::from(byte);
                }
            }
            whole
        };
        let chunks = self.words.chunks_mut(STRIDE_CELLS).enumerate();
        let whole =
            parallel::map(chunks, |(i, words)| whole(words, i * STRIDE_CELLS)).into_iter().all(|all| all);
        self.bits += 8 * room as u32;
        self.taken += usize::from(whole);
    }
}

/// The positions of entries that equal the previous one.
fn repeats<E>(sorted: &[E], same: impl Fn(&E, &E) -> bool) -> Vec<u32> {
    let pairs = sorted.iter().zip(sorted.iter().skip(1)).zip(1..);
    pairs.filter(|((a, b), _)| same(a, b)).map(|(_, place)| place).collect()
}

fn check_inside(
    dimension: &Dimension,
    limit: Option<&Bounds>,
    column: &Cells,
    hint: impl Fn(&str) -> Hint,
) -> Result<()> {
    fn outside<T: Coordinate>(column: &Cells, limit: &Bounds) -> Option<usize> {
        let (low, high) = (T::from_scalar(&limit.low)?, T::from_scalar(&limit.high)?);
        // Written so that NaN is outside.
        let stride = STRIDE_CELLS * T::SIZE;
        let outside = |value: T| !(low <= value && value <= high);
        let found = parallel::map(column.data.chunks(stride).enumerate(), |(i, bytes)| {
            Some(i * STRIDE_CELLS + typed::<T>(bytes).position(outside)?)
        });
        found.into_iter().flatten().next()
    }
    let Some(limit) = limit else { return Ok(()) };
    let row = if dimension.is_var() {
        let bytes = |end: &Scalar| match end {
            Scalar::String(text) => text.as_bytes().to_vec(),
            Scalar::Bytes(bytes) => bytes.clone(),
            _ => Vec::new(),
        };
        let (low, high) = (bytes(&limit.low), bytes(&limit.high));
        (0..column.count)
            .find(|row| column.cell(*row) < low.as_slice() || column.cell(*row) > high.as_slice())
    } else {
        by_type!(dimension.datatype.physical(), outside(column, limit))
    };
    let Some(row) = row else { return Ok(()) };
    let cell = column.cell(row);
    let value = if dimension.is_var() {
        crate::meta::value::string_or_bytes(cell)
    } else {
        crate::meta::value::parse_scalar(dimension.datatype, cell)?
    };
    Err(Error::invalid(format!(
        "row {row} has the coordinate {value} in dimension '{}', outside [{}, {}]",
        dimension.name, limit.low, limit.high
    ))
    .hint(hint(&dimension.name)))
}

fn hilbert_positions(schema: &ArraySchema, coords: &[Cells], chars: Chars) -> Vec<u64> {
    fn buckets<T: Coordinate>(column: &Cells, domain: &Bounds, bits: u32) -> Vec<u64> {
        let bound = |end: &Scalar| T::from_scalar(end).map_or(0.0, T::float);
        let (low, high) = (bound(&domain.low), bound(&domain.high));
        typed::<T>(&column.data)
            .map(|value| hilbert::bucket_number(value.float(), low, high - low, bits))
            .collect()
    }
    let bits = hilbert::bits(coords.len());
    let columns: Vec<Vec<u64>> = schema
        .dimensions
        .iter()
        .zip(coords)
        .map(|(dimension, column)| match &dimension.domain {
            Some(domain) => by_type!(dimension.datatype.physical(), buckets(column, domain, bits)),
            None => (0..column.count)
                .map(|row| hilbert::bucket_string(chars.head(column.cell(row)), bits))
                .collect(),
        })
        .collect();
    let count = coords.first().map_or(0, |column| column.count);
    let mut positions = vec![0; count];
    parallel::for_each(positions.chunks_mut(STRIDE_CELLS).enumerate(), |(i, positions)| {
        let mut axes = Vec::new();
        for (position, row) in positions.iter_mut().zip(i * STRIDE_CELLS..) {
            axes.clear();
            axes.extend(columns.iter().map(|column| column.value(row)));
            *position = hilbert::position(&mut axes, bits);
        }
    });
    positions
}
