//! `zarr.json`: the metadata of an array or a group (Zarr version 3).

use serde_json::{Map, Value, json};
use tesselle_core::{DType, Error, Location, Result};

use super::codec::Chain;

/// The file that makes a folder an array or a group.
pub(super) const FILE: &str = "zarr.json";
/// Larger ones are no metadata.
const MAX_BYTES: u64 = 64 << 20;
/// More axes than this has no array.
const MAX_RANK: usize = 32;

/// A folder of a hierarchy.
pub(super) enum Node {
    /// An array.
    Array(Box<ArrayMeta>),
    /// A group, with its attributes.
    Group(Map<String, Value>),
}

/// The metadata of an array.
#[derive(Debug, Clone)]
pub(super) struct ArrayMeta {
    pub(super) shape: Vec<u64>,
    pub(super) chunk: Vec<u64>,
    pub(super) dtype: DType,
    pub(super) is_bool: bool,
    pub(super) fill: Vec<u8>,
    pub(super) codecs: Chain,
    /// Keys are `c/0/1`, or `0/1` as in version 2.
    pub(super) prefixed: bool,
    pub(super) separator: char,
    pub(super) attributes: Map<String, Value>,
    pub(super) axis_names: Vec<Option<String>>,
}

impl Node {
    /// Reads the metadata of a folder.
    pub(super) fn read(folder: &Location) -> Result<Self> {
        let file = folder.join(FILE);
        let text = file.read_all(MAX_BYTES)?;
        let value: Value = serde_json::from_slice(&text)
            .map_err(|e| Error::corrupt("zarr.json is not JSON").source(e).file(file.path()))?;
        Self::parse(&value).map_err(|error| error.file(file.path()))
    }

    pub(super) fn parse(value: &Value) -> Result<Self> {
        if value["zarr_format"] != 3 {
            return Err(Error::unsupported(format!("Zarr format {} is not version 3", value["zarr_format"])));
        }
        let attributes = value["attributes"].as_object().cloned().unwrap_or_default();
        match value["node_type"].as_str() {
            Some("group") => Ok(Self::Group(attributes)),
            Some("array") => Ok(Self::Array(Box::new(ArrayMeta::parse(value, attributes)?))),
            _ => Err(Error::corrupt("zarr.json describes neither an array nor a group")),
        }
    }
}

impl ArrayMeta {
    fn parse(value: &Value, attributes: Map<String, Value>) -> Result<Self> {
        let shape = numbers(&value["shape"], "shape")?;
        if value["chunk_grid"]["name"] != "regular" {
            return Err(Error::unsupported(format!(
                "the chunk grid {} is not known",
                value["chunk_grid"]["name"]
            )));
        }
        let chunk = numbers(&value["chunk_grid"]["configuration"]["chunk_shape"], "chunk_shape")?;
        if chunk.len() != shape.len() || chunk.contains(&0) || shape.len() > MAX_RANK {
            return Err(Error::corrupt(format!(
                "chunks of the shape {chunk:?} do not divide an array of {shape:?}"
            )));
        }
        let kind = value["data_type"].as_str().unwrap_or_default();
        let (dtype, is_bool) = type_of(kind).ok_or_else(|| {
            Error::unsupported(format!("the data type {} is not known", value["data_type"]))
                .hint("booleans, integers of 8 to 64 bits and floats of 16 to 64 bits can be read")
        })?;
        let fill = fill_value(&value["fill_value"], dtype).ok_or_else(|| {
            Error::corrupt(format!("the fill value {} is not a {kind}", value["fill_value"]))
        })?;
        if value["storage_transformers"].as_array().is_some_and(|list| !list.is_empty()) {
            return Err(Error::unsupported("storage transformers are not known"));
        }
        let keys = &value["chunk_key_encoding"];
        let prefixed = match keys["name"].as_str() {
            Some("default") | None => true,
            Some("v2") => false,
            Some(other) => return Err(Error::unsupported(format!("the chunk keys '{other}' are not known"))),
        };
        let separator = match keys["configuration"]["separator"].as_str() {
            Some("/") => '/',
            Some(".") => '.',
            None if prefixed => '/',
            None => '.',
            Some(other) => return Err(Error::corrupt(format!("the separator '{other}' is neither / nor ."))),
        };
        let codecs = Chain::parse(&value["codecs"], &chunk, dtype)?;
        let names = value["dimension_names"].as_array();
        let axis_names = (0..shape.len())
            .map(|axis| names.and_then(|names| names.get(axis)?.as_str()).map(str::to_owned))
            .collect();
        Ok(Self { shape, chunk, dtype, is_bool, fill, codecs, prefixed, separator, attributes, axis_names })
    }

    /// The name of a chunk's file.
    pub(super) fn key(&self, chunk: &[u64]) -> String {
        let joined = chunk.iter().map(u64::to_string).collect::<Vec<_>>().join(&self.separator.to_string());
        match (self.prefixed, self.shape.is_empty()) {
            (true, true) => "c".to_owned(),
            (true, false) => format!("c{}{joined}", self.separator),
            (false, true) => "0".to_owned(),
            (false, false) => joined,
        }
    }

