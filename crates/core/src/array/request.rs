//! Reading of pieces: located, then fetched, then decoded into the target.

use std::collections::HashSet;
use std::ops::{Deref, Range};

use bytes::Bytes;

use super::boxes::{Run, fill};
use super::{Answer, ArrayView, Ask, Cut, Piece, Place};
use crate::Within;
use crate::driver::{Driver, fetch, sizes};
use crate::error::{Error, Result};
use crate::stats::RunStats;
use crate::task::ByteRange;

/// Pieces of one array, and the ranges to fetch for them.
#[derive(Debug)]
pub(crate) struct Request {
    pieces: Vec<Piece>,
    sources: Vec<Source>,
    ranges: Vec<ByteRange>,
}

/// The source of a piece's cells.
#[derive(Debug)]
enum Source {
    /// A buffer with the tile, or with the whole array.
    Held(Bytes),
    /// Slices with the tile, one after the other.
    HeldParts(Vec<Bytes>),
    /// The range with this index, from the first requested cell to the last.
    Raw(usize),
    /// The bytes of the cells in their file, read when they are placed.
    Direct(ByteRange),
    /// The ranges of these numbers, decoded.
    Encoded(Range<usize>),
    Fill,
    Asking(Ask),
}

/// The cells of a piece, from the first requested one on.
#[derive(Debug)]
pub(crate) enum Cells<'s> {
    /// A slice of a shared buffer.
    Shared(Bytes),
    /// The scratch buffer of the caller.
    Scratch(&'s [u8]),
}

impl Deref for Cells<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Scratch(bytes) => bytes,
        }
    }
}

impl Request {
    /// Locates the pieces.
    pub(crate) fn try_new(cut: &Cut<'_>, pieces: Vec<Piece>) -> Result<Self> {
        let (mut ranges, mut sources) = (Vec::new(), Vec::with_capacity(pieces.len()));
        for piece in &pieces {
            let source = match cut.locate(piece)? {
                // Cells of a whole array are at their place in it.
                Place::Held(bytes) if cut.is_free() => Source::Held(bytes),
                Place::Raw(all) if cut.is_free() => Source::raw(all, piece, &mut ranges),
                place => Source::at(place, piece, &mut ranges)?,
            };
            sources.push(source);
        }
        Ok(Self { pieces, sources, ranges })
    }

