//! `.mods2`: deletions stored next to a file in the binary form of IoTDB 2, back to back up to the end of the
//! file.
//!
//! ```text
//! u8 1, i64 start, i64 end, vstr path                                            of the tree model
//! u8 0, i64 start, i64 end, vstr table, tag condition, svar n, n x vstr column   of the table model
//! ```
//!
//! They are appended while the database runs, so a file may end in the middle of the last one. Like the
//! original, the reader then returns those before it.

use tesselle_core::{Cursor, Error, Result};

use super::PutPrimitives as _;
use super::deletion::{Deletion, Target};
use super::primitive::{Primitives as _, len32};
use super::tag_condition::{TagCondition, natural};

const TABLE: u8 = 0;
const TREE: u8 = 1;

/// Reads all deletions of a file, and the offset of the last one if the file ends inside it.
pub fn parse_all(bytes: &[u8]) -> Result<(Vec<Deletion>, Option<u64>)> {
    let mut cursor = Cursor::new(bytes, 0, "deletions");
    let mut deletions = Vec::new();
    while !cursor.is_empty() {
        let at = cursor.offset();
        match parse(&mut cursor) {
            Ok(deletion) => deletions.push(deletion),
            // A length or a count extends past the end.
            Err(error) if matches!(error.class_name(), "truncated" | "bad_count") => {
                return Ok((deletions, Some(at)));
            }
            Err(error) => return Err(error.piece("deletions")),
        }
    }
    Ok((deletions, None))
}

fn parse(cursor: &mut Cursor<'_>) -> Result<Deletion> {
    let at = cursor.offset();
    let kind = cursor.u8()?;
    if kind != TABLE && kind != TREE {
        return Err(Error::unsupported(format!("deletion kind {kind} is not known"))
            .class("unsupported_mods")
            .offset(at));
    }
    let (start, end) = (cursor.i64_be()?, cursor.i64_be()?);
    if start > end {
        let message = format!("a deletion starts at {start}, after its end at {end}");
        return Err(Error::corrupt(message).class("bad_deletion").offset(at));
    }
    let target = if kind == TREE {
        Target::Path(cursor.vstr()?.to_string())
    } else {
        let table = cursor.vstr()?.to_string();
        let tags = TagCondition::parse(cursor)?;
        let mut columns = Vec::new();
        for _ in 0..natural(cursor)? {
            columns.push(cursor.vstr()?.to_string());
        }
        Target::Table { table, tags, columns }
    };
    Ok(Deletion { target, before: None, start, end })
}

/// Writes what [`parse_all`] reads. The position of affected chunks is not stored in this form.
pub fn write(deletion: &Deletion, out: &mut Vec<u8>) -> Result<()> {
    let kind = if matches!(deletion.target, Target::Path(_)) { TREE } else { TABLE };
    out.push(kind);
    out.put_i64(deletion.start);
    out.put_i64(deletion.end);
    match &deletion.target {
        Target::Path(path) => out.put_vstr(Some(path)),
        Target::Table { table, tags, columns } => {
            out.put_vstr(Some(table))?;
            tags.write(out)?;
            out.put_svar(len32(columns.len())?);
            columns.iter().try_for_each(|column| out.put_vstr(Some(column)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_is_refused_by_its_number() {
        let error = parse_all(&[7, 0]).unwrap_err();
        assert_eq!((error.class_name(), error.byte_offset()), ("unsupported_mods", Some(0)));
        let mut bytes = vec![TABLE];
        bytes.put_i64(0);
        bytes.put_i64(1);
        bytes.put_vstr(Some("t")).unwrap();
        bytes.push(6);
        let error = parse_all(&bytes).unwrap_err();
        assert_eq!((error.class_name(), error.byte_offset()), ("unsupported_mods", Some(19)));
    }

    #[test]
    fn a_reversed_range_is_refused() {
        let path = Target::Path("root.a.s".into());
        let mut bytes = Vec::new();
        write(&Deletion { target: path, before: None, start: 2, end: 1 }, &mut bytes).unwrap();
        assert_eq!(parse_all(&bytes).unwrap_err().class_name(), "bad_deletion");
    }
}
