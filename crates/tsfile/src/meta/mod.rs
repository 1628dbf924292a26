//! The structures of the file, one per module, each with its parser and writer side by side.
//!
//! Independent of storage, tasks and Arrow: slices in, structs out, and back.

pub mod bloom;
pub mod chunk;
pub mod chunk_group;
pub mod compression;
pub mod data_type;
pub mod deletion;
pub mod device_id;
pub mod device_metadata;
pub mod encoding;
pub mod file_metadata;
pub mod index_node;
pub mod marker;
pub mod mods;
pub mod mods2;
pub mod page;
pub mod primitive;
pub mod resource;
pub mod schema;
pub mod statistics;
pub mod tag_condition;
pub mod timeseries;
pub mod value;
pub mod version;

pub use bloom::BloomFilter;
pub use chunk::ChunkHeader;
pub use chunk_group::ChunkGroupFooter;
pub use compression::Compression;
pub use data_type::{DataType, Physical};
pub use deletion::Deletion;
pub use device_id::DeviceId;
pub use encoding::Encoding;
pub use file_metadata::FileMetadata;
pub use page::PageHeader;
pub use primitive::{Primitives, PutPrimitives};
pub use statistics::{Statistics, Sum};
pub use timeseries::TimeseriesMetadata;
pub use value::Value;
pub use version::Version;
