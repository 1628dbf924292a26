//! Several arrays as the members of a new group.

use tesselle_core::storage::StagedFolder;
use tesselle_core::{ArrayRequest, ArraysRequest, Driver, Error, Fitted, Result, WriteTarget, Written};

use super::metadata::entries;
use super::write_array;
use crate::group::leads_down;
use crate::meta::group::{Member, MemberKind};
use crate::write::GroupWriter;
use crate::write::options::SinkSettings;

/// Writes a group of dense arrays. The group appears atomically.
pub(crate) fn write_arrays(request: &ArraysRequest<'_>, driver: &Driver) -> Result<Written> {
    let ArraysRequest { location, arrays, attributes, options } = request;
    location.refuse_existing(options.overwrite)?;
    crate::rewrite::refuse_foreign(location)?;
    if let Some(array) = arrays.iter().find(|array| !is_member(&array.name)) {
        let shown = array.name.escape_debug();
        return Err(Error::invalid(format!("'{shown}' cannot be the name of an array in a group"))
            .hint("use a name without slashes that does not start with two underscores"));
    }
    let empty = arrow_schema::Schema::empty();
    let common = SinkSettings::parse(&options.settings, &empty, Vec::new())?;
    let staged = StagedFolder::try_new(location)?;
    let group = GroupWriter::create(staged.location(), common.key.clone())?;
    let kept = attributes.iter().map(|attribute| attribute.name.clone()).collect();
    let mut written = Written { fitted: Fitted { kept, ..Fitted::default() }, ..Written::default() };
    for array in arrays {
        let target = WriteTarget::Location(staged.join(&array.name)?);
        let mut own = array.options(options);
        // An attribute cannot have the name of a dimension, as a coordinate has.
        own.table = own.table.filter(|name| !array.array.axis_names().contains(name));
        let mut one = ArrayRequest::new(target, array.array, own);
        one.facts = array.facts();
        written
            .add(write_array(one, driver).map_err(|error| error.piece(format!("array '{}'", array.name)))?);
    }
    let member = |name: &String| Member::relative(MemberKind::Array, name, name);
    let members: Vec<Member> = arrays.iter().map(|array| member(&array.name)).collect();
    group.change(&members, &[], common.timestamp)?;
    let metadata = entries(attributes)?;
    if !metadata.is_empty() {
        group.write_metadata(&metadata, common.timestamp)?;
    }
    staged.commit()?;
    Ok(written)
}

/// Whether a name can be that of a folder inside the group.
fn is_member(name: &str) -> bool {
    leads_down(name) && !name.starts_with("__") && !name.contains(['/', '\\', '\0'])
}
