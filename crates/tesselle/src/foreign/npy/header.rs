//! The header of an npy file: magic, version, and a Python dictionary in ASCII.

use tesselle_core::{Cursor, DType, Error, Location, Result};

/// The contents of the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) dtype: DType,
    /// Whether the cells, bytes, are truth values.
    pub(super) is_bool: bool,
    pub(super) big_endian: bool,
    pub(super) column_major: bool,
    pub(super) shape: Vec<u64>,
    /// Where the data begins.
    pub(super) data_offset: u64,
    /// The version of the file.
    pub(super) version: &'static str,
}

const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers written here have this size, so that one can be replaced when the length is known.
const HEADER_LEN: usize = 128;
/// Longer headers do not belong to arrays of numbers.
const MAX_HEADER: u64 = 1 << 20;

impl Header {
    pub(super) fn new(dtype: DType, shape: Vec<u64>) -> Self {
        Self {
            dtype,
            is_bool: false,
            big_endian: false,
            column_major: false,
            shape,
            data_offset: 0,
            version: "1.0",
        }
    }

    /// The header of truth values, which are bytes.
    pub(super) fn of_bools(shape: Vec<u64>) -> Self {
        Self { is_bool: true, ..Self::new(DType::U8, shape) }
    }

    /// The header in version 1, padded with spaces.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let kind = match self.dtype {
            _ if self.is_bool => 'b',
            dtype if dtype.is_float() => 'f',
            dtype if dtype.is_signed() => 'i',
            _ => 'u',
        };
        let order = if self.dtype.size() == 1 { '|' } else { '<' };
        let extents: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        // A Python tuple of one element has a trailing comma.
        let shape = if extents.len() == 1 { format!("{},", extents[0]) } else { extents.join(", ") };
        let size = self.dtype.size();
        let text =
            format!("{{'descr': '{order}{kind}{size}', 'fortran_order': False, 'shape': ({shape}), }}");
        let total = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64).max(HEADER_LEN);
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        let len = (total - MAGIC.len() - 4) as u16;
        bytes.extend(len.to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.resize(total - 1, b' ');
        bytes.push(b'\n');
        bytes
    }

    pub(super) fn read(location: &Location) -> Result<Self> {
        let size = location.size()?;
        let start = location.read_range(0..size.min(12))?;
        let mut cursor = Cursor::new(&start, 0, "npy header");
        if cursor.bytes(6)? != MAGIC {
            return Err(Error::corrupt("the file does not start with the npy magic")
                .class("bad_magic")
                .offset(0));
        }
        let major = cursor.u8()?;
        cursor.u8()?;
        let version = match major {
            1 => "1.0",
            2 => "2.0",
            _ => "3.0",
        };
        let len = match major {
            1 => u64::from(cursor.u16_le()?),
            2 | 3 => u64::from(cursor.u32_le()?),
            other => return Err(Error::unsupported(format!("npy version {other} is not known")).offset(6)),
        };
        let data_offset = cursor.offset().saturating_add(len);
        if len > MAX_HEADER || data_offset > size {
            return Err(
                Error::corrupt(format!("the header states {len} bytes, the file has {size}")).offset(8)
            );
        }
        let text = location.read_range(cursor.offset()..data_offset)?;
        let text = std::str::from_utf8(&text)
            .map_err(|_| Error::corrupt("the header is not valid UTF-8").offset(cursor.offset()))?;
        let header = Self::parse(text, data_offset).map_err(|error| error.offset(cursor.offset()))?;
        Ok(Self { version, ..header })
    }

    fn parse(text: &str, data_offset: u64) -> Result<Self> {
        let missing = |key: &str| Error::corrupt(format!("the header has no '{key}'"));
        let after = |key: &str| {
            let at = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")))?;
            let rest = text.get(at..)?;
            rest.split_once(':').map(|(_, value)| value.trim_start())
        };
        let descr = after("descr").ok_or_else(|| missing("descr"))?;
        let (dtype, is_bool, big_endian) = parse_descr(descr)?;
        let order = after("fortran_order").ok_or_else(|| missing("fortran_order"))?;
        let shape = after("shape").ok_or_else(|| missing("shape"))?;
        let tuple = shape.strip_prefix('(').and_then(|s| s.split_once(')')).map(|(inside, _)| inside);
        let extents =
            tuple.ok_or_else(|| missing("shape"))?.split(',').map(str::trim).filter(|s| !s.is_empty());
        let shape = extents
            .map(|n| {
                n.trim_end_matches('L')
                    .parse::<u64>()
                    .map_err(|_| Error::corrupt(format!("extent '{n}' is not a number")))
            })
            .collect::<Result<Vec<u64>>>()?;
        Ok(Self {
            dtype,
            is_bool,
            big_endian,
            column_major: order.starts_with("True"),
            shape,
            data_offset,
            version: "1.0",
        })
    }
}

/// The type of a cell, whether it is a truth value, and whether its bytes are in big-endian order.
fn parse_descr(text: &str) -> Result<(DType, bool, bool)> {
    let unsupported = |shown: &str| {
        Error::unsupported(format!("npy element type {shown} is not a plain number"))
            .hint("integers of 8 to 64 bits, floats of 16 to 64 bits and booleans can be read")
    };
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(|| unsupported(text))?;
    let descr = text.split(quote).nth(1).unwrap_or_default();
    let (order, kind) = descr.split_at_checked(1).ok_or_else(|| unsupported(descr))?;
    let dtype = match kind {
        "b1" | "u1" => DType::U8,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        _ => return Err(unsupported(descr)),
    };
    match order {
        "<" | "|" | "=" => Ok((dtype, kind == "b1", false)),
        ">" => Ok((dtype, kind == "b1", true)),
        _ => Err(unsupported(descr)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_what_numpy_writes() {
        let bytes = Header::new(DType::F32, vec![3, 4]).to_bytes();
        assert_eq!(bytes.len(), 128);
        let text = std::str::from_utf8(&bytes[10..]).unwrap();
        assert_eq!(text.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
        assert_eq!(Header::parse(text, 0).unwrap(), Header::new(DType::F32, vec![3, 4]));
        let one = Header::new(DType::U8, vec![7]).to_bytes();
        assert!(
            std::str::from_utf8(&one[10..])
                .unwrap()
                .contains("'|u1', 'fortran_order': False, 'shape': (7,), }")
        );
        let bools = Header::of_bools(vec![7]).to_bytes();
        let text = std::str::from_utf8(&bools[10..]).unwrap();
        assert!(text.contains("'descr': '|b1'"));
        assert_eq!(Header::parse(text, 0).unwrap(), Header::of_bools(vec![7]));
    }

    #[test]
    fn odd_headers_are_refused() {
        for bad in [
            "",
            "{}",
            "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}",
        ] {
            assert!(Header::parse(bad, 0).is_err(), "{bad}");
        }
    }
}
