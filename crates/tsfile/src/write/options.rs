//! The settings of a write, parsed by name.

use std::collections::BTreeMap;

use tesselle_core::{Error, Result, Settings};

use super::writer_options::{Order, WriterOptions};
use crate::meta::schema::MeasurementSchema;
use crate::meta::{Compression, DataType, Encoding, Version};
use crate::write::chunk::MAX_POINT_NUMBER;

const KNOWN: [&str; 20] = [
    "aligned",
    "compression",
    "compressions",
    "created_by",
    "decimals",
    "degree",
    "device",
    "device_column",
    "encoding",
    "encodings",
    "group_bytes",
    "model",
    "order",
    "page_bytes",
    "page_points",
    "properties",
    "tags",
    "time",
    "time_encoding",
    "version",
];

/// The parsed settings of a sink.
#[derive(Debug)]
pub(crate) struct SinkOptions {
    pub(crate) writer: WriterOptions,
    /// Whether the series of a device share their times.
    pub(crate) aligned: bool,
    /// Whether rows form a table with tags.
    pub(crate) table: bool,
    pub(crate) device: Option<String>,
    pub(crate) device_column: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) time: Option<String>,
    encoding: Option<Encoding>,
    encodings: BTreeMap<String, Encoding>,
    compression: Option<Compression>,
    compressions: BTreeMap<String, Compression>,
    decimals: Option<u32>,
}

impl SinkOptions {
    pub(crate) fn parse(settings: &Settings) -> Result<Self> {
        settings.expect_only(&KNOWN)?;
        let version = settings.get("version").map_or(Ok(Version::V4), parse_version)?;
        let mut writer = WriterOptions::for_version(version);
        let count = "a positive number";
        writer.page_points = settings.parse("page_points", count)?.unwrap_or(writer.page_points);
        writer.page_bytes = settings.bytes("page_bytes")?.unwrap_or(writer.page_bytes);
        writer.group_bytes = settings.bytes("group_bytes")?.unwrap_or(writer.group_bytes);
        writer.degree = settings.parse("degree", count)?.unwrap_or(writer.degree);
        writer.order = match settings.get("order") {
            None | Some("refuse") => Order::Refuse,
            Some("sort") => Order::Sort,
            Some(other) => return Err(Error::unknown_name("order", other, ["refuse", "sort"])),
        };
        if let Some(name) = settings.get("time_encoding") {
            writer.time_encoding = encoding_of(name, version)?;
        }
        writer.created_by = settings.get("created_by").map(str::to_string);
        let properties = pairs("properties", settings.get("properties"))?;
        writer.properties =
            properties.into_iter().map(|(key, value)| (key, Some(value.to_string()))).collect();
        let tags = list(settings.get("tags")).map(str::to_string).collect::<Vec<_>>();
        let table = match settings.get("model") {
            Some("table") => true,
            Some("tree") if tags.is_empty() => false,
            Some("tree") => return Err(Error::invalid("tags require model=table")),
            None => settings.get("tags").is_some(),
            Some(other) => return Err(Error::unknown_name("model", other, ["tree", "table"])),
        };
        if table && version != Version::V4 {
            return Err(
                Error::invalid(format!("version {} has no tables", version.name())).hint("use version 4")
            );
        }
        let aligned = settings.parse("aligned", "true or false")?.unwrap_or(table);
        if table && !aligned {
            return Err(Error::invalid("tables are always aligned"));
        }
        let compression = settings.get("compression").map(compression_of).transpose()?;
        let pairs = |name| pairs(name, settings.get(name));
        Ok(Self {
            aligned,
            table,
            device: settings.get("device").map(str::to_string),
            device_column: settings.get("device_column").map(str::to_string),
            tags,
            time: settings.get("time").map(str::to_string),
            encoding: settings.get("encoding").map(|name| encoding_of(name, version)).transpose()?,
            encodings: pairs("encodings")?
                .into_iter()
                .map(|(column, name)| Ok((column, encoding_of(name, version)?)))
                .collect::<Result<_>>()?,
            compression,
            compressions: pairs("compressions")?
                .into_iter()
                .map(|(column, name)| Ok((column, compression_of(name)?)))
                .collect::<Result<_>>()?,
            decimals: settings.parse("decimals", "a number")?,
            writer,
        })
    }

