//! Small files and commits: what becomes visible, and when (spec §11).

use tesselle_core::Location;

use super::name::fresh_versioned;
use crate::Result;
use crate::meta::commits::{ConsolidatedCommit, write_consolidated};

/// Writes a small file in one step.
pub(crate) fn put(location: &Location, bytes: &[u8]) -> Result<()> {
    let mut file = location.create(true)?;
    file.write(bytes)?;
    file.commit()
}

/// Writes a small file of lines in one step.
pub(crate) fn put_lines(location: &Location, lines: &[String]) -> Result<()> {
    let mut text = lines.join("\n");
    text.push('\n');
    put(location, text.as_bytes())
}

/// Makes fragments visible. One has its marker; several appear together through one consolidated list.
pub(crate) fn commit(array: &Location, fragments: &[String], timestamps: (u64, u64)) -> Result<()> {
    let commits = array.join("__commits");
    match fragments {
        [] => Ok(()),
        [one] => put(&commits.join(&format!("{one}.wrt")), &[]),
        many => {
            let lines: Vec<ConsolidatedCommit> = many
                .iter()
                .map(|name| ConsolidatedCommit { path: format!("__commits/{name}.wrt"), image: None })
                .collect();
            let name = fresh_versioned(timestamps)?;
            put(&commits.join(&format!("{name}.con")), &write_consolidated(&lines))
        }
    }
}
