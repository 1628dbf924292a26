//! Conversion of all arrays of a container into one container of another format.

use std::sync::Arc;

use tesselle_core::{
    ArrayView, ArraysRequest, Attribute, AttributeScope, Driver, Fitted, Format, Location, NamedArray,
    Result, Scan, Settings,
};

use super::{Conversion, lost_encryption, refuse_same};
use crate::create::{WriteReport, arrays};
use crate::open::Dataset;

/// An array of the source with its facts.
struct Source {
    name: String,
    array: Arc<dyn ArrayView>,
    attributes: Vec<Attribute>,
    lost: Vec<String>,
}

/// Writes all arrays of a container, of any shapes, if the target can contain several. `None` if the source is not such a
/// container, or if a part of it is requested.
pub(super) fn convert(
    dataset: &Dataset,
    target: &Location,
    to: &'static dyn Format,
    conversion: &Conversion,
    driver: &Driver,
) -> Result<Option<WriteReport>> {
    let is_part =
        conversion.scan != Scan::all() || !conversion.casts.is_empty() || conversion.write.table.is_some();
    if is_part || !to.capabilities().several_arrays {
        return Ok(None);
    }
    let Some(names) = dataset.separate_tables(to) else { return Ok(None) };
    refuse_same(dataset.location(), target)?;
    let mut sources = Vec::with_capacity(names.len());
    for name in names {
        let table = dataset.table(&name)?;
        let Some(array) = table.array() else { return Ok(None) };
        let facts = table.facts()?;
        let lost = Fitted::keeping(&facts).lost.into_iter().map(|lost| format!("of '{name}', {lost}"));
        let lost = lost.collect();
        sources.push(Source { name, array, attributes: facts.attributes, lost });
    }
    let mut common = common(&sources);
    common.extend(dataset.container().attributes()?);
    common.extend(conversion.attributes.iter().cloned());
    let named = sources.iter().map(|source| NamedArray {
        name: source.name.clone(),
        array: &*source.array,
        attributes: source.attributes.iter().filter(|own| !common.contains(own)).cloned().collect(),
        settings: Settings::default(),
    });
    let arrays = named.collect();
    let (location, options) = (target.clone(), conversion.write.clone());
    let request = ArraysRequest { location, arrays, attributes: common, options };
    let mut report = arrays::write(request, to, driver)?;
    report.lost.extend(sources.into_iter().flat_map(|source| source.lost));
    report.lost.extend(dataset.container().unkept()?);
    report.lost.extend(lost_encryption(dataset.format(), to, conversion));
    Ok(Some(report))
}

/// The attributes of the container: those that all of its arrays report.
fn common(sources: &[Source]) -> Vec<Attribute> {
    let Some((first, others)) = sources.split_first() else { return Vec::new() };
    let is_common = |attribute: &&Attribute| {
        attribute.scope == AttributeScope::Container
            && others.iter().all(|other| other.attributes.contains(attribute))
    };
    first.attributes.iter().filter(is_common).cloned().collect()
}
