//! The metadata object of a footer: attributes, axis names, labels. It never affects how bytes are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tesselle_core::DType;

/// Metadata of a file and its datasets. Unknown keys are ignored on read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Metadata {
    /// About the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileMetadata>,
    /// By dataset name; names without a dataset are allowed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub datasets: BTreeMap<String, DatasetMetadata>,
}

/// Who wrote a file, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileMetadata {
    /// The program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The version of the library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library_version: Option<String>,
    /// Unix seconds, in decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
}

/// The metadata of one dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DatasetMetadata {
    /// Attributes; values are strings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attrs: BTreeMap<String, String>,
    /// The name of each axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dim_names: Option<Vec<String>>,
    /// Labels, by axis name or number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coords: Option<BTreeMap<String, AxisLabels>>,
}

/// The labels of the positions of an axis.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AxisLabels {
    /// One per position.
    pub labels: Vec<String>,
}

impl Metadata {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl DatasetMetadata {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The labels of axis `axis`: by its name, else by its number, else the only entry of the axis's length.
    pub(crate) fn labels(&self, axis: usize, extent: u64) -> Option<&[String]> {
        let coords = self.coords.as_ref()?;
        let by_name = self.dim_names.as_ref().and_then(|names| coords.get(names.get(axis)?));
        let by_number = || coords.get(&axis.to_string());
        let by_length = || {
            let mut fitting = coords.values().filter(|entry| entry.labels.len() as u64 == extent);
            fitting.next().filter(|_| fitting.next().is_none())
        };
        by_name.or_else(by_number).or_else(by_length).map(|entry| entry.labels.as_slice())
    }

    /// The value of the attribute for the null sentinel.
    pub(crate) fn fill_text(&self) -> Option<&str> {
        ["_FillValue", "missing_value", "fill_value"]
            .iter()
            .find_map(|key| self.attrs.get(*key))
            .map(String::as_str)
    }

    /// The null sentinel as an element of `dtype`, little-endian; `None` if the attribute is not such a number.
    pub(crate) fn fill(&self, dtype: DType) -> Option<Vec<u8>> {
        parse_element(dtype, self.fill_text()?)
    }
}

/// A number as an element of `dtype`, little-endian; `None` if the string is not such a number.
pub(crate) fn parse_element(dtype: DType, text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    macro_rules! number {
        ($type:ty) => {
            text.parse::<$type>().ok().map(|value| value.to_le_bytes().to_vec())
        };
    }
    match dtype {
        DType::I8 => number!(i8),
        DType::I16 => number!(i16),
        DType::I32 => number!(i32),
        DType::I64 => number!(i64),
        DType::U8 => number!(u8),
        DType::U16 => number!(u16),
        DType::U32 => number!(u32),
        DType::U64 => number!(u64),
        DType::F16 => text.parse::<f32>().ok().map(|value| half::f16::from_f32(value).to_le_bytes().to_vec()),
        DType::F32 => number!(f32),
        DType::F64 => number!(f64),
    }
}
