//! The numbered enumerations: logical types, page encodings, block codecs, record kinds.

macro_rules! numbered {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$item:meta])* $variant:ident = $id:literal, $shown:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        $vis enum $name { $($(#[$item])* $variant = $id,)* }

        impl $name {
            /// The value with this number, if there is one.
            $vis fn from_id(id: u8) -> Option<Self> {
                match id {
                    $($id => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The number in files.
            $vis fn id(self) -> u8 {
                self as u8
            }

            /// The name in reports.
            $vis fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $shown,)*
                }
            }
        }
    };
}

numbered! {
    /// The type of a column.
    pub enum LogicalType {
        /// Booleans.
        Bool = 0, "bool";
        /// Signed, 1 byte.
        Int8 = 1, "int8";
        /// Signed, 2 bytes.
        Int16 = 2, "int16";
        /// Signed, 4 bytes.
        Int32 = 3, "int32";
        /// Signed, 8 bytes.
        Int64 = 4, "int64";
        /// Unsigned, 1 byte.
        UInt8 = 5, "uint8";
        /// Unsigned, 2 bytes.
        UInt16 = 6, "uint16";
        /// Unsigned, 4 bytes.
        UInt32 = 7, "uint32";
        /// Unsigned, 8 bytes.
        UInt64 = 8, "uint64";
        /// IEEE-754 single.
        Float32 = 9, "float32";
        /// IEEE-754 double.
        Float64 = 10, "float64";
        /// Strings, by convention UTF-8.
        String = 11, "string";
        /// Bytes.
        Bytes = 12, "bytes";
        /// Microseconds since the epoch.
        TimestampMicros = 13, "timestamp_micros";
        /// A list of values of one other type (extended profile).
        List = 14, "list";
        /// Large values, stored in the blob region.
        BlobRef = 15, "blobref";
    }
}

impl LogicalType {
    /// Bytes of one scalar; `None` for types of variable length and those without scalars.
    pub fn scalar_width(self) -> Option<usize> {
        match self {
            Self::Bool | Self::Int8 | Self::UInt8 => Some(1),
            Self::Int16 | Self::UInt16 => Some(2),
            Self::Int32 | Self::UInt32 | Self::Float32 => Some(4),
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::TimestampMicros => Some(8),
            Self::String | Self::Bytes | Self::List | Self::BlobRef => None,
        }
    }

    /// Whether zone maps, key bounds and bloom filters exist for this type.
    pub fn has_scalars(self) -> bool {
        !matches!(self, Self::List | Self::BlobRef)
    }

    /// Whether the integer encodings apply.
    pub fn is_integer(self) -> bool {
        matches!(self.id(), 1..=8 | 13)
    }

    /// Whether values are byte strings stored in the pages.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::String | Self::Bytes)
    }
}

numbered! {
    /// The encoding of the values of a page before compression.
    pub enum Encoding {
        /// Values back to back.
        Plain = 0, "plain";
        /// Runs and literals.
        Rle = 1, "rle";
        /// Codes into the column's value dictionary (extended profile).
        Dictionary = 2, "dictionary";
        /// Frame of reference.
        BitpackFor = 3, "bitpack_for";
        /// Zig-zag differences.
        Delta = 4, "delta";
        /// Group varint.
        GroupVarint = 5, "groupvarint";
        /// Patched packing.
        PforDelta = 6, "pfordelta";
        /// Strings as codes of a symbol table (extended profile).
        Fsst = 7, "fsst";
        /// Booleans as bits.
        Bitmap = 8, "bitmap";
    }
}

numbered! {
    /// The compression of a payload.
    pub enum Codec {
        /// Uncompressed.
        None = 0, "none";
        /// One LZ4 block (extended profile).
        Lz4 = 1, "lz4";
        /// Zstandard frames.
        Zstd = 2, "zstd";
        /// Zstandard frames with the column's content dictionary.
        ZstdDict = 3, "zstd_dict";
    }
}

numbered! {
    /// The contents of a record.
    pub(crate) enum RecordKind {
        /// A data page.
        Data = 0, "data page";
        /// A dictionary.
        Dictionary = 1, "dictionary";
        /// An index: page index, bloom filter, inverted run.
        Index = 2, "index";
        /// A run of blobs.
        Blob = 3, "blob run";
    }
}

/// The name of an encoding in listings, known or not.
pub(crate) fn encoding_name(id: u8) -> String {
    Encoding::from_id(id).map_or_else(|| id.to_string(), |e| e.name().to_owned())
}

/// The name of a codec in listings, known or not.
pub(crate) fn codec_name(id: u8) -> String {
    Codec::from_id(id).map_or_else(|| id.to_string(), |c| c.name().to_owned())
}