    /// Reads cells that are stored as they are straight into their places, if the storage is good at that. They can then
    /// only be placed.
    pub(crate) fn direct(mut self, array: &dyn ArrayView, driver: &Driver) -> Result<Self> {
        if !array.storage().is_some_and(|storage| storage.scatters()) {
            return Ok(self);
        }
        let mut kept = Vec::new();
        for (piece, source) in self.pieces.iter().zip(&mut self.sources) {
            let numbers = match source {
                Source::Raw(number) => *number..*number + 1,
                Source::Encoded(numbers) => numbers.clone(),
                _ => continue,
            };
            let own = self.ranges.get(numbers).ok_or_else(|| Error::internal("a piece has no byte range"))?;
            match (&*source, own) {
                (Source::Raw(_), [range]) if piece.copy.has_long_runs() => {
                    let bytes_fetched = range.range.end - range.range.start;
                    driver.counters().add(&RunStats { requests: 1, bytes_fetched, ..RunStats::default() });
                    *source = Source::Direct(range.clone());
                }
                (Source::Raw(_), own) => {
                    *source = Source::Raw(kept.len());
                    kept.extend(own.iter().cloned());
                }
                (_, own) => {
                    *source = Source::Encoded(kept.len()..kept.len() + own.len());
                    kept.extend(own.iter().cloned());
                }
            }
        }
        self.ranges = kept;
        Ok(self)
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The questions to answer before the ranges are known, without duplicates.
    pub(crate) fn asks(&self) -> Vec<Ask> {
        let mut seen = HashSet::new();
        let asks = self.sources.iter().filter_map(|source| match source {
            Source::Asking(ask) => Some(ask),
            _ => None,
        });
        asks.filter(|ask| seen.insert(*ask)).cloned().collect()
    }

    /// Continues with the answers to some of the questions.
    pub(crate) fn answer(&mut self, array: &dyn ArrayView, answered: &[(Ask, Answer)]) -> Result<()> {
        let known: std::collections::HashMap<&Ask, &Answer> =
            answered.iter().map(|(ask, answer)| (ask, answer)).collect();
        for (piece, source) in self.pieces.iter().zip(&mut self.sources) {
            if let Source::Asking(ask) = source
                && let Some(answer) = known.get(ask)
            {
                let place = array.locate_with(&piece.tile, &piece.rows, ask, answer)?;
                *source = Source::at(place, piece, &mut self.ranges)?;
            }
        }
        Ok(())
    }

    /// The ranges to fetch, once no questions are left.
    pub(crate) fn ranges(&self) -> &[ByteRange] {
        &self.ranges
    }

    /// Resolves all questions and fetches all ranges.
    pub(crate) fn fetch(&mut self, array: &dyn ArrayView, driver: &Driver) -> Result<Vec<Bytes>> {
        let storage = || array.storage().ok_or_else(|| Error::internal("an array has no storage"));
        loop {
            let asks = self.asks();
            if asks.is_empty() {
                break;
            }
            let storage = storage()?;
            let (files, indexes) = split(&asks);
            let mut answers = answers(&asks, &sizes(&*storage, &files, driver.counters())?, true)?;
            answers.extend(self::answers(&asks, &fetch(&*storage, &indexes, driver.counters())?, false)?);
            self.answer(array, &answers)?;
        }
        if self.ranges.is_empty() {
            return Ok(Vec::new());
        }
        fetch(&*storage()?, &self.ranges, driver.counters())
    }

    /// The single range with the cells of all pieces in target order, if there is one.
    pub(crate) fn one_range(&self) -> Option<ByteRange> {
        let mut joined: Option<ByteRange> = None;
        let mut dst = 0;
        for (piece, source) in self.pieces.iter().zip(&self.sources) {
            let Source::Raw(number) = source else { return None };
            let range = self.ranges.get(*number)?;
            if !piece.copy.is_one_run() || piece.copy.dst_start != dst {
                return None;
            }
            match &mut joined {
                None => joined = Some(range.clone()),
                Some(all) if all.file == range.file && all.range.end == range.range.start => {
                    all.range.end = range.range.end;
                }
                Some(_) => return None,
            }
            dst += piece.copy.run();
        }
        joined
    }

    /// Bytes of the tiles that are decoded.
    pub(crate) fn encoded_bytes(&self) -> u64 {
        let encoded = self.pieces.iter().zip(&self.sources);
        encoded.filter(|(_, source)| matches!(source, Source::Encoded(_))).map(|(piece, _)| piece.bytes).sum()
    }

    /// The cells of piece number `at`; `scratch` is a decode buffer with arbitrary content.
    pub(crate) fn cells<'s>(
        &self,
        at: usize,
        array: &dyn ArrayView,
        fetched: &[Bytes],
        scratch: &'s mut Vec<u8>,
    ) -> Result<Cells<'s>> {
        let (piece, source) = self.at(at)?;
        let start = piece.copy.src_start;
        match source {
            Source::Held(bytes) if start <= bytes.len() => Ok(Cells::Shared(bytes.slice(start..))),
            Source::Raw(number) => {
                let bytes = fetched.get(*number).ok_or_else(unfetched)?;
                Ok(Cells::Shared(bytes.clone()))
            }
            Source::Encoded(_) | Source::Fill | Source::HeldParts(_) => {
                let place = room(scratch, piece.bytes as usize);
                write(piece, source, array, fetched, place)?;
                let cells = place.get(start..);
                cells
                    .map(Cells::Scratch)
                    .ok_or_else(|| Error::internal("a piece starts after the end of its tile"))
            }
            Source::Held(_) | Source::Direct(_) | Source::Asking(_) => {
                Err(Error::internal("a tile was not located"))
            }
        }
    }

    /// Copies the cells of piece number `at` into the target.
    pub(crate) fn place(
        &self,
        at: usize,
        array: &dyn ArrayView,
        fetched: &[Bytes],
        target: &mut [u8],
        scratch: &mut Vec<u8>,
    ) -> Result<()> {
        let (piece, source) = self.at(at)?;
        if let Source::Direct(ByteRange { file, range }) = source {
            let places = piece.copy.runs(target);
            let places = places.ok_or_else(|| Error::internal("a tile does not fit its place"))?;
            let mut parts: Vec<(u64, &mut [u8])> =
                places.into_iter().map(|(offset, place)| (range.start + offset as u64, place)).collect();
            let storage = array.storage().ok_or_else(|| Error::internal("an array has no storage"))?;
            return storage.read_parts(file, &mut parts);
        }
        if let Source::HeldParts(parts) = source
            && piece.copy.copy_parts(parts, target)?
        {
            return Ok(());
        }
        let size = piece.bytes as usize;
        if matches!(source, Source::Encoded(_) | Source::Fill)
            && piece.copy.is_one_run()
            && piece.copy.run() == size
            && let Some(place) = target.get_mut(piece.copy.dst_start..piece.copy.dst_start + size)
        {
            // The whole tile is one run of the target, so it is decoded directly into it.
            return write(piece, source, array, fetched, place);
        }
        let cells = self.cells(at, array, fetched, scratch)?;
        piece.copy.copy(&cells, target)
    }

    /// Copies the cells of piece number `at` into its runs.
    pub(crate) fn scatter(
        &self,
        at: usize,
        array: &dyn ArrayView,
        fetched: &[Bytes],
        runs: &mut [Run<'_>],
        scratch: &mut Vec<u8>,
    ) -> Result<()> {
        let (piece, source) = self.at(at)?;
        if let (Source::Encoded(_) | Source::Fill, [(_, place)]) = (source, &mut *runs)
            && place.len() as u64 == piece.bytes
        {
            return write(piece, source, array, fetched, place);
        }
        let cells = self.cells(at, array, fetched, scratch)?;
        for (offset, place) in runs {
            let run = cells.get(*offset..).and_then(|cells| cells.get(..place.len()));
            place.copy_from_slice(run.ok_or_else(|| Error::internal("a tile does not fit its place"))?);
        }
        Ok(())
    }

    fn at(&self, at: usize) -> Result<(&Piece, &Source)> {
        let found = self.pieces.get(at).zip(self.sources.get(at));
        found.ok_or_else(|| Error::internal("there is no such piece"))
    }
}

