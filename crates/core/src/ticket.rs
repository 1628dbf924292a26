//! A read request for another process: plain data with one serialized form.

use serde::{Deserialize, Serialize};

use crate::driver::Part;
use crate::error::{Error, Result};
use crate::options::OpenOptions;
use crate::scan::Scan;
use crate::types::{type_by_name, type_name};

/// A scan of a container, or a part of it. It never contains a key: the process that runs it has its own. Conditions that
/// are not the engine's own travel as their source; the receiver reads them with [`Predicate::resolve`](crate::Predicate::resolve).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScanTicket {
    /// The version of the ticket; other versions are an error.
    version: u32,
    /// The container, by a uri that every reader can resolve.
    pub uri: String,
    /// Its table, if the uri does not select it.
    pub table: Option<String>,
    /// Its format, if given.
    pub format: Option<String>,
    /// The scan.
    pub scan: Scan,
    /// The part of the scan; `None` is all of it.
    pub part: Option<Part>,
    /// What [`Location::stamp`](crate::Location::stamp) was when the scan was split: a part belongs to that state of the files.
    #[serde(default)]
    pub stamp: Option<u64>,
    between: Option<(u64, u64)>,
    raw: bool,
    text_as_binary: bool,
    full_domain: bool,
    deleted: bool,
    #[serde(default)]
    mapped: bool,
    /// Columns and the names of their types.
    types: Vec<(String, String)>,
}

impl ScanTicket {
    const VERSION: u32 = 1;

    /// A scan of `uri`, opened with these options except their key.
    pub fn new(uri: impl Into<String>, scan: Scan, options: &OpenOptions) -> Self {
        let types = options.types.iter().map(|(name, kind)| (name.clone(), type_name(kind)));
        Self {
            version: Self::VERSION,
            uri: uri.into(),
            table: None,
            format: None,
            scan,
            part: None,
            stamp: None,
            between: options.between,
            raw: options.raw,
            text_as_binary: options.text_as_binary,
            full_domain: options.full_domain,
            deleted: options.deleted,
            mapped: options.mapped,
            types: types.collect(),
        }
    }

    /// How to open the container, without a key.
    pub fn options(&self) -> Result<OpenOptions> {
        let types = self.types.iter().map(|(name, kind)| Ok((name.clone(), type_by_name(kind)?)));
        Ok(OpenOptions {
            between: self.between,
            raw: self.raw,
            text_as_binary: self.text_as_binary,
            full_domain: self.full_domain,
            deleted: self.deleted,
            mapped: self.mapped,
            types: types.collect::<Result<_>>()?,
            ..OpenOptions::default()
        })
    }

    /// The serialized form: one line of JSON.
    pub fn to_text(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|error| Error::internal("a scan cannot be serialized").source(error))
    }

    /// Reads the serialized form.
    pub fn from_text(text: &str) -> Result<Self> {
        let ticket: Self = serde_json::from_str(text)
            .map_err(|error| Error::invalid("a serialized scan cannot be parsed").source(error))?;
        if ticket.version != Self::VERSION {
            return Err(Error::unsupported(format!(
                "a scan of form {} comes from another version of Tesselle",
                ticket.version
            )));
        }
        Ok(ticket)
    }
}

/// Floats by their bits: JSON has no NaN and may round.
pub(crate) mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(value.to_bits())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::{Comparison, Custom, Predicate};
    use crate::scalar::Scalar;

    #[test]
    fn a_ticket_contains_everything_but_the_key() {
        let odd = [f64::NAN, f64::NEG_INFINITY, -0.0, 0.1];
        let values = odd.map(Scalar::Float).into_iter().chain([
            Scalar::Int(i128::MIN),
            Scalar::Bytes(vec![0, 255]),
            Scalar::Null,
        ]);
        let predicate = Predicate::Not(Box::new(Predicate::Or(vec![
            Predicate::In { column: "a\"b".to_owned(), values: values.collect() },
            Predicate::compare("t", Comparison::Le, i64::MIN),
            Predicate::Always(false),
            Predicate::Custom(Custom::unread("lower(name) LIKE 'a%'")),
        ])));
        let mut scan = Scan::all().columns(["x", ""]).filter(predicate).limit(3);
        scan.selection = Some("0:10,::2,-5".parse().unwrap());
        let options = OpenOptions {
            between: Some((0, u64::MAX)),
            key: Some(crate::Secret::new(*b"secret")),
            raw: true,
            types: vec![("c".to_owned(), type_by_name("timestamp_ms").unwrap())],
            ..OpenOptions::default()
        };
        let mut ticket = ScanTicket::new("a#b", scan, &options);
        ticket.part = Some(Part { start: 1, end: 2, of: 3 });
        ticket.stamp = Some(u64::MAX);
        let text = ticket.to_text().unwrap();
        assert!(!text.contains("secret"));
        let back = ScanTicket::from_text(&text).unwrap();
        // NaN is not equal to itself; the serialized form is.
        assert_eq!(back.to_text().unwrap(), text);
        assert_eq!((back.part, back.stamp), (ticket.part, ticket.stamp));
        let read = |source: &str| {
            assert_eq!(source, "lower(name) LIKE 'a%'");
            Ok(Predicate::Always(true))
        };
        let resolved = back.scan.predicate.clone().unwrap().resolve(&read).unwrap();
        assert!(!resolved.has_custom());
        assert!(resolved.to_string().ends_with("(TRUE))"), "{resolved}");
        let opened = back.options().unwrap();
        assert_eq!((opened.between, opened.raw, &opened.types), (Some((0, u64::MAX)), true, &options.types));
        assert!(ScanTicket::from_text(&text.replace("\"version\":1", "\"version\":2")).is_err());
    }
}
