//! The settings of a write, typed.

use tesselle_core::Settings;

use super::writer_options::Order;
use crate::meta::{Compression, Encoding, Version};

/// Options of a new file. Options that are not set follow from the source.
///
/// ```
/// use tesselle_tsfile::{Compression, Encoding, WriteOptions};
///
/// let options = WriteOptions::new()
///     .device("root.fleet.truck1")
///     .compression(Compression::Zstd)
///     .column_encoding("speed", Encoding::Gorilla);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "options have no effect before they are handed to a write"]
pub struct WriteOptions {
    settings: Settings,
    version: Option<Version>,
    encoding: Option<Encoding>,
    time_encoding: Option<Encoding>,
    encodings: Vec<(String, Encoding)>,
    compressions: Vec<(String, Compression)>,
}

impl WriteOptions {
    /// No option set.
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.settings = self.settings.with(name, value);
        self
    }

    /// Sets the version of the layout `[default: 4]`.
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Sets the device of all rows `[default: the name of the table, else root.data]`.
    pub fn device(self, device: impl Into<String>) -> Self {
        self.with("device", device.into())
    }

    /// Sets the column that names the device of each row.
    pub fn device_column(self, column: impl Into<String>) -> Self {
        self.with("device_column", column.into())
    }

    /// Writes a table whose devices are identified by these columns; needs version 4.
    pub fn tags<S: ToString>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.settings = self.settings.with_list("tags", columns).with("model", "table");
        self
    }

    /// Sets the time column `[default: time, else the only timestamp]`.
    pub fn time(self, column: impl Into<String>) -> Self {
        self.with("time", column.into())
    }

    /// Numbers the rows instead of taking times from a column.
    pub fn numbered(self) -> Self {
        self.with("time", "@row")
    }

    /// Whether the series of a device share their times; versions 3 and 4.
    pub fn aligned(self, aligned: bool) -> Self {
        self.with("aligned", aligned)
    }

    /// Sets the encoding of all columns whose type it can hold `[default: by type]`.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// Sets the encoding of a column.
    pub fn column_encoding(mut self, column: impl Into<String>, encoding: Encoding) -> Self {
        self.encodings.push((column.into(), encoding));
        self
    }

    /// Sets the encoding of times `[default: TS_2DIFF]`.
    pub fn time_encoding(mut self, encoding: Encoding) -> Self {
        self.time_encoding = Some(encoding);
        self
    }

    /// Sets the compressor of all columns `[default: LZ4, before version 000002 SNAPPY]`.
    pub fn compression(self, compression: Compression) -> Self {
        self.with("compression", compression.name())
    }

    /// Sets the compressor of a column.
    pub fn column_compression(mut self, column: impl Into<String>, compression: Compression) -> Self {
        self.compressions.push((column.into(), compression));
        self
    }

    /// Rounds floats to this many decimals in RLE and TS_2DIFF `[default: as many as keep every value]`.
    pub fn decimals(self, decimals: u32) -> Self {
        self.with("decimals", decimals)
    }

    /// Sets what becomes of points that are not in the order of time `[default: an error]`.
    pub fn order(self, order: Order) -> Self {
        let name = match order {
            Order::Refuse => "refuse",
            Order::Sort => "sort",
        };
        self.with("order", name)
    }

    /// Sets the most points of a column in a page `[default: 10000]`.
    pub fn page_points(self, points: usize) -> Self {
        self.with("page_points", points)
    }

    /// Sets the most bytes of a column in a page `[default: 256 KiB]`.
    pub fn page_bytes(self, bytes: usize) -> Self {
        self.with("page_bytes", bytes)
    }

    /// Sets the bytes that are gathered before a flush `[default: 64 MiB]`.
    pub fn group_bytes(self, bytes: usize) -> Self {
        self.with("group_bytes", bytes)
    }

    /// Sets the entries of an index node `[default: 256, in version 000002 1024]`.
    pub fn degree(self, degree: usize) -> Self {
        self.with("degree", degree)
    }
}

impl From<WriteOptions> for Settings {
    /// The names of encodings depend on the version, so they are settled last.
    fn from(options: WriteOptions) -> Self {
        let WriteOptions { mut settings, version, encoding, time_encoding, encodings, compressions } =
            options;
        let name = |encoding: Encoding| encoding.name(version.unwrap_or(Version::V4));
        if let Some(version) = version {
            settings.set("version", version.name());
        }
        if let Some(encoding) = encoding {
            settings.set("encoding", name(encoding));
        }
        if let Some(encoding) = time_encoding {
            settings.set("time_encoding", name(encoding));
        }
        if !encodings.is_empty() {
            let pairs = encodings.iter().map(|(column, encoding)| format!("{column}:{}", name(*encoding)));
            settings = settings.with_list("encodings", pairs);
        }
        if !compressions.is_empty() {
            let pairs =
                compressions.iter().map(|(column, compression)| format!("{column}:{}", compression.name()));
            settings = settings.with_list("compressions", pairs);
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::DataType;
    use crate::write::options::SinkOptions;

    #[test]
    fn typed_options_are_read_as_they_were_set() {
        let options = WriteOptions::new()
            .version(Version::V3)
            .device("root.d")
            .time("t")
            .aligned(true)
            .encoding(Encoding::Plain)
            .column_encoding("a", Encoding::Gorilla)
            .time_encoding(Encoding::Plain)
            .compression(Compression::Gzip)
            .column_compression("a", Compression::Snappy)
            .decimals(3)
            .order(Order::Sort)
            .page_points(7)
            .page_bytes(8)
            .group_bytes(9)
            .degree(10);
        let plan = SinkOptions::parse(&options.into()).unwrap();
        assert_eq!(
            (plan.device.as_deref(), plan.time.as_deref(), plan.aligned),
            (Some("root.d"), Some("t"), true)
        );
        assert_eq!(plan.encoding_of("a", DataType::Double), Some(Encoding::Gorilla));
        assert_eq!(plan.encoding_of("b", DataType::Double), Some(Encoding::Plain));
        assert_eq!(plan.compression_of("a"), Some(Compression::Snappy));
        assert_eq!(plan.compression_of("b"), Some(Compression::Gzip));
        let writer = &plan.writer;
        assert_eq!(
            (writer.version, writer.order, writer.time_encoding),
            (Version::V3, Order::Sort, Encoding::Plain)
        );
        assert_eq!((writer.page_points, writer.page_bytes, writer.group_bytes, writer.degree), (7, 8, 9, 10));
        let plan = SinkOptions::parse(&WriteOptions::new().tags(["site", "unit"]).into()).unwrap();
        assert!(plan.table && plan.tags == ["site", "unit"]);
    }

    #[test]
    fn every_encoding_has_a_name_in_every_version() {
        for version in Version::ALL.into_iter().filter(|version| *version >= Version::V2) {
            for encoding in Encoding::ALL {
                let options = WriteOptions::new().version(version).column_encoding("a", encoding);
                let plan = SinkOptions::parse(&options.into()).unwrap();
                assert_eq!(
                    plan.encoding_of("a", DataType::Int64),
                    Some(encoding),
                    "{version:?} {encoding:?}"
                );
            }
        }
    }
}
