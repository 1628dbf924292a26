//! The codecs of a chunk, in order: axes may be transposed, cells become bytes (or a shard of inner chunks), bytes are
//! compressed and checked.

use serde_json::{Value, json};
use tesselle_codec::compress::{Compressor, compress, decompress_into};
use tesselle_codec::{blosc, crc};
use tesselle_core::{DType, Error, Result};

/// Larger chunks are an error: they would have to be decoded as a whole.
const MAX_CHUNK: u64 = 4 << 30;

/// The codecs of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chain {
    /// For each axis of the stored chunk, the axis of the array; `None` if they are in order.
    pub(super) order: Option<Vec<usize>>,
    /// How cells become bytes.
    pub(super) cells: CellCodec,
    /// The codecs of the bytes.
    bytes: Vec<ByteCodec>,
    /// Bytes of the decoded chunk.
    pub(super) size: usize,
}

/// How cells become bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CellCodec {
    /// Cell by cell.
    Plain {
        /// The most significant byte comes first.
        big_endian: bool,
    },
    /// As smaller chunks with an index.
    Shard(Box<Shard>),
}

/// A chunk of smaller chunks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shard {
    /// The shape of a smaller chunk.
    pub(super) chunk: Vec<u64>,
    /// The codecs of an inner chunk.
    pub(super) inner: Chain,
    /// Whether the index is followed by its checksum.
    pub(super) checked: bool,
    /// The index is before the chunks instead of after them.
    pub(super) index_first: bool,
    /// The number of inner chunks along each axis.
    pub(super) grid: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteCodec {
    Gzip { level: i32 },
    Zstd { level: i32 },
    Blosc,
    Crc32c,
}

impl Chain {
    /// Little-endian cells, then this compressor.
    pub(super) fn plain(compressor: Compressor, level: i32, chunk: &[u64], dtype: DType) -> Result<Self> {
        let bytes = match compressor {
            Compressor::Zstd => vec![ByteCodec::Zstd { level }],
            Compressor::Gzip => vec![ByteCodec::Gzip { level }],
            _ => Vec::new(),
        };
        let cells = CellCodec::Plain { big_endian: false };
        Ok(Self { order: None, cells, bytes, size: decoded_size(chunk, dtype)? })
    }

    pub(super) fn parse(value: &Value, chunk: &[u64], dtype: DType) -> Result<Self> {
        Self::parse_inside(value, chunk, dtype, false)
    }

    fn parse_inside(value: &Value, chunk: &[u64], dtype: DType, in_shard: bool) -> Result<Self> {
        let list = value.as_array().ok_or_else(|| Error::corrupt("an array has no list of codecs"))?;
        let mut order: Option<Vec<usize>> = None;
        let mut cells = None;
        let mut bytes = Vec::new();
        for codec in list {
            let name = codec["name"].as_str().or(codec.as_str()).unwrap_or_default();
            let with = &codec["configuration"];
            let misplaced = || Error::corrupt(format!("the codec '{name}' is at a wrong position"));
            match name {
                "transpose" if cells.is_none() => {
                    let axes = axes(&with["order"], chunk.len()).ok_or_else(|| {
                        Error::corrupt(format!("{} is not an order of {} axes", with["order"], chunk.len()))
                    })?;
                    let before = order.unwrap_or_else(|| (0..chunk.len()).collect());
                    order = Some(axes.iter().map(|axis| before[*axis]).collect());
                }
                "bytes" | "endian" if cells.is_none() => {
                    let big_endian = match with["endian"].as_str() {
                        Some("little") | None => false,
                        Some("big") => true,
                        Some(other) => {
                            return Err(Error::corrupt(format!("the byte order '{other}' is not known")));
                        }
                    };
                    cells = Some(CellCodec::Plain { big_endian });
                }
                "sharding_indexed" if cells.is_none() => {
                    if in_shard || order.is_some() {
                        return Err(Error::unsupported(
                            "nested shards and transposed shards are not supported",
                        ));
                    }
                    cells = Some(CellCodec::Shard(Box::new(Shard::parse(with, chunk, dtype)?)));
                }
                "gzip" if cells.is_some() => bytes.push(ByteCodec::Gzip { level: level(with, 5) }),
                "zstd" if cells.is_some() => bytes.push(ByteCodec::Zstd { level: level(with, 0) }),
                "blosc" if cells.is_some() => bytes.push(ByteCodec::Blosc),
                "crc32c" if cells.is_some() => bytes.push(ByteCodec::Crc32c),
                "transpose" | "bytes" | "endian" | "sharding_indexed" | "gzip" | "zstd" | "blosc"
                | "crc32c" => {
                    return Err(misplaced());
                }
                other => {
                    return Err(Error::unsupported(format!("the codec '{other}' is not known"))
                        .class("unsupported_codec")
                        .hint("known are transpose, bytes, sharding_indexed, zstd, gzip, blosc and crc32c"));
                }
            }
        }
        let cells = cells.ok_or_else(|| Error::corrupt("no codec turns the cells into bytes"))?;
        if matches!(cells, CellCodec::Shard(_)) && !bytes.is_empty() {
            return Err(Error::unsupported("compressed shards are not supported"));
        }
        if bytes.iter().filter(|codec| **codec != ByteCodec::Crc32c).count() > 1 {
            return Err(Error::unsupported("chunks that are compressed twice are not supported"));
        }
        Ok(Self { order, cells, bytes, size: decoded_size(chunk, dtype)? })
    }

