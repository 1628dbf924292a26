//! The binary, called as from a script.

use std::path::Path;
use std::process::{Command, Output};

use crate::npy;

/// Runs `tess`.
pub(crate) fn tess(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tess")).args(args).output().unwrap()
}

/// The standard output of a call that must succeed.
pub(crate) fn fine(args: &[&str]) -> String {
    let out = tess(args);
    assert!(out.status.success(), "tess {args:?}: {}", text(&out.stderr));
    text(&out.stdout)
}

/// The report of a call that must succeed.
pub(crate) fn json_of(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&fine(&[args, &["--json"]].concat())).unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// An npy file of zeros that takes no space on the disk.
pub(crate) fn zeros(file: &Path, shape: [u64; 2]) {
    let header = npy::header(shape);
    std::fs::write(file, &header).unwrap();
    let len = header.len() as u64 + shape.iter().product::<u64>() * 8;
    std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(len).unwrap();
}
