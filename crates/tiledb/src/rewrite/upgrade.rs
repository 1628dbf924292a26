//! Schemas and fragments of older versions, written in the newest.

use std::sync::Arc;

use tesselle_core::{Driver, Location, Summary};

use crate::Result;
use crate::filter::{Filter, Pipeline, WINDOWS_TAKE_TIMES};
use crate::fragment::Fragment;
use crate::meta::name::TimestampedName;
use crate::meta::schema::ArraySchema;
use crate::open::Array;
use crate::write::{
    ArrayWriter, NewSchema, WRITE_VERSION, check_schema, fresh, marker_path, put, store_schema,
};

/// Whether a copy of the array has the newest version.
fn is_newest(array: &Array) -> bool {
    array.schema.version >= WRITE_VERSION && array.fragments.iter().all(|fragment| is_current(fragment))
}

/// Whether a copy of the fragment has the newest version, and so has the schema it refers to.
pub(super) fn is_current(fragment: &Fragment) -> bool {
    fragment.version() >= WRITE_VERSION && fragment.schema.version >= WRITE_VERSION
}

/// Writes the older parts to the folder `target`: the fragments with their times, then the schema. Counts the bytes and
/// notes filters that are not kept; returns false where a fragment has no form in the newest version.
pub(super) fn upgrade(
    array: &Array,
    target: &Location,
    driver: &Driver,
    summary: &mut Summary,
) -> Result<bool> {
    if is_newest(array) {
        return Ok(true);
    }
    // Old versions let sparse fragments into dense arrays.
    if array.fragments.iter().any(|fragment| fragment.footer.dense != array.is_dense()) {
        return Ok(false);
    }
    let old = array.schema.version < WRITE_VERSION;
    let mut schema = array.schema.as_ref().clone();
    drop_idle_filters(&mut schema, &mut summary.lost);
    schema.version = schema.version.max(WRITE_VERSION);
    let enumerations = array.enumerations.values().map(|list| list.as_ref().clone()).collect();
    let new = NewSchema { schema, enumerations };
    let path = array.schema_path.as_str();
    let schema_name = if old {
        check_schema(&new.schema, &new.enumerations)?;
        let first = || array.fragments.iter().map(|fragment| fragment.name.start).min();
        let since = TimestampedName::parse(path).map(|name| name.end).or_else(first).unwrap_or(1);
        fresh((since, since))?
    } else {
        path.rsplit('/').next().unwrap_or(path).to_owned()
    };
    let writer = ArrayWriter {
        location: target.clone(),
        schema: Arc::new(new.schema.clone()),
        schema_name,
        enumerations: array.enumerations.clone().into_iter().collect(),
        key: array.key.clone(),
        driver: Some(driver.clone()),
    };
    for fragment in array.fragments.iter().filter(|fragment| !is_current(fragment)) {
        driver.check_canceled()?;
        if let Some(mut written) = writer.rewrite_fragment(array, fragment)? {
            put(&target.join(&marker_path(&written.name)), &[])?;
            written.release();
            summary.bytes += written.bytes;
        }
    }
    if old {
        store_schema(target, &writer.schema_name, &new, array.key.as_ref())?;
    }
    Ok(true)
}

/// Drops positive delta from the filters of times where the schema is so old that it did nothing: newer versions apply
/// it, and it holds only values that never decrease.
fn drop_idle_filters(schema: &mut ArraySchema, lost: &mut Vec<String>) {
    let version = schema.version;
    if version >= WINDOWS_TAKE_TIMES {
        return;
    }
    let mut drop_from = |filters: &mut Pipeline, name: &str| {
        let before = filters.filters.len();
        filters.filters.retain(|filter| !matches!(filter, Filter::PositiveDelta { .. }));
        if filters.filters.len() < before {
            lost.push(format!(
                "the positive delta filter of '{name}', which had no effect on times in version {version}"
            ));
        }
    };
    for attribute in schema.attributes.iter_mut().filter(|attribute| attribute.datatype.is_time()) {
        drop_from(&mut attribute.filters, &attribute.name);
    }
    let mut times = false;
    for dimension in schema.dimensions.iter_mut().filter(|dimension| dimension.datatype.is_time()) {
        times = true;
        drop_from(&mut dimension.filters, &dimension.name);
    }
    if times {
        drop_from(&mut schema.coords_filters, "coordinates");
    }
}
