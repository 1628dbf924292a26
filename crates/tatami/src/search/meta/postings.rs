//! The postings run (spec §21.4): `uv lists`, then per list `uv length`, payload.

use bytes::Bytes;
use tesselle_core::Result;

use super::index;
use super::run::{Places, RunSource, Walk};

const WHAT: &str = "postings run";

/// The run, with the place of every list that was asked for.
#[derive(Debug)]
pub(crate) struct Postings(Places);

impl Postings {
    pub(crate) fn parse(run: RunSource) -> Result<Self> {
        Places::try_new(run, WHAT, 1, next).map(Self)
    }

    /// Posting lists in the run.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The payload of list `i`; `None` when there is no such list.
    pub(crate) fn payload(&self, i: u32) -> Result<Option<Bytes>> {
        self.0.get(i)
    }
}

fn next(walk: &mut Walk<'_>, pos: &mut usize) -> Result<(usize, usize)> {
    let len = index(walk.varint(pos)?, WHAT)?;
    let (start, there) = (*pos, walk.len().saturating_sub(*pos));
    if len > there {
        return Err(tesselle_codec::Error::truncated(WHAT, len, there).into());
    }
    *pos += len;
    Ok((start, *pos))
}
