//! A deletion stored next to a file, in either form: [`super::mods`] or [`super::mods2`].

use super::{DeviceId, Version, tag_condition::TagCondition};

/// A deletion of a time range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The series.
    pub target: Target,
    /// Only earlier chunks are affected: a version, or from version 3 on an offset in the file. `None`
    /// affects all.
    pub before: Option<i64>,
    /// First deleted time.
    pub start: i64,
    /// Last deleted time, inclusive.
    pub end: i64,
}

/// The series that a deletion applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Series with this path, or matching it: `*` matches one node, `**` one or more, and a node that starts
    /// or ends with a star all names with the rest.
    Path(String),
    /// Columns of a table of the table model.
    Table {
        /// The table.
        table: String,
        /// The devices of the table.
        tags: TagCondition,
        /// The columns; empty means whole rows.
        columns: Vec<String>,
    },
}

impl Deletion {
    /// Whether it affects a chunk at `offset` in a group of version `chunk_version`.
    pub fn covers_chunk(&self, version: Version, chunk_version: i64, offset: u64) -> bool {
        self.before.is_none_or(|before| {
            if version.is_compact() { offset.cast_signed() < before } else { chunk_version < before }
        })
    }

    /// Whether it applies to a measurement of the device with this path. The empty measurement is the time
    /// column, deleted with whole rows.
    pub fn matches(&self, device: &DeviceId, path: &str, measurement: &str) -> bool {
        match &self.target {
            Target::Path(pattern) => matches_path(pattern, path, measurement),
            Target::Table { table, tags, columns } => {
                device.table_name() == table
                    && device.is_of_table_model()
                    && (columns.is_empty() || columns.iter().any(|column| column == measurement))
                    && tags.holds(device)
            }
        }
    }
}

fn matches_path(pattern: &str, device: &str, measurement: &str) -> bool {
    if !pattern.contains('*') {
        let rest = pattern.strip_prefix(device).and_then(|rest| rest.strip_prefix('.'));
        return rest == Some(measurement);
    }
    let pattern: Vec<&str> = nodes(pattern).collect();
    let nodes: Vec<&str> = nodes(device).chain(std::iter::once(measurement)).collect();
    matches_nodes(&pattern, &nodes)
}

/// Splits a path into nodes, except at dots between back quotes.
fn nodes(path: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    path.split(move |c| {
        quoted ^= c == '`';
        c == '.' && !quoted
    })
}

/// Two-pointer match: on a mismatch the last `**`, which has one node already, takes one more.
fn matches_nodes(pattern: &[&str], nodes: &[&str]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while let Some(node) = nodes.get(n) {
        match pattern.get(p) {
            Some(&"**") => {
                (p, n) = (p + 1, n + 1);
                back = Some((p, n));
            }
            Some(wanted) if matches_node(wanted, node) => (p, n) = (p + 1, n + 1),
            _ => match &mut back {
                Some((after, from)) => {
                    *from += 1;
                    (p, n) = (*after, *from);
                }
                None => return false,
            },
        }
    }
    p == pattern.len()
}

/// Whether a node equals the name, or contains the parts between the stars in order.
fn matches_node(wanted: &str, node: &str) -> bool {
    if !wanted.starts_with('*') && !wanted.ends_with('*') {
        return wanted == node;
    }
    let mut parts = wanted.split('*');
    let first = parts.next().unwrap_or_default();
    let last = parts.next_back().unwrap_or_default();
    let Some(mut rest) = node.strip_prefix(first) else { return false };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_by_nodes() {
        assert!(matches_path("root.a.s", "root.a", "s"));
        assert!(!matches_path("root.a.s", "root.a.s", "s"));
        assert!(matches_path("root.a.*", "root.a", "s"));
        assert!(!matches_path("root.*", "root.a", "s"));
        assert!(matches_path("root.**", "root.a.b", "s"));
        assert!(matches_path("root.**.s", "root.a.b", "s"));
        assert!(!matches_path("root.**.t", "root.a.b", "s"));
        assert!(matches_path("root.*.b.**", "root.a.b", "s"));
    }

    #[test]
    fn two_stars_match_at_least_one_node() {
        assert!(!matches_path("root.a.**.s", "root.a", "s"));
        assert!(!matches_path("root.a.s.**", "root.a", "s"));
        assert!(!matches_path("root.**.**.**", "root.a", "s"));
        assert!(matches_path("root.**.**", "root.a", "s"));
        assert!(matches_path("root.**.b.**.s", "root.b.b.c", "s"));
    }

    #[test]
    fn stars_in_nodes_match_any_letters() {
        assert!(matches_path("root.d*.*p*r*", "root.d1", "temperature"));
        assert!(!matches_path("root.d*.*r*p*", "root.d1", "temper"));
        assert!(!matches_path("root.*dd*.s", "root.d", "s"));
        assert!(!matches_path("root.*.a*a", "root.d", "a"));
        // A star inside a name is a literal character.
        assert!(!matches_path("root.*.a*b", "root.d", "axb"));
    }

    #[test]
    fn quoted_dots_do_not_separate_nodes() {
        assert!(matches_path("root.`a.b`.*", "root.`a.b`", "s"));
        assert!(!matches_path("root.*.*.s", "root.`a.b`", "s"));
        assert!(matches_path("root.*.`s 1`", "root.`a.b`", "`s 1`"));
    }
}
