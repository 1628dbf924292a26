//! Where a conversion may write.

use std::path::Path;

use tesselle_core::{Error, Location, Result};

/// Fails if the target overlaps the source: a target equal to the source would be read while it is replaced, one inside
/// it would change it, and one around it would remove it.
pub(super) fn refuse_same(source: &Location, target: &Location) -> Result<()> {
    let Ok(source) = std::fs::canonicalize(source.path()) else { return Ok(()) };
    let target = Path::new(target.path());
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = std::fs::canonicalize(parent.unwrap_or(Path::new(".")));
    let replaced = std::fs::canonicalize(target);
    if replaced.as_ref().is_ok_and(|replaced| *replaced == source) {
        return Err(Error::invalid("the target of a conversion must not be its source")
            .hint("write to another name, then replace the source"));
    }
    if replaced.is_ok_and(|replaced| source.starts_with(replaced)) {
        return Err(Error::invalid("the source is in the folder that the target would replace")
            .hint("write to another name, or move the source out of that folder first"));
    }
    if parent.is_ok_and(|parent| parent.starts_with(&source)) {
        return Err(Error::invalid("the target of a conversion must not be inside its source")
            .hint("write next to it"));
    }
    Ok(())
}
