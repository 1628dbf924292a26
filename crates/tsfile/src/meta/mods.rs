//! `.mods`: deletions stored next to a file, one per line.
//!
//! ```text
//! DELETION,<path>,<version>,<time>              0.8 to 0.10: points up to <time>
//! DELETION,<path>,<version>,<start>,<end>       0.11
//! DELETION,<path>,<file offset>,<start>,<end>   0.12 to 1.3
//! aborted                                       cancels the previous line
//! ```

use tesselle_core::{Error, Result};

use super::Version;
use super::deletion::{Deletion, Target};

/// Reads all deletions of a file that are in effect. `offset` in errors is that of the line.
pub(crate) fn parse_all(lines: &[u8]) -> Result<Vec<Deletion>> {
    let mut deletions = Vec::new();
    let mut offset = 0_u64;
    for line in lines.split(|b| *b == b'\n') {
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
        let deletion = std::str::from_utf8(line).ok().and_then(parse);
        deletions.push(deletion.ok_or_else(|| {
            Error::corrupt("a line is not a deletion").class("bad_deletion").offset(at).piece("deletions")
        })?);
    }
    Ok(deletions)
}

fn parse(line: &str) -> Option<Deletion> {
    let rest = line.strip_prefix("DELETION,")?;
    // A path may contain commas, so the numbers are parsed from the right.
    let (rest, end) = rest.rsplit_once(',')?;
    let end = end.trim().parse().ok()?;
    let (rest, second) = rest.rsplit_once(',')?;
    let second: i64 = second.trim().parse().ok()?;
    let five =
        rest.rsplit_once(',').and_then(|(path, before)| Some((path, before.trim().parse::<i64>().ok()?)));
    let (path, before, start) = match five {
        Some((path, before)) => (path, before, second),
        None => (rest, second, i64::MIN),
    };
    Some(Deletion { target: Target::Path(path.to_string()), before: Some(before), start, end })
}

/// Writes the line of a deletion of one series. Only chunks before `before` (a version, from version 3 on an
/// offset) are affected; files before 000002 delete all points up to the second time.
pub(crate) fn write(
    path: &str,
    before: i64,
    (start, end): (i64, i64),
    version: Version,
    out: &mut Vec<u8>,
) -> Result<()> {
    if path.contains(['\n', '\r']) {
        return Err(Error::unsupported(
            "a deletion is stored as one line, and the name of this series has several lines",
        )
        .piece(format!("'{}'", path.escape_debug())));
    }
    let line = if version.is_flat() {
        format!("DELETION,{path},{before},{end}\n")
    } else {
        format!("DELETION,{path},{before},{start},{end}\n")
    };
    out.extend_from_slice(line.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aborted_deletion_is_ignored() {
        let lines =
            b"DELETION,root.a.s,1,200\nDELETION,root.b.s,2,150\naborted\nDELETION,root.c,d.s,9,10,1000\n";
        let of = |path: &str, before, start, end| Deletion {
            target: Target::Path(path.into()),
            before: Some(before),
            start,
            end,
        };
        let expected = [of("root.a.s", 1, i64::MIN, 200), of("root.c,d.s", 9, 10, 1000)];
        assert_eq!(parse_all(lines).unwrap(), expected);
    }

    #[test]
    fn an_unknown_line_is_refused_with_its_offset() {
        let error = parse_all(b"DELETION,a.s,1,2\nnonsense\n").unwrap_err();
        assert_eq!(error.byte_offset(), Some(17));
    }
}
