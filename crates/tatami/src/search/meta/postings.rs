//! The postings run (spec §21.4): `uv lists`, then per list `uv length`, payload.

use bytes::Bytes;
use tesselle_codec::{Error, Result, varint};

use super::{index, slice};

const WHAT: &str = "postings run";

/// The run, with the range of every list.
#[derive(Debug)]
pub(crate) struct Postings {
    run: Bytes,
    /// Start and end of each payload; a run is at most 4 GiB.
    lists: Vec<(u32, u32)>,
}

impl Postings {
    pub(crate) fn parse(run: Bytes) -> Result<Self> {
        if u32::try_from(run.len()).is_err() {
            return Err(Error::unsupported(WHAT, "longer than 4 GiB"));
        }
        let mut pos = 0;
        let count = index(varint::take(&run, &mut pos)?, WHAT)?;
        if count > run.len() {
            return Err(Error::corrupt(WHAT, format!("{count} lists in {} bytes", run.len())));
        }
        let mut lists = Vec::with_capacity(count);
        for _ in 0..count {
            let len = varint::take(&run, &mut pos)?;
            let payload = slice(&run, &mut pos, len, WHAT)?;
            lists.push(((pos - payload.len()) as u32, pos as u32));
        }
        Ok(Self { run, lists })
    }

    /// Posting lists in the run.
    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }

    /// The payload of list `i`.
    pub(crate) fn payload(&self, i: u32) -> Option<&[u8]> {
        let &(start, end) = self.lists.get(i as usize)?;
        self.run.get(start as usize..end as usize)
    }
}
