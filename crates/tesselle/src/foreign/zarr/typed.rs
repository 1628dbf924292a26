//! The settings of a write, typed.

use tesselle_core::typed_options;

/// How the chunks of a Zarr array are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZarrCodec {
    /// As they are.
    Raw,
    /// Compressed with gzip.
    Gzip,
    /// Compressed with zstd.
    Zstd,
}

typed_options! {
    /// Options of a new Zarr hierarchy. Options that are not set follow from the source.
    ///
    /// ```
    /// use tesselle::foreign::{ZarrCodec, ZarrOptions};
    ///
    /// let options = ZarrOptions::new().chunk([512, 512]).codec(ZarrCodec::Zstd).level(9);
    /// ```
    ZarrOptions {
        /// Sets the level of the codec `[default: 3 for zstd, 5 for gzip]`.
        level(level: i32) => "level";
        /// Sets whether a single array is put into a group under its name, as xarray opens it `[default: false]`.
        group(group: bool) => "group";
        /// Sets the value of nulls.
        fill(value: impl ToString) => "fill";
    }
}

impl ZarrOptions {
    /// Sets the shape of a chunk `[default: about 1 MiB]`.
    pub fn chunk(self, shape: impl IntoIterator<Item = u64>) -> Self {
        Self(self.0.with_list("chunk", shape))
    }

    /// Sets how chunks are stored `[default: zstd]`.
    pub fn codec(self, codec: ZarrCodec) -> Self {
        let name = match codec {
            ZarrCodec::Raw => "raw",
            ZarrCodec::Gzip => "gzip",
            ZarrCodec::Zstd => "zstd",
        };
        Self(self.0.with("codec", name))
    }

    /// Sets the shape of the arrays that rows are written as.
    pub fn shape(self, shape: impl IntoIterator<Item = u64>) -> Self {
        Self(self.0.with_list("shape", shape))
    }

    /// Sets the columns that are coordinates of the arrays that rows are written as.
    pub fn axes<S: ToString>(self, columns: impl IntoIterator<Item = S>) -> Self {
        Self(self.0.with_list("axes", columns))
    }
}
