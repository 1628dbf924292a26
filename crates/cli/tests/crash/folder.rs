//! Folders of a case: copies, contents, and what must not be left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Every file below a folder with its contents, by its path in the folder; folders end with `/`.
pub(crate) fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let entry = entry.unwrap().path();
            let name = entry.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if entry.is_dir() {
                all.insert(format!("{name}/"), Vec::new());
                left.push(entry);
            } else {
                all.insert(name, fs::read(&entry).unwrap());
            }
        }
    }
    all
}

/// Staged files, locks and old states that are left somewhere below a folder.
pub(crate) fn debris(folder: &Path) -> Vec<String> {
    let is_debris = |name: &String| {
        let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
        let extension = Path::new(last).extension();
        last.starts_with('.') || extension.is_some_and(|extension| extension == "tmp" || extension == "old")
    };
    contents(folder).into_keys().filter(is_debris).collect()
}