/// Writes the tile of a piece, at least its requested rows.
fn write(
    piece: &Piece,
    source: &Source,
    array: &dyn ArrayView,
    fetched: &[Bytes],
    dst: &mut [u8],
) -> Result<()> {
    let numbers = match source {
        Source::Encoded(numbers) => numbers,
        Source::HeldParts(parts) => {
            let mut rest = dst;
            for part in parts {
                let place = rest.split_at_mut_checked(part.len());
                let (place, after) = place.ok_or_else(|| Error::internal("a tile exceeds its place"))?;
                place.copy_from_slice(part);
                rest = after;
            }
            return Ok(());
        }
        _ => {
            fill(dst, array.fill());
            return Ok(());
        }
    };
    let fetched = fetched.get(numbers.clone()).ok_or_else(unfetched)?;
    array.decode(&piece.tile, piece.rows.clone(), fetched, dst)
}

impl Source {
    /// The cells of a piece from the first to the last, in the range that they are copied from.
    fn raw(ByteRange { file, range }: ByteRange, piece: &Piece, ranges: &mut Vec<ByteRange>) -> Self {
        let start = range.start + piece.copy.src_start as u64;
        ranges.push(ByteRange { file, range: start..start + piece.copy.src_reach() as u64 });
        Self::Raw(ranges.len() - 1)
    }

    /// Converts a place; its ranges are appended to `ranges`.
    fn at(place: Place, piece: &Piece, ranges: &mut Vec<ByteRange>) -> Result<Self> {
        match place {
            Place::Held(bytes) if bytes.len() as u64 == piece.bytes => Ok(Self::Held(bytes)),
            Place::Raw(all) if all.range.end.checked_sub(all.range.start) == Some(piece.bytes) => {
                Ok(Self::raw(all, piece, ranges))
            }
            Place::HeldParts(parts)
                if parts.iter().map(|part| part.len() as u64).sum::<u64>() == piece.bytes =>
            {
                Ok(Self::HeldParts(parts))
            }
            Place::Held(_) | Place::HeldParts(_) | Place::Raw(_) => Err(Error::internal(format!(
                "tile {:?} is not stored in the {} bytes of its cells",
                piece.tile, piece.bytes
            ))),
            Place::Encoded(own) => {
                let first = ranges.len();
                ranges.extend(own);
                Ok(Self::Encoded(first..ranges.len()))
            }
            Place::Fill => Ok(Self::Fill),
            Place::Ask(ask) => Ok(Self::Asking(ask)),
        }
    }
}

/// The files whose sizes are requested, and the ranges.
pub(crate) fn split(asks: &[Ask]) -> (Vec<std::sync::Arc<str>>, Vec<ByteRange>) {
    let (mut files, mut ranges) = (Vec::new(), Vec::new());
    for ask in asks {
        match ask {
            Ask::Size(file) => files.push(file.clone()),
            Ask::Bytes(range) => ranges.push(range.clone()),
        }
    }
    (files, ranges)
}

/// The questions for sizes, or those for bytes, with the fetched answers.
pub(crate) fn answers(asks: &[Ask], fetched: &[Bytes], for_sizes: bool) -> Result<Vec<(Ask, Answer)>> {
    let asked: Vec<&Ask> = asks.iter().filter(|ask| matches!(ask, Ask::Size(_)) == for_sizes).collect();
    if asked.len() != fetched.len() {
        return Err(unfetched());
    }
    let answers = asked.into_iter().zip(fetched).map(|(ask, bytes)| {
        let answer = match ask {
            Ask::Bytes(_) => Answer::Bytes(bytes.clone()),
            Ask::Size(_) => Answer::Size(match bytes.as_ref() {
                [] => None,
                bytes => Some(u64::from_le_bytes(
                    bytes.try_into().map_err(|_| Error::internal("a size does not have 8 bytes"))?,
                )),
            }),
        };
        Ok((ask.clone(), answer))
    });
    answers.collect()
}

/// A buffer of `size` bytes. The system zeroes fresh memory when it is touched, which may be only in part.
fn room(scratch: &mut Vec<u8>, size: usize) -> &mut [u8] {
    if scratch.len() < size {
        *scratch = vec![0; size];
    }
    scratch.within_mut(..size)
}

fn unfetched() -> Error {
    Error::internal("not all requested ranges were fetched")
}
