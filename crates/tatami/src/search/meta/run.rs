//! The bytes of a run: in memory, or read by ranges on demand.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tesselle_codec::varint;
use tesselle_core::{Error, Result};

/// Bytes that the first step of a walk reads; each next one reads twice as many, up to the most.
const WINDOW: usize = 256 << 10;
const MOST_WINDOW: usize = 8 << 20;

/// The longest varint.
const VARINT: usize = 10;

/// Reads ranges of a run.
pub(crate) trait ReadRange: Debug + Send + Sync {
    /// The bytes of `range`, which lies inside the run.
    fn read(&self, range: Range<usize>) -> Result<Bytes>;
}

/// A run of the inverted index.
#[derive(Debug, Clone)]
pub(crate) enum RunSource {
    Held(Bytes),
    Ranged { len: usize, source: Arc<dyn ReadRange> },
}

impl From<Bytes> for RunSource {
    fn from(bytes: Bytes) -> Self {
        Self::Held(bytes)
    }
}

impl From<Vec<u8>> for RunSource {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Held(bytes.into())
    }
}

impl RunSource {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Held(bytes) => bytes.len(),
            Self::Ranged { len, .. } => *len,
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        matches!(self, Self::Held(_))
    }

    /// The bytes of `range`; `what` ends early where they are not there.
    pub(crate) fn get(&self, range: Range<usize>, what: &'static str) -> Result<Bytes> {
        if range.start > range.end || range.end > self.len() {
            let (needed, there) = (range.len(), self.len().saturating_sub(range.start));
            return Err(tesselle_codec::Error::truncated(what, needed, there).into());
        }
        match self {
            Self::Held(bytes) => Ok(bytes.slice(range)),
            Self::Ranged { source, .. } => source.read(range),
        }
    }

    /// The bytes from `from` on: all of them, or at most `most` where they must be read.
    fn window(&self, from: usize, most: usize) -> Result<Bytes> {
        let from = from.min(self.len());
        match self {
            Self::Held(bytes) => Ok(bytes.slice(from..)),
            Self::Ranged { len, source } => source.read(from..from.saturating_add(most).min(*len)),
        }
    }
}

/// A walk over a run from the front.
pub(super) struct Walk<'r> {
    run: &'r RunSource,
    /// Where the window starts in the run.
    start: usize,
    window: Bytes,
    most: usize,
}

impl<'r> Walk<'r> {
    pub(super) fn new(run: &'r RunSource) -> Self {
        Self { run, start: 0, window: Bytes::new(), most: WINDOW }
    }

    /// The bytes from `pos` on: at least `least` of them where the run has as many.
    pub(super) fn bytes(&mut self, pos: usize, least: usize) -> Result<&[u8]> {
        let end = self.start + self.window.len();
        let inside = self.start <= pos && (pos.saturating_add(least) <= end || end == self.run.len());
        if !inside {
            self.window = self.run.window(pos, self.most)?;
            self.start = pos.min(self.run.len());
            self.most = (self.most * 2).min(MOST_WINDOW);
        }
        Ok(self.window.get(pos.saturating_sub(self.start)..).unwrap_or_default())
    }

    /// The varint at `pos`; moves `pos` past it.
    pub(super) fn varint(&mut self, pos: &mut usize) -> Result<u64> {
        let bytes = self.bytes(*pos, VARINT)?;
        let mut read = 0;
        let value = varint::take(bytes, &mut read)?;
        *pos += read;
        Ok(value)
    }

    /// Bytes of the run.
    pub(super) fn len(&self) -> usize {
        self.run.len()
    }
}

/// Finds the next of the parts that a run stores one after the other: its first byte and its end. The position, which
/// starts where it begins, moves to its end.
type Next = fn(&mut Walk<'_>, &mut usize) -> Result<(usize, usize)>;

/// The places of the parts of a run, found as far as they were asked for: the format has no index of them.
#[derive(Debug)]
pub(super) struct Places {
    run: RunSource,
    what: &'static str,
    count: usize,
    next: Next,
    found: Mutex<Found>,
}

#[derive(Debug)]
struct Found {
    /// A run has at most 4 GiB.
    places: Vec<(u32, u32)>,
    pos: usize,
}

impl Places {
    /// The parts of a run that begins with their number; each takes `least` bytes at least. All are found at once where the
    /// run is in memory.
    pub(super) fn try_new(run: RunSource, what: &'static str, least: usize, next: Next) -> Result<Self> {
        if u32::try_from(run.len()).is_err() {
            return Err(tesselle_codec::Error::unsupported(what, "longer than 4 GiB").into());
        }
        let mut pos = 0;
        let head = run.get(0..run.len().min(VARINT), what)?;
        let count = super::index(varint::take(&head, &mut pos)?, what)?;
        if count > run.len() / least {
            let why = format!("{count} parts in {} bytes", run.len());
            return Err(tesselle_codec::Error::corrupt(what, why).into());
        }
        let held = run.is_held();
        let places = Vec::with_capacity(if held { count } else { 0 });
        let found = Mutex::new(Found { places, pos });
        let all = Self { run, what, count, next, found };
        if held && let Some(last) = count.checked_sub(1) {
            all.place(last)?;
        }
        Ok(all)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The bytes of part `i`; `None` where there is no such part.
    pub(super) fn get(&self, i: u32) -> Result<Option<Bytes>> {
        let i = i as usize;
        if i >= self.count {
            return Ok(None);
        }
        let (start, end) = self.place(i)?;
        self.run.get(start as usize..end as usize, self.what).map(Some)
    }

    fn place(&self, i: usize) -> Result<(u32, u32)> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut walk = Walk::new(&self.run);
        while found.places.len() <= i {
            let mut pos = found.pos;
            let (start, end) = (self.next)(&mut walk, &mut pos)?;
            // Both lie inside the run, which has at most 4 GiB.
            found.places.push((start as u32, end as u32));
            found.pos = pos;
        }
        found.places.get(i).copied().ok_or_else(|| Error::internal("a part of a run was not found"))
    }
}
