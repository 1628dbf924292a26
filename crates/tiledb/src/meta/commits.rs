//! The text files of `__commits` (spec §11): consolidated commits, ignore lists and vacuum lists.

use crate::{Cursor, Result};

/// One line of a consolidated commits file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsolidatedCommit {
    /// The commit's path, relative to the array.
    pub path: String,
    /// The image of a `.del` file.
    pub image: Option<Vec<u8>>,
}

/// Reads a `.con` file: lines, where one that ends in `.del` is followed by a length and an image.
pub(crate) fn parse_consolidated(file: &[u8]) -> Result<Vec<ConsolidatedCommit>> {
    let mut cursor = Cursor::new(file, 0, "consolidated commits");
    let mut out = Vec::new();
    while !cursor.is_empty() {
        let rest = cursor.rest();
        let Some(len) = rest.iter().position(|byte| *byte == b'\n') else {
            return Err(cursor.corrupt("the last line does not end"));
        };
        let path = cursor.utf8(len as u64)?.to_owned();
        cursor.skip(1)?;
        let image = if path.rsplit_once('.').is_some_and(|(_, suffix)| suffix == "del") {
            let size = cursor.u64_le()?;
            Some(cursor.bytes_u64(size)?.to_vec())
        } else {
            None
        };
        out.push(ConsolidatedCommit { path, image });
    }
    Ok(out)
}

/// Writes a `.con` file.
pub(crate) fn write_consolidated(commits: &[ConsolidatedCommit]) -> Vec<u8> {
    let mut out = Vec::new();
    for commit in commits {
        out.extend_from_slice(commit.path.as_bytes());
        out.push(b'\n');
        if let Some(image) = &commit.image {
            out.extend_from_slice(&(image.len() as u64).to_le_bytes());
            out.extend_from_slice(image);
        }
    }
    out
}

/// The lines of a `.vac` or `.ign` file.
pub(crate) fn parse_lines(file: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(file);
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The last component of a path without its suffix, by which commit lists match.
pub(crate) fn stem(path: &str) -> &str {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    last.rsplit_once('.').map_or(last, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_follow_their_lines() {
        let commits = vec![
            ConsolidatedCommit { path: "__commits/a.wrt".into(), image: None },
            ConsolidatedCommit { path: "__commits/b.del".into(), image: Some(b"x\ny".to_vec()) },
            ConsolidatedCommit { path: "__commits/c.wrt".into(), image: None },
        ];
        let file = write_consolidated(&commits);
        assert_eq!(parse_consolidated(&file).unwrap(), commits);
        assert!(parse_consolidated(&file[..file.len() - 1]).is_err());
        assert_eq!(parse_lines(b"/__fragments/a\n\n/__fragments/b\n"), ["/__fragments/a", "/__fragments/b"]);
        assert_eq!(stem("/__fragments/__1_2_x_22"), "__1_2_x_22");
        assert_eq!(stem("file:///a/b.c/__1_2_x_22.ok"), "__1_2_x_22");
    }
}
