//! Checksums made right again after a mutation, so that it reaches what lies behind them.

const HEADER: usize = 64;
const RECORD: usize = 32;
const TRAILER: usize = 12;

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(four) as usize)
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Gives every record, the footer and the header of a tatami file their checksums, as far as its structure can be followed.
pub fn tatami(bytes: &mut [u8]) {
    let Some(end) = bytes.len().checked_sub(TRAILER).filter(|end| *end >= HEADER) else { return };
    let footer = number(bytes, end).and_then(|len| end.checked_sub(len)).filter(|start| *start >= HEADER);
    let mut at = HEADER;
    let last = footer.unwrap_or(end);
    while let Some(size) = number(bytes, at + 12).filter(|_| at + RECORD <= last) {
        let payload = at + RECORD;
        let Some(next) = payload.checked_add(size).filter(|next| *next <= last) else { break };
        let sum = crc32c::crc32c(&bytes[payload..next]);
        put(bytes, at + 24, sum);
        at = next;
    }
    if let Some(start) = footer {
        let sum = crc32c::crc32c(&bytes[start..end]);
        put(bytes, end + 4, sum);
        let offset = (start as u64).to_le_bytes();
        bytes[40..48].copy_from_slice(&offset);
    }
    let sum = crc32c::crc32c(&bytes[..60]);
    put(bytes, 60, sum);
}
