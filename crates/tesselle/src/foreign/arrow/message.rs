//! Messages of files and streams: their metadata, and the memory that their bodies take.

use arrow_ipc::{Message, RecordBatch, root_as_message};
use tesselle_core::{Error, Result};

use super::STREAM_MAGIC;

pub(super) fn broken(why: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("the Arrow data cannot be read: {why}"))
}

/// The length of what precedes the metadata of a message: a marker, which old versions do not have, and its length.
pub(super) fn prefix(bytes: &[u8]) -> usize {
    if bytes.starts_with(STREAM_MAGIC) { 8 } else { 4 }
}

/// Where the metadata of the message that starts with `head` end; `None` if it is too short to tell. The end of a stream is a
/// message without metadata.
pub(super) fn metadata_end(head: &[u8]) -> Result<Option<usize>> {
    let prefix = prefix(head);
    let Some(length) = head.get(prefix - 4..).and_then(|rest| rest.first_chunk()) else { return Ok(None) };
    let length = usize::try_from(i32::from_le_bytes(*length));
    Ok(Some(prefix + length.map_err(|_| broken("a message has a negative length"))?))
}

/// The metadata at the start of a message.
pub(super) fn metadata(bytes: &[u8]) -> Result<Message<'_>> {
    let rest = bytes.get(prefix(bytes)..).ok_or_else(|| Error::corrupt("a record batch has no message"))?;
    root_as_message(rest).map_err(broken)
}

fn record_batch(message: Message<'_>) -> Option<RecordBatch<'_>> {
    message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data())
}

/// The memory that a message takes once it is decompressed, as its buffers state it; more than `limit` is refused, because
/// the decoder allocates what they state. `body` is where the body starts.
pub(super) fn decompressed(bytes: &[u8], body: usize, limit: u64) -> Result<u64> {
    let batch = record_batch(metadata(bytes)?).filter(|batch| batch.compression().is_some());
    let content = bytes.get(body..).unwrap_or_default();
    let stated = |buffer: &arrow_ipc::Buffer| {
        let start = usize::try_from(buffer.offset()).ok().filter(|_| buffer.length() > 0)?;
        let length = i64::from_le_bytes(*content.get(start..)?.first_chunk()?);
        // A negative length is that of a buffer that is stored as it is.
        u64::try_from(length).or_else(|_| u64::try_from(buffer.length())).ok()
    };
    let buffers = batch.and_then(|batch| batch.buffers());
    let sum = buffers.into_iter().flatten().filter_map(stated).fold(0, u64::saturating_add);
    if sum > limit {
        return Err(Error::limit(format!(
            "the buffers of a record batch state {sum} bytes, more than {limit} are not read"
        )));
    }
    Ok(sum.max(bytes.len() as u64))
}
