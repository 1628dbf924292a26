//! The settings of a write, typed.

use tesselle_core::typed_options;

use super::options::Profile;
use crate::meta::types::Codec;

typed_options! {
    /// Options of a new file. Options that are not set follow from the source.
    ///
    /// ```
    /// use tesselle_tatami::WriteOptions;
    ///
    /// let options = WriteOptions::new().sort_key("time").bloom(["url"]).level(9);
    /// ```
    WriteOptions {
        /// Sets the column that rows are sorted by; the order is checked.
        sort_key(column: impl Into<String>) => "sort_key" as column.into();
        /// Sets the codec of data pages `[default: zstd]`; LZ4 needs the extended profile.
        codec(codec: Codec) => "codec" as codec.name();
        /// Sets the level of zstd, from -7 to 22 `[default: 5]`.
        level(level: i32) => "level";
        /// Sets the most rows of a row group `[default: 131072]`.
        row_group_rows(rows: u32) => "row_group_rows";
        /// Sets the estimated bytes at which a row group is closed `[default: 256 MiB]`.
        row_group_bytes(bytes: u64) => "row_group_bytes";
        /// Sets the most rows of a page `[default: 65536]`.
        page_rows(rows: u32) => "page_rows";
        /// Sets the most bytes of a blob run `[default: 1 MiB]`.
        blob_run_bytes(bytes: u64) => "blob_run_bytes";
    }
}

impl WriteOptions {
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
