//! Live rows: the deleted documents of a search segment are stored, but they are not rows.

use arrow_buffer::{BooleanBuffer, Buffer};
use tesselle_core::{Action, Context, Error, Result};

use crate::meta::header::flags;
use crate::open::File;
use crate::search::{LiveDocs, read_live};

impl File {
    /// The live rows as bits; `None` if all are live, or deleted ones are included.
    pub(crate) fn live(&self) -> Result<Option<BooleanBuffer>> {
        if self.options().deleted {
            return Ok(None);
        }
        if let Some(known) = self.known_live().get() {
            return Ok(known.clone());
        }
        let live = self.read_live().in_file(self.path())?;
        Ok(self.known_live().get_or_init(|| live).clone())
    }

    fn read_live(&self) -> Result<Option<BooleanBuffer>> {
        let Some(inverted) = self.footer().inverted.filter(|_| self.header().has(flags::SEARCH)) else {
            return Ok(None);
        };
        let Some(run) = read_live(self, &inverted).map_err(with_hint)? else { return Ok(None) };
        let docs = u32::try_from(self.rows())
            .map_err(|_| Error::corrupt("a search segment has too many rows").class("row_count_mismatch"))?;
        let live = LiveDocs::parse(&run, docs)
            .map_err(Error::from)
            .at_offset(inverted.live.offset)
            .map_err(with_hint)?;
        Ok((live.count() < docs).then(|| bits(&live)))
    }

    /// Refuses a row that is a deleted document.
    pub(crate) fn check_live(&self, row: u64) -> Result<()> {
        match self.live()? {
            Some(live) if !is_set(&live, row) => {
                Err(Error::not_found(format!("row {row} is a deleted document"))
                    .suggest("{} shows deleted documents too", [Action::Deleted]))
            }
            _ => Ok(()),
        }
    }

    /// Number of live rows.
    pub(crate) fn live_rows(&self) -> Result<u64> {
        Ok(self.live()?.map_or(self.rows(), |live| live.count_set_bits() as u64))
    }
}

/// Whether a row is live; false if it does not exist.
pub(crate) fn is_set(live: &BooleanBuffer, row: u64) -> bool {
    usize::try_from(row).is_ok_and(|row| row < live.len() && live.value(row))
}

fn with_hint(error: Error) -> Error {
    error.suggest("{} reads all stored rows", [Action::Deleted])
}

fn bits(live: &LiveDocs) -> BooleanBuffer {
    let bytes: Vec<u8> = live.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    BooleanBuffer::new(Buffer::from_vec(bytes), 0, live.docs() as usize)
}
