//! The settings of a write, typed.

use tesselle_core::Settings;

use super::options::Profile;
use crate::meta::types::Codec;

/// Options of a new file. Options that are not set follow from the source.
///
/// ```
/// use tesselle_tatami::WriteOptions;
///
/// let options = WriteOptions::new().sort_key("time").bloom(["url"]).level(9);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "options have no effect before they are handed to a write"]
pub struct WriteOptions(Settings);

impl WriteOptions {
    /// No option set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the column that rows are sorted by; the order is checked.
    pub fn sort_key(self, column: impl Into<String>) -> Self {
        Self(self.0.with("sort_key", column.into()))
    }

    /// Gives these columns a bloom filter per row group.
    pub fn bloom<S: ToString>(self, columns: impl IntoIterator<Item = S>) -> Self {
        Self(self.0.with_list("bloom", columns))
    }

    /// Stores the values of these columns in the blob region.
    pub fn blobs<S: ToString>(self, columns: impl IntoIterator<Item = S>) -> Self {
        Self(self.0.with_list("blob", columns))
    }

    /// Sets the features that may be used `[default: those that the original engine reads]`.
    pub fn profile(self, profile: Profile) -> Self {
        let name = match profile {
            Profile::Plain => "plain",
            Profile::Extended => "extended",
        };
        Self(self.0.with("profile", name))
    }

    /// Sets the codec of data pages `[default: zstd]`; LZ4 needs the extended profile.
    pub fn codec(self, codec: Codec) -> Self {
        Self(self.0.with("codec", codec.name()))
    }

    /// Sets the level of zstd, from -7 to 22 `[default: 5]`.
    pub fn level(self, level: i32) -> Self {
        Self(self.0.with("level", level))
    }

    /// Sets the most rows of a row group `[default: 131072]`.
    pub fn row_group_rows(self, rows: u32) -> Self {
        Self(self.0.with("row_group_rows", rows))
    }

    /// Sets the estimated bytes at which a row group is closed `[default: 256 MiB]`.
    pub fn row_group_bytes(self, bytes: u64) -> Self {
        Self(self.0.with("row_group_bytes", bytes))
    }

    /// Sets the most rows of a page `[default: 65536]`.
    pub fn page_rows(self, rows: u32) -> Self {
        Self(self.0.with("page_rows", rows))
    }

    /// Sets the most bytes of a blob run `[default: 1 MiB]`.
    pub fn blob_run_bytes(self, bytes: u64) -> Self {
        Self(self.0.with("blob_run_bytes", bytes))
    }
}

impl From<WriteOptions> for Settings {
    fn from(options: WriteOptions) -> Self {
        options.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::options::WriterOptions;

    #[test]
    fn typed_options_are_read_as_they_were_set() {
        let options = WriteOptions::new()
            .sort_key("k")
            .bloom(["a", "b"])
            .blobs(["c"])
            .profile(Profile::Extended)
            .codec(Codec::Lz4)
            .level(7)
            .row_group_rows(100)
            .row_group_bytes(200)
            .page_rows(10)
            .blob_run_bytes(20);
        let read = WriterOptions::from_settings(&options.into()).unwrap();
        assert_eq!(
            (read.sort_key.as_deref(), read.bloom, read.blobs),
            (Some("k"), vec!["a".into(), "b".into()], vec!["c".into()])
        );
        assert_eq!((read.profile, read.codec, read.level), (Profile::Extended, Codec::Lz4, 7));
        assert_eq!(
            (read.row_group_rows, read.row_group_bytes, read.page_rows, read.blob_run_bytes),
            (100, 200, 10, 20)
        );
        for (profile, codec) in [(Profile::Plain, Codec::None), (Profile::Plain, Codec::Zstd)] {
            WriterOptions::from_settings(&WriteOptions::new().profile(profile).codec(codec).into()).unwrap();
        }
    }
}
