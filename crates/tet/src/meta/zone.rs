//! The zone map document: minimum, maximum and null count of every chunk, as pretty-printed JSON.
//!
//! Nulls are NaNs and the dataset's fill value; they are excluded from minimum and maximum. Floats are ordered by IEEE
//! total order, so -0 is below +0.

use serde::{Deserialize, Serialize};
use tesselle_core::{DType, Scalar, Within, hex, unhex};

/// The version readers know.
pub(crate) const VERSION: u32 = 1;
/// The placeholder for a hash in standalone files.
pub(crate) const NO_SHA256: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The whole document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZoneDocument {
    pub(crate) version: u32,
    pub(crate) generation: u64,
    pub(crate) packed_sha256: String,
    pub(crate) chunks: Vec<ZoneEntry>,
}

/// The entry of one chunk, in the order of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZoneEntry {
    pub(crate) dataset_id: u64,
    pub(crate) chunk_index: Vec<u64>,
    pub(crate) element_count: u64,
    pub(crate) null_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_le: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_le: Option<String>,
}

impl ZoneDocument {
    /// The document of a standalone file.
    pub(crate) fn standalone(chunks: Vec<ZoneEntry>) -> Self {
        Self { version: VERSION, generation: 0, packed_sha256: NO_SHA256.to_owned(), chunks }
    }

    /// Parses a document; `None` if it is broken or of another version, because it may always be ignored.
    pub(crate) fn parse(json: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(json).ok().filter(|document| document.version == VERSION)
    }
}

/// Pretty-printed JSON and a newline, the form of both embedded documents.
pub(crate) fn pretty(document: &impl Serialize) -> tesselle_core::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(document)
        .map_err(|source| tesselle_core::Error::internal("a document cannot be serialized").source(source))?;
    text.push(b'\n');
    Ok(text)
}

/// An element's little-endian bytes, padded with zeros.
pub(crate) type Element = [u8; 8];

/// The zone of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) elements: u64,
    pub(crate) nulls: u64,
    /// The smallest and largest non-null element.
    pub(crate) range: Option<(Element, Element)>,
}

impl Zone {
    /// Computes the zone of a decoded chunk.
    pub(crate) fn of(dtype: DType, fill: Option<&[u8]>, chunk: &[u8]) -> Self {
        macro_rules! integers {
            ($type:ty, $n:literal) => {{
                let fill = fill.and_then(|f| <[u8; $n]>::try_from(f).ok()).map(<$type>::from_le_bytes);
                fold::<$n, $type>(
                    chunk,
                    |bytes| Some(<$type>::from_le_bytes(bytes)).filter(|v| Some(*v) != fill),
                    <$type>::to_le_bytes,
                )
            }};
        }
        // Bits of a float, mapped so that integer order is total order; the map is its own inverse.
        macro_rules! floats {
            ($bits:ty, $n:literal, $exponent:literal) => {{
                let fill = fill.and_then(|f| <[u8; $n]>::try_from(f).ok());
                let turn = |bits: $bits| bits ^ ((bits >> ($n * 8 - 1)) & <$bits>::MAX);
                fold::<$n, $bits>(
                    chunk,
                    |bytes| {
                        let bits = <$bits>::from_le_bytes(bytes);
                        let nan = (bits & <$bits>::MAX) > $exponent;
                        (!nan && Some(bytes) != fill).then(|| turn(bits))
                    },
                    |key| turn(key).to_le_bytes(),
                )
            }};
        }
        match dtype {
            DType::I8 => integers!(i8, 1),
            DType::U8 => integers!(u8, 1),
            DType::I16 => integers!(i16, 2),
            DType::U16 => integers!(u16, 2),
            DType::I32 => integers!(i32, 4),
            DType::U32 => integers!(u32, 4),
            DType::I64 => integers!(i64, 8),
            DType::U64 => integers!(u64, 8),
            DType::F16 => floats!(i16, 2, 0x7c00),
            DType::F32 => floats!(i32, 4, 0x7f80_0000),
            DType::F64 => floats!(i64, 8, 0x7ff0_0000_0000_0000),
        }
    }