    /// The list of codecs in `zarr.json`; only for chains made by [`Chain::plain`].
    pub(super) fn to_json(&self) -> Value {
        let mut list = vec![json!({ "name": "bytes", "configuration": { "endian": "little" } })];
        list.extend(self.bytes.iter().map(|codec| match codec {
            ByteCodec::Gzip { level } => json!({ "name": "gzip", "configuration": { "level": level } }),
            ByteCodec::Zstd { level } => {
                json!({ "name": "zstd", "configuration": { "level": level, "checksum": false } })
            }
            ByteCodec::Blosc => json!({ "name": "blosc" }),
            ByteCodec::Crc32c => json!({ "name": "crc32c" }),
        }));
        Value::Array(list)
    }

    /// The cells of a chunk in stored order; `src` is the whole stored chunk.
    pub(super) fn decode(&self, src: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![0; self.size];
        self.decode_into(src, &mut out)?;
        Ok(out)
    }

    /// Like [`Chain::decode`], into a buffer of the size of the cells.
    pub(super) fn decode_into(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let mut held: Option<Vec<u8>> = None;
        for (i, codec) in self.bytes.iter().enumerate().rev() {
            let current = held.as_deref().unwrap_or(src);
            if i == 0 {
                return codec.decompress_into(current, dst);
            }
            if *codec == ByteCodec::Crc32c {
                held = Some(checked(current)?.to_vec());
                continue;
            }
            // A compressor's input has the size of the cells and of the checksums before it.
            let checks = self.bytes.iter().take(i).filter(|codec| **codec == ByteCodec::Crc32c).count();
            let mut out = vec![0; self.size + 4 * checks];
            codec.decompress_into(current, &mut out)?;
            held = Some(out);
        }
        put(held.as_deref().unwrap_or(src), dst)
    }

    /// Whether cells are stored in output form.
    pub(super) fn is_raw(&self) -> bool {
        self.bytes.is_empty() && self.order.is_none() && self.cells == CellCodec::Plain { big_endian: false }
    }

    /// The stored form of little-endian cells; only for chains made by [`Chain::plain`].
    pub(super) fn encode(&self, cells: Vec<u8>) -> Result<Vec<u8>> {
        let mut held = cells;
        for codec in &self.bytes {
            let mut out = Vec::with_capacity(held.len() / 2);
            match codec {
                ByteCodec::Gzip { level } => compress(Compressor::Gzip, Some(*level), &held, &mut out)?,
                ByteCodec::Zstd { level } => compress(Compressor::Zstd, Some(*level), &held, &mut out)?,
                _ => return Err(Error::internal("a read-only codec was used for writing")),
            }
            held = out;
        }
        Ok(held)
    }
}

impl ByteCodec {
    fn decompress_into(self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let done = match self {
            Self::Gzip { .. } => decompress_into(Compressor::Gzip, src, dst),
            Self::Zstd { .. } => decompress_into(Compressor::Zstd, src, dst),
            Self::Blosc => blosc::decompress_into(src, dst),
            Self::Crc32c => return put(checked(src)?, dst),
        };
        done.map_err(Error::from)
    }
}

/// The bytes before a matching checksum.
fn checked(bytes: &[u8]) -> Result<&[u8]> {
    let Some((body, stored)) = bytes.split_last_chunk::<4>() else {
        return Err(Error::corrupt("a chunk is shorter than its checksum"));
    };
    let (stored, found) = (u32::from_le_bytes(*stored), crc::crc32c(body));
    if stored != found {
        return Err(Error::corrupt(format!(
            "chunk checksum mismatch: stored 0x{stored:08x}, computed 0x{found:08x}"
        ))
        .class("chunk_checksum"));
    }
    Ok(body)
}

