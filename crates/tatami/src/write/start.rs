//! Starts a file for the rows of another source, with types, settings and metadata derived from it.

use arrow_schema::{DataType, TimeUnit};
use tesselle_core::fit::check_types;
use tesselle_core::{Created, Driver, Fit, Fitted, Result, TableFacts, WriteRequest};

use super::options::{WriterOptions, fill_shares};
use super::writer::Writer;
use crate::format::NAME;

/// Starts a file. Settings that are not given are derived from facts about the source and the memory of the
/// driver.
pub(crate) fn start(request: WriteRequest, driver: &Driver) -> Result<Created> {
    let WriteRequest { target, schema, facts, mut options, .. } = request;
    let settings = &mut options.settings;
    fill_shares(settings, driver.budget().total());
    if let Some(key) = facts.sort_key.as_ref().filter(|key| schema.index_of(key).is_ok()) {
        settings.fill("sort_key", key);
    }
    let bloom: Vec<&str> =
        facts.bloom.iter().map(String::as_str).filter(|name| schema.index_of(name).is_ok()).collect();
    if !bloom.is_empty() {
        settings.fill("bloom", bloom.join(","));
    }
    let types =
        check_types(NAME, schema.fields().iter().map(|field| (field.as_ref(), fit(field.data_type()))))?;
    let mut typed = WriterOptions::from_settings(&options.settings)?;
    typed.metadata = metadata(&facts);
    let sink = Writer::create(target.location(NAME)?, &schema, typed, options.overwrite, driver)?;
    Ok(Created { sink: Box::new(sink), fitted: Fitted::keeping(&facts).with_types(types) })
}

/// The key/value pairs of the footer, by name: attributes, and a note of the roles of the columns.
fn metadata(facts: &TableFacts) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> =
        facts.attributes.iter().map(|attribute| (attribute.name.clone(), attribute.value_string())).collect();
    pairs.extend(facts.to_note().map(|note| (TableFacts::NOTE_KEY.to_owned(), note)));
    pairs.sort();
    pairs
}

/// The fate of a column of this type.
fn fit(data_type: &DataType) -> Fit {
    use DataType as D;
    let micros = D::Timestamp(TimeUnit::Microsecond, None);
    match data_type {
        D::Dictionary(_, values) => fit(values),
        D::Float16 => Fit::As(D::Float32),
        D::FixedSizeBinary(_) => Fit::As(D::Binary),
        D::Timestamp(TimeUnit::Nanosecond, _) | D::Date64 => Fit::refused(micros),
        // Days of microseconds take four times the bits.
        D::Date32 => Fit::refused(D::Int32),
        D::Timestamp(..) => Fit::As(micros),
        D::Time32(_) | D::Time64(_) | D::Duration(_) => Fit::refused(D::Int64),
        D::FixedSizeList(item, _) => Fit::As(D::List(item.clone())),
        D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => Fit::refused(D::Utf8),
        D::Null => Fit::refused(D::Utf8),
        D::Struct(_) | D::Map(..) | D::Union(..) => Fit::Refused(None),
        other => Fit::As(other.clone()),
    }
}
