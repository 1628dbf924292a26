//! Names with `*` and `?`.

use tesselle::{Error, Location, Result};

/// Whether a path is a pattern.
pub(super) fn is_glob(path: &str) -> bool {
    path.contains(['*', '?'])
}

/// The paths that match a pattern, sorted. `*` and `?` do not cross a `/`; they may stand in any part of the path.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>> {
    let (root, rest) = match pattern.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", pattern),
    };
    let mut found = vec![root.to_owned()];
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    for (i, part) in parts.iter().enumerate() {
        let last = i + 1 == parts.len();
        let mut next = Vec::new();
        for folder in found {
            let join = |name: &str| match folder.as_str() {
                "" => name.to_owned(),
                folder if folder.ends_with('/') => format!("{folder}{name}"),
                folder => format!("{folder}/{name}"),
            };
            if !is_glob(part) {
                next.push(join(part));
                continue;
            }
            let location = Location::local(if folder.is_empty() { "." } else { &folder })?;
            if !location.is_dir()? {
                continue;
            }
            let hidden_wanted = part.starts_with('.');
            let names = location.list()?.into_iter().map(|entry| entry.name);
            next.extend(
                names
                    .filter(|name| (hidden_wanted || !name.starts_with('.')) && matches(part, name))
                    .map(|name| join(&name)),
            );
        }
        if last {
            next.retain(|path| Location::local(path).and_then(|l| l.exists()).unwrap_or(false));
        }
        found = next;
    }
    if found.is_empty() {
        return Err(Error::not_found(format!("no file matches '{pattern}'")));
    }
    Ok(found)
}

/// Whether a name matches a pattern of `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || Some(c) == name.get(n) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, want) in [
            ("*.tet", "a.tet", true),
            ("*.tet", "a.tet.bak", false),
            ("a?c*", "abcd", true),
            ("a?c*", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }

    #[test]
    fn any_part_of_a_path_may_be_a_pattern() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["2023/a.tet", "2024/a.tet", "2024/b.csv", ".hidden/a.tet"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let root = folder.path().to_str().unwrap();
        let found = expand(&format!("{root}/*/a.tet")).unwrap();
        assert_eq!(found, [format!("{root}/2023/a.tet"), format!("{root}/2024/a.tet")]);
        assert!(expand(&format!("{root}/*/c.tet")).is_err());
    }
}
