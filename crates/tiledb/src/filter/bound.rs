//! Upper bounds of the bytes between two filters. The sizes stated by an untrusted chunk are checked against them
//! before allocation.

use super::stage::{PartCodec, Stage, StringCodec};

/// Upper bounds of the bytes that enter a stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) data: usize,
    pub(super) metadata: usize,
}

/// The bounds before each stage for a chunk of `len` bytes and `cells` strings.
pub(super) fn bounds(stages: &[Stage], len: usize, cells: usize) -> Vec<Bound> {
    let mut bound = Bound { data: len, metadata: 0 };
    let parts = stages.len().saturating_add(2);
    stages
        .iter()
        .map(|stage| {
            let before = bound;
            bound = after(stage, bound, parts, cells);
            before
        })
        .collect()
}

fn after(stage: &Stage, before: Bound, parts: usize, cells: usize) -> Bound {
    let Bound { data, metadata } = before;
    let both = data.saturating_add(metadata);
    let own = |bytes: usize| Bound { data, metadata: metadata.saturating_add(bytes) };
    match stage {
        Stage::Pass => before,
        Stage::Compress(codec) => {
            let factor = if matches!(codec, PartCodec::Rle(_)) { 3 } else { 2 };
            Bound {
                data: both.saturating_mul(factor).saturating_add(parts.saturating_mul(1024)),
                metadata: parts.saturating_mul(8).saturating_add(8),
            }
        }
        Stage::Strings(codec) => {
            let text = data.saturating_add(cells.saturating_mul(16));
            let dictionary = if *codec == StringCodec::Dictionary { text } else { 0 };
            Bound { data: text, metadata: dictionary.saturating_add(64) }
        }
        Stage::Byteshuffle(_) | Stage::Bitshuffle(_) | Stage::Xor(_) | Stage::Webp(_) => own(64),
        // A window may be as short as one value: nine bytes of overhead per value.
        Stage::BitWidth(..) | Stage::PositiveDelta(..) => own(data.saturating_mul(9).saturating_add(64)),
        Stage::FloatScale(..) => {
            Bound { data: data.saturating_mul(2), metadata: metadata.saturating_add(64) }
        }
        Stage::Checksum(_) => own(parts.saturating_mul(40).saturating_add(8)),
        Stage::Aes256Gcm => Bound { data: both, metadata: parts.saturating_mul(36).saturating_add(8) },
    }
}