    /// The object of `zarr.json`.
    pub(super) fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("zarr_format".into(), json!(3));
        object.insert("node_type".into(), json!("array"));
        object.insert("shape".into(), json!(self.shape));
        object.insert("data_type".into(), json!(type_name(self.dtype, self.is_bool)));
        object.insert(
            "chunk_grid".into(),
            json!({ "name": "regular", "configuration": { "chunk_shape": self.chunk } }),
        );
        object.insert(
            "chunk_key_encoding".into(),
            json!({ "name": "default", "configuration": { "separator": "/" } }),
        );
        object.insert("fill_value".into(), if self.is_bool { json!(false) } else { json!(0) });
        object.insert("codecs".into(), self.codecs.to_json());
        object.insert("attributes".into(), Value::Object(self.attributes.clone()));
        if self.axis_names.iter().any(Option::is_some) {
            object.insert("dimension_names".into(), json!(self.axis_names));
        }
        object.insert("storage_transformers".into(), json!([]));
        Value::Object(object)
    }
}

fn numbers(value: &Value, what: &str) -> Result<Vec<u64>> {
    let list = value.as_array().map(|list| list.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>());
    list.flatten().ok_or_else(|| Error::corrupt(format!("zarr.json has no list of numbers '{what}'")))
}

const TYPES: [(&str, DType); 11] = [
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("int32", DType::I32),
    ("int64", DType::I64),
    ("uint8", DType::U8),
    ("uint16", DType::U16),
    ("uint32", DType::U32),
    ("uint64", DType::U64),
    ("float16", DType::F16),
    ("float32", DType::F32),
    ("float64", DType::F64),
];

fn type_of(name: &str) -> Option<(DType, bool)> {
    if name == "bool" {
        return Some((DType::U8, true));
    }
    TYPES.iter().find(|(known, _)| *known == name).map(|(_, dtype)| (*dtype, false))
}

fn type_name(dtype: DType, is_bool: bool) -> &'static str {
    if is_bool {
        return "bool";
    }
    TYPES.iter().find(|(_, known)| *known == dtype).map_or("", |(name, _)| name)
}

/// The bytes of a fill value: a number, a Boolean, the name of a special float, or its bits in hex.
fn fill_value(value: &Value, dtype: DType) -> Option<Vec<u8>> {
    if let Some(digits) = value.as_str().and_then(|text| text.strip_prefix("0x")) {
        let bits = u64::from_str_radix(digits, 16).ok()?;
        return bits.to_le_bytes().get(..dtype.size()).map(<[u8]>::to_vec);
    }
    if dtype.is_float() {
        let number = match value {
            Value::String(text) => match text.as_str() {
                "NaN" => f64::NAN,
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                _ => return None,
            },
            Value::Null => 0.0,
            other => other.as_f64()?,
        };
        return Some(match dtype {
            DType::F16 => half::f16::from_f64(number).to_le_bytes().to_vec(),
            DType::F32 => (number as f32).to_le_bytes().to_vec(),
            _ => number.to_le_bytes().to_vec(),
        });
    }
    let number = match value {
        Value::Bool(truth) => i128::from(*truth),
        Value::Null => 0,
        other => other.as_i64().map(i128::from).or_else(|| other.as_u64().map(i128::from))?,
    };
    let bits = 8 * dtype.size() as u32;
    let signed = dtype.is_signed();
    let half = 1_i128 << (bits - 1);
    let (low, high) = if signed { (-half, half - 1) } else { (0, 2 * half - 1) };
    let fits = (low..=high).contains(&number);
    number.to_le_bytes().get(..dtype.size()).filter(|_| fits).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_values_have_many_spellings() {
        assert_eq!(fill_value(&json!(-2), DType::I16).unwrap(), (-2_i16).to_le_bytes());
        assert_eq!(fill_value(&json!(40_000), DType::I16), None);
        assert_eq!(fill_value(&json!("Infinity"), DType::F32).unwrap(), f32::INFINITY.to_le_bytes());
        assert_eq!(fill_value(&json!("0x7fc00001"), DType::F32).unwrap(), 0x7fc0_0001_u32.to_le_bytes());
        assert_eq!(fill_value(&json!(u64::MAX), DType::U64).unwrap(), u64::MAX.to_le_bytes());
        assert_eq!(fill_value(&json!(true), DType::U8).unwrap(), [1]);
        assert_eq!(fill_value(&json!("x"), DType::F64), None);
    }

    #[test]
    fn metadata_that_makes_no_sense_is_refused() {
        let good = json!({
            "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
        });
        assert!(Node::parse(&good).is_ok());
        for (key, value) in [
            ("zarr_format", json!(2)),
            ("node_type", json!("thing")),
            ("shape", json!([4, 4])),
            ("shape", json!([-1])),
            ("data_type", json!("complex64")),
            ("chunk_grid", json!({"name": "regular", "configuration": {"chunk_shape": [0]}})),
            ("chunk_grid", json!({"name": "rectangular"})),
            ("fill_value", json!(1000)),
            ("codecs", json!([])),
            ("codecs", json!([{"name": "bytes"}, {"name": "secret"}])),
            ("codecs", json!([{"name": "zstd"}, {"name": "bytes"}])),
            ("storage_transformers", json!([{}])),
        ] {
            let mut bad = good.clone();
            bad[key] = value.clone();
            assert!(Node::parse(&bad).is_err(), "{key}: {value}");
        }
    }
}
