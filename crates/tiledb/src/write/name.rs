//! Fresh timestamped names (spec §2.1).

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Result;
use crate::meta::name::fresh_uuid;

/// The format version of new arrays. Writes to an existing array use the version of its schema.
pub const WRITE_VERSION: u32 = 22;

/// Milliseconds since the epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(0))
}

/// The last millisecond for which a name was generated, and the counter at the front of its identifiers.
static LAST: Mutex<(u64, u32)> = Mutex::new((0, 0));

/// `__<t1>_<t2>_<uuid>`, in order of creation within one process.
///
/// Names with equal timestamps apply in the order of the names, so identifiers of one millisecond count up.
pub(crate) fn fresh(timestamps: (u64, u64)) -> Result<String> {
    let head = {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now();
        let head = if last.0 == now {
            last.1.wrapping_add(1)
        } else {
            let random = fresh_uuid(None)?;
            u32::from_str_radix(random.get(..8).unwrap_or("0"), 16).unwrap_or(0) & 0x7fff_ffff
        };
        *last = (now, head);
        head
    };
    Ok(format!("__{}_{}_{}", timestamps.0, timestamps.1, fresh_uuid(Some(head))?))
}

/// A name that ends in the format version: fragments and commits.
pub(crate) fn fresh_versioned(timestamps: (u64, u64), version: u32) -> Result<String> {
    Ok(format!("{}_{version}", fresh(timestamps)?))
}

/// The given timestamps, or the current time.
pub(crate) fn stamp(timestamp: Option<u64>) -> (u64, u64) {
    let at = timestamp.filter(|at| *at > 0).unwrap_or_else(now);
    (at, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::name::TimestampedName;

    #[test]
    fn names_of_one_process_keep_their_order_within_a_millisecond() {
        let mut last = (0, String::new());
        for _ in 0..200 {
            let before = now();
            let name = fresh_versioned((5, 5), WRITE_VERSION).unwrap();
            let parsed = TimestampedName::parse(&name).unwrap();
            assert_eq!((parsed.start, parsed.end, parsed.version), (5, 5, WRITE_VERSION));
            if last.0 == before && now() == before {
                assert!(name > last.1, "{name} {}", last.1);
            }
            last = (before, name);
        }
    }
}
