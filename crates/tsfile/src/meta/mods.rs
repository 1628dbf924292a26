//! `.mods`: deletions beside a file, one a line.
//!
//! ```text
//! DELETION,<path>,<version>,<time>              0.8 to 0.10: points up to <time>
//! DELETION,<path>,<version>,<start>,<end>       0.11
//! DELETION,<path>,<file offset>,<start>,<end>   0.12 to 1.3
//! aborted                                       cancels the line before
//! ```

use super::Version;
use tesselle_core::{Error, Result};

/// A deletion of a range of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The path; `*` stands for one node and `**` for any number of them.
    pub path: String,
    /// Only chunks before it are concerned: a version, or from version 3 on an offset in the file.
    pub before: i64,
    /// First time that is deleted.
    pub start: i64,
    /// Last time that is deleted.
    pub end: i64,
}

impl Deletion {
    /// Reads all deletions of a file that are in force. `offset` in errors is that of the line.
    pub fn parse_all(text: &[u8]) -> Result<Vec<Self>> {
        let mut deletions = Vec::new();
        let mut offset = 0_u64;
        for line in text.split(|b| *b == b'\n') {
            let at = offset;
            offset = offset.saturating_add(line.len() as u64 + 1);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            if line == b"aborted" {
                deletions.pop();
                continue;
            }
            let deletion = std::str::from_utf8(line).ok().and_then(Self::parse);
            deletions.push(deletion.ok_or_else(|| {
                Error::corrupt("a line is not a deletion").class("bad_deletion").offset(at).piece("deletions")
            })?);
        }
        Ok(deletions)
    }

    fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("DELETION,")?;
        // A path may hold commas: the numbers are taken from the right.
        let (rest, end) = rest.rsplit_once(',')?;
        let end = end.trim().parse().ok()?;
        let (rest, second) = rest.rsplit_once(',')?;
        let second: i64 = second.trim().parse().ok()?;
        let five =
            rest.rsplit_once(',').and_then(|(path, before)| Some((path, before.trim().parse::<i64>().ok()?)));
        Some(match five {
            Some((path, before)) => Self { path: path.to_string(), before, start: second, end },
            None => Self { path: rest.to_string(), before: second, start: i64::MIN, end },
        })
    }

    /// Whether it concerns a chunk at `offset` whose group has the version `chunk_version`.
    pub fn covers_chunk(&self, version: Version, chunk_version: i64, offset: u64) -> bool {
        if version.is_compact() { offset.cast_signed() < self.before } else { chunk_version < self.before }
    }

    /// Whether its path is, or stands for, that of the series.
    pub fn matches(&self, device: &str, measurement: &str) -> bool {
        if !self.path.contains('*') {
            let rest = self.path.strip_prefix(device).and_then(|rest| rest.strip_prefix('.'));
            return rest == Some(measurement);
        }
        let pattern: Vec<&str> = self.path.split('.').collect();
        let nodes: Vec<&str> = device.split('.').chain(std::iter::once(measurement)).collect();
        matches_nodes(&pattern, &nodes)
    }
}

/// The usual two-pointer match: on a mismatch the last `**` takes one node more.
fn matches_nodes(pattern: &[&str], nodes: &[&str]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while n < nodes.len() {
        match pattern.get(p) {
            Some(&"**") => {
                back = Some((p, n));
                p += 1;
            }
            Some(node) if *node == "*" || Some(node) == nodes.get(n) => {
                p += 1;
                n += 1;
            }
            _ => match &mut back {
                Some((star, from)) => {
                    *from += 1;
                    p = *star + 1;
                    n = *from;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|node| *node == "**")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aborted_deletion_is_none() {
        let text =
            b"DELETION,root.a.s,1,200\nDELETION,root.b.s,2,150\naborted\nDELETION,root.c,d.s,9,10,1000\n";
        let deletions = Deletion::parse_all(text).unwrap();
        assert_eq!(deletions.len(), 2);
        assert_eq!(deletions[0], Deletion { path: "root.a.s".into(), before: 1, start: i64::MIN, end: 200 });
        assert_eq!(deletions[1], Deletion { path: "root.c,d.s".into(), before: 9, start: 10, end: 1000 });
    }

    #[test]
    fn paths_match_by_nodes() {
        let of = |path: &str| Deletion { path: path.into(), before: 0, start: 0, end: 0 };
        assert!(of("root.a.s").matches("root.a", "s"));
        assert!(!of("root.a.s").matches("root.a.s", "s"));
        assert!(of("root.a.*").matches("root.a", "s"));
        assert!(!of("root.*").matches("root.a", "s"));
        assert!(of("root.**").matches("root.a.b", "s"));
        assert!(of("root.**.s").matches("root.a.b", "s"));
        assert!(!of("root.**.t").matches("root.a.b", "s"));
        assert!(of("root.*.b.**").matches("root.a.b", "s"));
    }

    #[test]
    fn another_line_is_refused_with_its_offset() {
        let error = Deletion::parse_all(b"DELETION,a.s,1,2\nnonsense\n").unwrap_err();
        assert_eq!(error.byte_offset(), Some(17));
    }
}