/// Copies the cells of a chunk, whose number must match the buffer.
fn put(cells: &[u8], dst: &mut [u8]) -> Result<()> {
    if cells.len() != dst.len() {
        return Err(Error::corrupt(format!("a chunk has {} bytes instead of {}", cells.len(), dst.len())));
    }
    dst.copy_from_slice(cells);
    Ok(())
}

impl Shard {
    fn parse(with: &Value, outer: &[u64], dtype: DType) -> Result<Self> {
        let chunk = with["chunk_shape"].as_array().into_iter().flatten().map(Value::as_u64);
        let chunk = chunk.collect::<Option<Vec<u64>>>().unwrap_or_default();
        let fits = chunk.len() == outer.len()
            && chunk.iter().zip(outer).all(|(inner, outer)| *inner > 0 && outer.is_multiple_of(*inner));
        if !fits {
            return Err(Error::corrupt(format!("chunks of {chunk:?} do not fill a shard of {outer:?}")));
        }
        let index = with["index_codecs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> = index.iter().filter_map(|codec| codec["name"].as_str()).collect();
        let checked = match names.as_slice() {
            ["bytes"] => false,
            ["bytes", "crc32c"] => true,
            other => {
                return Err(Error::unsupported(format!("an index encoded with {other:?} is not supported")));
            }
        };
        if index[0]["configuration"]["endian"] == "big" {
            return Err(Error::unsupported("a big-endian index is not supported"));
        }
        let index_first = match with["index_location"].as_str() {
            Some("end") | None => false,
            Some("start") => true,
            Some(other) => return Err(Error::corrupt(format!("the index is at '{other}'"))),
        };
        let inner = Chain::parse_inside(&with["codecs"], &chunk, dtype, true)?;
        let grid: Vec<u64> = outer.iter().zip(&chunk).map(|(outer, inner)| outer / inner).collect();
        let count = grid.iter().try_fold(1_u64, |n, extent| n.checked_mul(*extent));
        if count.is_none_or(|count| count > 1 << 26) {
            return Err(Error::limit("a shard has too many chunks"));
        }
        Ok(Self { chunk, inner, checked, index_first, grid })
    }

    /// Bytes of the index.
    pub(super) fn index_len(&self) -> u64 {
        self.grid.iter().product::<u64>() * 16 + if self.checked { 4 } else { 0 }
    }

    /// The offset and length of each inner chunk; `None` for missing ones.
    pub(super) fn parse_index(&self, bytes: &[u8]) -> Result<Vec<Option<(u64, u64)>>> {
        let mut body = bytes;
        if self.checked {
            let Some((rest, stored)) = bytes.split_last_chunk::<4>() else {
                return Err(Error::corrupt("the index of a shard is shorter than its checksum"));
            };
            if u32::from_le_bytes(*stored) != crc::crc32c(rest) {
                return Err(Error::corrupt("the index of a shard does not match its checksum")
                    .class("chunk_checksum"));
            }
            body = rest;
        }
        let pairs = body.as_chunks::<8>().0.chunks_exact(2).map(|pair| {
            let (offset, len) = (u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1]));
            (offset != u64::MAX || len != u64::MAX).then_some((offset, len))
        });
        Ok(pairs.collect())
    }
}

fn level(with: &Value, default: i32) -> i32 {
    with["level"].as_i64().and_then(|level| i32::try_from(level).ok()).unwrap_or(default)
}

fn axes(value: &Value, rank: usize) -> Option<Vec<usize>> {
    let list = value.as_array()?.iter().map(|n| n.as_u64().and_then(|n| usize::try_from(n).ok()));
    let list = list.collect::<Option<Vec<usize>>>()?;
    let mut sorted = list.clone();
    sorted.sort_unstable();
    sorted.into_iter().eq(0..rank).then_some(list)
}

fn decoded_size(chunk: &[u64], dtype: DType) -> Result<usize> {
    let bytes = chunk.iter().try_fold(dtype.size() as u64, |n, extent| n.checked_mul(*extent));
    let size = bytes.filter(|bytes| *bytes <= MAX_CHUNK).and_then(|bytes| usize::try_from(bytes).ok());
    size.ok_or_else(|| Error::limit(format!("chunks of the shape {chunk:?} are larger than 4 GiB")))
}
