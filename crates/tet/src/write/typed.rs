//! The settings of a write, typed.

use tesselle_core::typed_options;

use super::spec::Alignment;
use crate::meta::index::Codec;

/// Which footer a file gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Footer {
    /// None at all.
    None,
    /// Version 1: history and metadata.
    Plain,
    /// Version 2: also zone maps and the secondary index.
    Indexed,
}

typed_options! {
    /// Options of a new file. What is not set follows from the source.
    ///
    /// ```
    /// use tesselle_tet::{Codec, WriteOptions};
    ///
    /// let options = WriteOptions::new().chunk([512, 512]).codec(Codec::Zstd).level(9);
    /// ```
    WriteOptions {
        /// Sets how chunks are stored `[default: raw]`.
        codec(codec: Codec) => "codec" as codec.name();
        /// Sets the level of zstd, from -7 to 22.
        level(level: i32) => "level";
        /// Whether zstd frames carry a checksum `[default: yes]`.
        checksum(checksum: bool) => "checksum";
        /// Sets the value of nulls, and of cells that no row has.
        fill(value: impl ToString) => "fill";
    }
}

impl WriteOptions {
    /// Sets the shape of a chunk.
    pub fn chunk(self, shape: impl IntoIterator<Item = u64>) -> Self {
        Self(self.0.with_list("chunk", shape))
    }

    /// Sets the shape of the tensors that rows are written as.
    pub fn shape(self, shape: impl IntoIterator<Item = u64>) -> Self {
        Self(self.0.with_list("shape", shape))
    }

    /// Sets the columns that are coordinates of the tensors that rows are written as.
    pub fn axes<S: ToString>(self, columns: impl IntoIterator<Item = S>) -> Self {
        Self(self.0.with_list("axes", columns))
    }

    /// Places rows by their coordinates, in memory, rather than in the order they come in.
    pub fn any_order(self) -> Self {
        Self(self.0.with("order", "any"))
    }

    /// Sets the footer `[default: version 1 where there is metadata to keep, else none]`.
    pub fn footer(self, footer: Footer) -> Self {
        let name = match footer {
            Footer::None => "none",
            Footer::Plain => "v1",
            Footer::Indexed => "v2",
        };
        Self(self.0.with("footer", name))
    }

    /// Sets where payloads begin `[default: with gaps]`.
    pub fn alignment(self, alignment: Alignment) -> Self {
        let name = match alignment {
            Alignment::Gaps => "gaps",
            Alignment::Packed => "packed",
            Alignment::Sorted => "sorted",
        };
        Self(self.0.with("align", name))
    }
}

#[cfg(test)]
mod tests {
    use tesselle_core::{TableFacts, WriteOptions as Request};

    use super::*;
    use crate::write::options::{FooterChoice, RowOrder, SinkSettings};

    #[test]
    fn typed_options_are_read_as_they_were_set() {
        let options = WriteOptions::new()
            .chunk([4, 5])
            .codec(Codec::Zstd)
            .level(9)
            .checksum(false)
            .shape([40, 50])
            .axes(["y", "x"])
            .any_order()
            .fill(-1)
            .footer(Footer::Indexed)
            .alignment(Alignment::Packed);
        let request = Request::default().with_settings(options.into());
        let read = SinkSettings::try_new(&request, &TableFacts::default()).unwrap();
        assert_eq!((read.chunk, read.shape), (Some(vec![4, 5]), Some(vec![40, 50])));
        assert_eq!((read.codec, read.level, read.checksum), (Codec::Zstd, Some(9), false));
        assert_eq!((read.axes.as_deref(), read.order), (Some("y,x"), RowOrder::Any));
        assert_eq!((read.fill.as_deref(), read.footer), (Some("-1"), FooterChoice::Indexed));
        assert_eq!(read.alignment, Alignment::Packed);
        for footer in [Footer::None, Footer::Plain] {
            let request = Request::default().with_settings(WriteOptions::new().footer(footer).into());
            SinkSettings::try_new(&request, &TableFacts::default()).unwrap();
        }
    }
}