    /// The series of a column. A general encoding applies to the types it supports.
    pub(crate) fn series(&self, name: &str, data_type: DataType) -> MeasurementSchema {
        let version = self.writer.version;
        let encoding = self.encoding_of(name, data_type);
        let mut schema = MeasurementSchema {
            name: name.to_string(),
            data_type,
            encoding: encoding.unwrap_or(Encoding::default_for(data_type, version)),
            compression: self.compression_of(name).unwrap_or(Compression::default_for(version)),
            properties: Vec::new(),
        };
        self.set_decimals(&mut schema);
        schema
    }

    /// The encoding that the settings request. A general one applies to the types it supports.
    pub(crate) fn encoding_of(&self, name: &str, data_type: DataType) -> Option<Encoding> {
        let general = self.encoding.filter(|e| e.is_writable(data_type, self.writer.version));
        self.encodings.get(name).copied().or(general)
    }

    /// The compressor that the settings request.
    pub(crate) fn compression_of(&self, name: &str) -> Option<Compression> {
        self.compressions.get(name).copied().or(self.compression)
    }

    /// Applies the requested decimals to float columns with an encoding that has decimals.
    pub(crate) fn set_decimals(&self, schema: &mut MeasurementSchema) {
        let is_float = matches!(schema.data_type, DataType::Float | DataType::Double);
        let Some(decimals) = self.decimals.filter(|_| is_float) else { return };
        if matches!(schema.encoding, Encoding::Rle | Encoding::Ts2Diff) {
            schema.properties.retain(|(key, _)| key != MAX_POINT_NUMBER);
            schema.properties.push((MAX_POINT_NUMBER.to_string(), decimals.to_string()));
        }
    }

    /// The same settings for another version, if they do not name one.
    pub(crate) fn for_version(self, version: Version, settings: &Settings) -> Result<Self> {
        if self.writer.version == version {
            return Ok(self);
        }
        let mut settings = settings.clone();
        settings.set("version", version.name());
        Self::parse(&settings)
    }

    /// Refuses settings for columns that do not exist.
    pub(crate) fn check_columns(&self, names: &[&str]) -> Result<()> {
        let named = self.encodings.keys().chain(self.compressions.keys());
        match named.into_iter().find(|name| !names.contains(&name.as_str())) {
            Some(name) => Err(Error::unknown_name("column", name, names.iter().copied())),
            None => Ok(()),
        }
    }
}

fn list(value: Option<&str>) -> impl Iterator<Item = &str> {
    value.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// `column:NAME,column:NAME`; a column name may contain colons.
fn pairs<'a>(setting: &str, value: Option<&'a str>) -> Result<Vec<(String, &'a str)>> {
    list(value)
        .map(|part| {
            let pair = part.rsplit_once(':');
            let (column, name) =
                pair.ok_or_else(|| Error::invalid(format!("{setting}={part} is not COLUMN:NAME,…")))?;
            Ok((column.to_string(), name))
        })
        .collect()
}

fn parse_version(value: &str) -> Result<Version> {
    let short = match value {
        "0.8" => "v0.8.0",
        "1" => "000001",
        "2" => "000002",
        other => other,
    };
    let names = Version::ALL.map(Version::name);
    let known = Version::ALL.into_iter().find(|version| version.name() == short);
    known.ok_or_else(|| Error::unknown_name("version", value, names))
}

fn encoding_of(name: &str, version: Version) -> Result<Encoding> {
    let upper = name.to_uppercase();
    Encoding::from_name(&upper, version).ok_or_else(|| {
        Error::unknown_name("encoding", &upper, Encoding::ALL.into_iter().map(|e| e.name(version)))
    })
}

fn compression_of(name: &str) -> Result<Compression> {
    let upper = name.to_uppercase();
    Compression::from_name(&upper).ok_or_else(|| {
        Error::unknown_name("compression", &upper, Compression::ALL.into_iter().map(Compression::name))
    })
}
