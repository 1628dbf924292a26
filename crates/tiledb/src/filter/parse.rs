//! Parsing of filter lists: `byteshuffle,zstd:5`.

use tesselle_codec::compress::Compressor;
use tesselle_codec::digest::Digest;

use super::{Filter, ImageFormat};
use crate::{Datatype, Error, Result};

/// Parses a comma-separated list of filters. Each is a name followed by colon-separated options: the level of a
/// compressor, the window of `bit-width-reduction` and `positive-delta` in bytes, the type that `delta` and
/// `double-delta` interpret values as, `float-scale:FACTOR:OFFSET:BYTES`, `webp:FORMAT:QUALITY`. `none` is no filter.
pub fn filters_from_str(text: &str) -> Result<Vec<Filter>> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty() && *item != "none").map(filter).collect()
}

fn filter(item: &str) -> Result<Filter> {
    let mut parts = item.split(':');
    let name = parts.next().unwrap_or_default();
    let mut options = Options { item, parts: parts.collect() };
    let filter = match name {
        "gzip" => Filter::gzip(options.next("a level")?.unwrap_or(-1)),
        "zstd" => Filter::zstd(options.next("a level")?.unwrap_or(3)),
        "lz4" => Filter::Compress {
            compressor: Compressor::Lz4Block,
            level: options.next("a level")?.unwrap_or(-1),
        },
        "bzip2" => Filter::bzip2(options.next("a level")?.unwrap_or(9)),
        "rle" => Filter::Rle { level: -1 },
        "dictionary" => Filter::Dictionary { level: -1 },
        "delta" => Filter::Delta { level: -1, reinterpret: options.datatype()? },
        "double-delta" => Filter::DoubleDelta { level: -1, reinterpret: options.datatype()? },
        "bit-width-reduction" => {
            Filter::BitWidthReduction { max_window: options.next("a window in bytes")?.unwrap_or(256) }
        }
        "positive-delta" => {
            Filter::PositiveDelta { max_window: options.next("a window in bytes")?.unwrap_or(1024) }
        }
        "bitshuffle" => Filter::Bitshuffle,
        "byteshuffle" => Filter::Byteshuffle,
        "xor" => Filter::Xor,
        "md5" => Filter::Checksum(Digest::Md5),
        "sha256" => Filter::Checksum(Digest::Sha256),
        "float-scale" => Filter::FloatScale {
            scale: options.next("a factor")?.unwrap_or(1.0),
            offset: options.next("an offset")?.unwrap_or(0.0),
            byte_width: options.next("a number of bytes")?.unwrap_or(8),
        },
        "webp" => {
            let format = options.take().unwrap_or("rgb");
            let format = ImageFormat::from_name(format)
                .ok_or_else(|| options.wrong("an order of colors: rgb, bgr, rgba or bgra"))?;
            let quality = options.next("a quality from 0 to 100")?.unwrap_or(100.0);
            // The extents follow from the dimensions.
            Filter::Webp { quality, format, lossless: true, y_extent: 0, x_extent: 0 }
        }
        _ => {
            return Err(Error::invalid(format!("'{name}' is not a filter")).hint(
                "there are gzip, zstd, lz4, bzip2, rle, dictionary, delta, double-delta, bit-width-reduction, \
                 positive-delta, bitshuffle, byteshuffle, xor, float-scale, webp, md5 and sha256",
            ));
        }
    };
    match options.take() {
        None => Ok(filter),
        Some(more) => Err(Error::invalid(format!("the filter '{item}' has no option for '{more}'"))),
    }
}

/// The options of one filter, from first to last.
struct Options<'a> {
    item: &'a str,
    parts: std::collections::VecDeque<&'a str>,
}

impl<'a> Options<'a> {
    fn take(&mut self) -> Option<&'a str> {
        self.parts.pop_front()
    }

    fn wrong(&self, what: &str) -> Error {
        Error::invalid(format!("the filter '{}' needs {what}", self.item))
    }

    fn next<T: std::str::FromStr>(&mut self, what: &str) -> Result<Option<T>> {
        self.take().map(|text| text.parse().map_err(|_| self.wrong(what))).transpose()
    }

    fn datatype(&mut self) -> Result<Option<Datatype>> {
        let Some(text) = self.take() else { return Ok(None) };
        let datatype = Datatype::from_name(&text.to_ascii_uppercase());
        datatype.map(Some).ok_or_else(|| self.wrong("a TileDB datatype, e.g. INT32"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_the_name() {
        let filters =
            filters_from_str("float-scale:0.5:1:4, delta:int32,positive-delta:64,zstd:7,none").unwrap();
        assert_eq!(
            filters,
            [
                Filter::FloatScale { scale: 0.5, offset: 1.0, byte_width: 4 },
                Filter::Delta { level: -1, reinterpret: Some(Datatype::Int32) },
                Filter::PositiveDelta { max_window: 64 },
                Filter::zstd(7),
            ]
        );
        for wrong in ["zstd:x", "zstd:1:2", "delta:cat", "webp:cmyk", "shuffle", "xor:1"] {
            assert!(filters_from_str(wrong).is_err(), "{wrong}");
        }
    }
}
