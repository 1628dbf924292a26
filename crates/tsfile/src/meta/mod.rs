//! The structures of the file, one per module, each with its parser and writer side by side.
//!
//! Independent of storage, tasks and Arrow: slices in, structs out, and back.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub(crate) mod bloom;
pub(crate) mod chunk;
pub(crate) mod chunk_group;
pub(crate) mod compression;
pub(crate) mod data_type;
pub(crate) mod deletion;
pub(crate) mod device_id;
pub(crate) mod device_metadata;
pub(crate) mod encoding;
pub(crate) mod file_metadata;
pub(crate) mod index_node;
pub(crate) mod marker;
pub(crate) mod mods;
pub(crate) mod mods2;
pub(crate) mod page;
pub(crate) mod primitive;
pub(crate) mod resource;
pub(crate) mod schema;
pub(crate) mod statistics;
pub(crate) mod tag_condition;
pub(crate) mod timeseries;
pub(crate) mod value;
pub(crate) mod version;

pub(crate) use bloom::BloomFilter;
pub(crate) use chunk::ChunkHeader;
pub use compression::Compression;
pub(crate) use data_type::each_physical;
pub use data_type::{DataType, Physical};
pub(crate) use deletion::Deletion;
pub use device_id::DeviceId;
pub use encoding::Encoding;
pub(crate) use file_metadata::FileMetadata;
pub(crate) use page::PageHeader;
pub(crate) use primitive::PutPrimitives;
pub(crate) use statistics::Statistics;
pub use statistics::Sum;
pub(crate) use timeseries::TimeseriesMetadata;
pub use value::Value;
pub use version::Version;
