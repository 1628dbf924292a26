//! Appending rows to a file: new row groups after the existing ones, and a new footer.

use tesselle_core::{Action, AppendRequest, Driver, Error, Result, Sink as _, Summary};

use super::options::{WriterOptions, fill_shares};
use super::writer::Writer;
use crate::open::File;
use crate::rewrite::with_facts;
use crate::search::is_segment;

/// Settings for new row groups; the columns of the file do not change.
const SETTINGS: [&str; 7] = [
    "blob_buffer_bytes",
    "blob_run_bytes",
    "codec",
    "level",
    "page_rows",
    "row_group_bytes",
    "row_group_rows",
];

/// Adds rows to a file. Columns, sort key, bloom filters and metadata stay.
pub(crate) fn append(request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
    request.refuse_axis()?;
    request.settings.expect_only(&SETTINGS)?;
    if let Some(name) = request.table.as_deref().filter(|name| !name.is_empty()) {
        return Err(Error::not_found(format!("table '{name}' does not exist"))
            .hint("a tatami file has one table without a name"));
    }
    let location = &request.location;
    if location.is_dir()? || location.name().ends_with(".manifest") {
        return Err(Error::invalid("rows cannot be appended to a collection")
            .file(location.path())
            .hint("write the rows to a file and add that to the collection"));
    }
    let open = request.open.clone().with_raw(false).with_text_as_binary(false).with_deleted(false);
    let file = File::open(location, &open)?;
    if is_segment(&file) {
        return Err(Error::invalid(
            "a search segment is not appended to: its index covers all its documents",
        )
        .file(location.path())
        .suggest("build a segment of the new documents with {}, and merge or search both", [Action::Index]));
    }
    let mut settings = with_facts(&file, &request.settings);
    fill_shares(&mut settings, driver.budget().total());
    let options = WriterOptions::from_settings(&settings)?;
    let rows = request.rows.conform(&file.schema())?;
    let mut writer = Box::new(Writer::resume(&file, options, driver)?);
    for batch in rows.batches {
        driver.check_canceled()?;
        writer.write(&batch?)?;
    }
    driver.check_canceled()?;
    writer.finish()
}
