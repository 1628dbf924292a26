//! Columns as nodes of a hierarchy: valid names, and the groups on their paths.

use std::collections::BTreeSet;

use tesselle_core::{Action, Error, Result};

use super::MAX_DEPTH;
use super::meta::FILE;

/// Checks that each column can be an array of one hierarchy; returns the groups between it and the root. A name with
/// slashes is a path through groups, because arrays in groups are named that way when read.
pub(super) fn groups<'a>(columns: impl IntoIterator<Item = &'a str>) -> Result<BTreeSet<&'a str>> {
    let mut arrays = BTreeSet::new();
    let mut groups = BTreeSet::new();
    for name in columns {
        let nodes = name.split('/').count();
        if let Some(why) = name.split('/').find_map(refusal) {
            return Err(refused(name, why));
        }
        if nodes > MAX_DEPTH + 1 {
            return Err(refused(name, "the path is nested too deeply"));
        }
        if !arrays.insert(name) {
            return Err(refused(name, "the name occurs twice"));
        }
        groups.extend(name.match_indices('/').filter_map(|(at, _)| name.get(..at)));
    }
    // Below an array there are only its chunks.
    match arrays.intersection(&groups).next() {
        Some(name) => Err(refused(name, "another column is below it")),
        None => Ok(groups),
    }
}

/// Why a path component cannot be the name of a node.
fn refusal(node: &str) -> Option<&'static str> {
    match node {
        "" => Some("a path component is empty"),
        _ if node.bytes().all(|byte| byte == b'.') => Some("a path component consists of periods only"),
        _ if node.starts_with("__") => Some("names that start with two underscores are reserved"),
        _ if node == FILE => Some("the name is reserved for metadata files"),
        _ if node.contains(['\\', '\0']) => Some("the name has a character that paths cannot have"),
        _ => None,
    }
}

fn refused(name: &str, why: &str) -> Error {
    Error::invalid(format!("column '{}' cannot be a Zarr array: {why}", name.escape_debug())).suggest(
        "exclude it with {}, or rename it in SQL: COPY (SELECT \"a\" AS b …) TO …",
        [Action::Columns],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_their_groups() {
        let found = groups(["a", "x/y", "x/z/w", "c", ".b", "a b", "ä"]).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["x", "x/z"]);
        assert!(groups([]).unwrap().is_empty());
    }

    #[test]
    fn names_that_leave_the_folder_or_are_not_found_again_are_refused() {
        let deep = vec!["x"; MAX_DEPTH + 2].join("/");
        for name in [
            "",
            ".",
            "..",
            "...",
            "../evil",
            "a/../../evil",
            "/abs",
            "a//b",
            "a/",
            "__reserved",
            "a/__b",
            "zarr.json",
            "a/zarr.json",
            "a\\..\\b",
            "a\0b",
            &deep,
        ] {
            let error = groups(["k", name]).unwrap_err().to_string();
            assert!(error.contains(&name.escape_debug().to_string()), "{name:?}: {error}");
        }
        for pair in [["x", "x"], ["x", "x/c/0"], ["x/y/z", "x/y"]] {
            assert!(groups(pair).is_err(), "{pair:?}");
        }
        assert!(groups(["x", "xy/z"]).is_ok());
        assert!(groups([&deep[2..]]).is_ok());
    }
}
