//! `tess tiledb evolve`.

use std::fmt::Write as _;

use serde_json::json;
use tesselle::tiledb::filter::filters_from_str;
use tesselle::tiledb::write::ArrayWriter;
use tesselle::tiledb::{Attribute, Bounds, Datatype, Enumeration};
use tesselle::{Error, Result, Scalar};

use super::{TileDb, Tool};
use crate::{Outcome, format};

impl TileDb {
    pub(super) fn evolve(&self, array: &str, timestamp: Option<u64>) -> Result<Outcome> {
        let Tool::Evolve { add, drop, add_enumeration, extend_enumeration, drop_enumeration, expand, .. } =
            &self.tool
        else {
            return Err(Error::internal("evolve was called for another command"));
        };
        self.refuse_times("evolve")?;
        let mut writer = self.open(array)?;
        let domain = if expand.is_empty() { None } else { Some(expanded(&writer, expand)?) };
        let longer =
            extend_enumeration.iter().map(|text| longer(&writer, text)).collect::<Result<Vec<_>>>()?;
        let mut evolution = writer.evolve();
        for text in add_enumeration {
            let (name, values) = named_values(text)?;
            evolution = evolution.add_enumeration(Enumeration::of_strings(name, values, false)?)?;
        }
        for list in longer {
            evolution = evolution.extend_enumeration(list)?;
        }
        for text in add {
            evolution = evolution.add_attribute(attribute(text)?);
        }
        for name in drop {
            evolution = evolution.drop_attribute(name)?;
        }
        for name in drop_enumeration {
            evolution = evolution.drop_enumeration(name);
        }
        if let Some(ranges) = domain {
            evolution = evolution.expand_current_domain(ranges)?;
        }
        evolution.apply(timestamp)?;
        let object = json!({
            "added": add, "dropped": drop, "enumerations_added": add_enumeration,
            "enumerations_extended": extend_enumeration, "enumerations_dropped": drop_enumeration, "expanded": expand,
        });
        let mut text = String::new();
        for (list, thing, done) in [
            (add, "attribute", "added"),
            (drop, "attribute", "dropped"),
            (add_enumeration, "enumeration", "added"),
            (extend_enumeration, "enumeration", "extended"),
            (drop_enumeration, "enumeration", "dropped"),
            (expand, "dimension", "expanded"),
        ] {
            if !list.is_empty() {
                let _ = writeln!(text, "{} {done}", format::counted(list.len() as u64, thing));
            }
        }
        self.report(&object, &text)
    }
}

/// An attribute from `NAME:TYPE[@ENUMERATION][/FILTERS]`.
fn attribute(text: &str) -> Result<Attribute> {
    let (name, rest) = text.split_once(':').ok_or_else(|| {
        Error::invalid(format!("'{text}' is not NAME:TYPE"))
            .hint("e.g. weight:FLOAT32 or note:STRING_UTF8/zstd:5")
    })?;
    let (rest, filters) = rest.split_once('/').map_or((rest, None), |(rest, filters)| (rest, Some(filters)));
    let (kind, enumeration) = rest.split_once('@').map_or((rest, None), |(kind, name)| (kind, Some(name)));
    let kind = kind.to_ascii_uppercase();
    let datatype = Datatype::from_name(&kind).ok_or_else(|| {
        Error::invalid(format!("'{kind}' is not a TileDB datatype")).hint("e.g. INT32, FLOAT64, STRING_UTF8")
    })?;
    let mut attribute = Attribute::new(name, datatype).nullable();
    if kind.starts_with("STRING") {
        attribute = attribute.var();
    }
    if let Some(name) = enumeration {
        attribute = attribute.with_enumeration(name);
    }
    Ok(match filters {
        Some(filters) => attribute.with_filters(filters_from_str(filters)?),
        None => attribute,
    })
}

/// A name and its values, from `NAME=VALUE,…`.
fn named_values(text: &str) -> Result<(&str, Vec<&str>)> {
    let (name, values) = text.split_once('=').ok_or_else(|| {
        Error::invalid(format!("'{text}' is not NAME=VALUE,…")).hint("e.g. colors=red,green")
    })?;
    Ok((name, values.split(',').collect()))
}

/// The enumeration of an array with more values.
fn longer(writer: &ArrayWriter, text: &str) -> Result<Enumeration> {
    let (name, more) = named_values(text)?;
    let known = writer.enumeration(name).ok_or_else(|| {
        Error::not_found(format!("enumeration '{name}' does not exist"))
            .hint("create it with --add-enumeration")
    })?;
    known.with_strings(&more)
}

/// The current domain with the ranges of `DIM=LOW:HIGH`.
fn expanded(writer: &ArrayWriter, expand: &[String]) -> Result<Vec<Bounds>> {
    let schema = writer.schema();
    let mut ranges: Vec<Option<Bounds>> = schema.dimensions.iter().map(|dim| dim.domain.clone()).collect();
    for (range, known) in ranges.iter_mut().zip(schema.current_domain.iter().flatten()) {
        *range = Some(known.clone());
    }
    for text in expand {
        let wrong = || Error::invalid(format!("'{text}' is not DIM=LOW:HIGH"));
        let (name, bounds) = text.split_once('=').ok_or_else(wrong)?;
        let names = || schema.dimensions.iter().map(|dim| dim.name.as_str());
        let found = schema.dimension(name);
        let (index, dim) = found.ok_or_else(|| Error::unknown_name("dimension", name, names()))?;
        let range = if dim.is_var() {
            let ends = bounds.split_once(':');
            ends.map(|(low, high)| Bounds { low: Scalar::from(low), high: Scalar::from(high) })
        } else {
            Bounds::parse(bounds, dim.datatype)
        };
        let range = range.ok_or_else(wrong)?;
        if let Some(slot) = ranges.get_mut(index) {
            *slot = Some(range);
        }
    }
    let missing = || Error::invalid("a current domain needs a range for each dimension of strings");
    ranges.into_iter().map(|range| range.ok_or_else(missing)).collect()
}