    /// Its entry in the document.
    pub(crate) fn entry(&self, dtype: DType, dataset_id: u64, chunk: &[u64]) -> ZoneEntry {
        let hex_of = |element: &Element| hex(element.within(..dtype.size()));
        ZoneEntry {
            dataset_id,
            chunk_index: chunk.to_vec(),
            element_count: self.elements,
            null_count: self.nulls,
            min_le: self.range.as_ref().map(|(min, _)| hex_of(min)),
            max_le: self.range.as_ref().map(|(_, max)| hex_of(max)),
        }
    }

    /// Parses an entry; `None` if it is inconsistent.
    pub(crate) fn from_entry(dtype: DType, entry: &ZoneEntry) -> Option<Self> {
        let range = match (&entry.min_le, &entry.max_le) {
            (None, None) => None,
            (Some(min), Some(max)) => Some((element(dtype, min)?, element(dtype, max)?)),
            _ => return None,
        };
        let all_null = entry.null_count == entry.element_count;
        (entry.null_count <= entry.element_count && range.is_none() == all_null).then_some(Self {
            elements: entry.element_count,
            nulls: entry.null_count,
            range,
        })
    }
}

fn element(dtype: DType, digits: &str) -> Option<Element> {
    let mut out = [0; 8];
    let bytes = unhex(digits.as_bytes()).filter(|bytes| bytes.len() == dtype.size())?;
    out.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some(out)
}

/// An element as a value.
pub(crate) fn scalar(dtype: DType, element: Element) -> Scalar {
    let [a, b, c, d, ..] = element;
    match dtype {
        DType::I8 => i8::from_le_bytes([a]).into(),
        DType::U8 => a.into(),
        DType::I16 => i16::from_le_bytes([a, b]).into(),
        DType::U16 => u16::from_le_bytes([a, b]).into(),
        DType::I32 => i32::from_le_bytes([a, b, c, d]).into(),
        DType::U32 => u32::from_le_bytes([a, b, c, d]).into(),
        DType::I64 => i64::from_le_bytes(element).into(),
        DType::U64 => u64::from_le_bytes(element).into(),
        DType::F16 => half::f16::from_le_bytes([a, b]).to_f32().into(),
        DType::F32 => f32::from_le_bytes([a, b, c, d]).into(),
        DType::F64 => f64::from_le_bytes(element).into(),
    }
}

fn fold<const N: usize, K: Ord + Copy>(
    chunk: &[u8],
    key: impl Fn([u8; N]) -> Option<K>,
    bytes: impl Fn(K) -> [u8; N],
) -> Zone {
    let (cells, _) = chunk.as_chunks::<N>();
    let mut nulls = 0;
    let mut range: Option<(K, K)> = None;
    for cell in cells {
        match key(*cell) {
            Some(key) => {
                range = Some(range.map_or((key, key), |(min, max)| (min.min(key), max.max(key))));
            }
            None => nulls += 1,
        }
    }
    let padded = |key| {
        let mut out = [0; 8];
        out.iter_mut().zip(bytes(key)).for_each(|(out, byte)| *out = byte);
        out
    };
    Zone { elements: cells.len() as u64, nulls, range: range.map(|(min, max)| (padded(min), padded(max))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_zeros_infinities_and_nans_follow_total_order() {
        let chunk: Vec<u8> =
            [0.0_f32, -0.0, f32::NAN, -1.0, f32::INFINITY].iter().flat_map(|v| v.to_le_bytes()).collect();
        let zone = Zone::of(DType::F32, Some(&(-1.0_f32).to_le_bytes()), &chunk);
        assert_eq!((zone.elements, zone.nulls), (5, 2));
        let (min, max) = zone.range.unwrap();
        assert_eq!(min[..4], (-0.0_f32).to_le_bytes());
        assert_eq!(max[..4], f32::INFINITY.to_le_bytes());
        assert_eq!(Zone::from_entry(DType::F32, &zone.entry(DType::F32, 0, &[0])), Some(zone));
    }

    #[test]
    fn a_chunk_of_nulls_has_no_range() {
        let zone = Zone::of(DType::U8, Some(&[7]), &[7, 7]);
        assert_eq!(zone, Zone { elements: 2, nulls: 2, range: None });
        assert_eq!(zone.entry(DType::U8, 0, &[0]).min_le, None);
    }
}
