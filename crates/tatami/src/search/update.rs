//! New versions of documents in a collection.

use tesselle_core::{Driver, Location, OpenOptions, Result};

use super::delete::{Deleted, Deletion, delete_member};
use super::segment::Segment;
use crate::collection::Collection;

/// Adds the segment `name` in `folder` to the collection in that folder, and deletes the documents with the same ids
/// from all other segments.
///
/// The new documents are added before the old ones are deleted: a search in between finds one or both, and an
/// interrupted update is completed by running it again.
pub fn update(folder: &Location, name: &str, driver: &Driver) -> Result<Deleted> {
    let segment = Segment::open(&folder.join(name), &OpenOptions::default())?;
    let is_live = |doc: &u32| segment.live().is_none_or(|live| live.contains(*doc));
    let docs: Vec<u32> = (0..segment.docs()).filter(is_live).collect();
    let ids = Deletion::Ids(segment.doc_ids(&docs)?);
    let mut collection = Collection::open(folder, &OpenOptions::default())?;
    collection.add(&[name])?;
    let lock = collection.lock()?;
    let paths: Vec<String> = collection.members().iter().map(|member| member.path.clone()).collect();
    let mut sum = Deleted { deleted: 0, live: segment.live_docs() };
    for path in paths.iter().filter(|path| *path != name) {
        driver.check_canceled()?;
        match delete_member(&mut collection, &lock, folder, path, &ids, driver) {
            Ok(deleted) => {
                sum.deleted += deleted.deleted;
                sum.live += deleted.live;
            }
            // A plain table among the members has no documents.
            Err(error) if error.class_name() == "not_search_segment" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sum)
}
