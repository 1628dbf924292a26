//! Runs a program and kills it, or sends it a signal, right before its n-th system call that changes something on the
//! disk.
//!
//! The program is traced: every system call of every thread is counted, so writes that bypass the storage layer are
//! counted as well.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::signal::{Signal, kill};

use crate::tracer::{self, Call, Hold};

/// A signal right before a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strike {
    /// The number of the call, the first being 0.
    pub(crate) at: usize,
    pub(crate) signal: Signal,
}

/// How a traced run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The exit code; `None` where it was killed.
    pub(crate) code: Option<i32>,
    /// The calls that changed something, one after the other; the last one was not made where the run was killed.
    pub(crate) calls: Vec<String>,
    /// The time from the signal to the end, where one was sent.
    pub(crate) after: Option<Duration>,
}

/// Runs `program` in `folder`, and strikes it.
pub(crate) fn run(program: &str, args: &[String], folder: &Path, strike: Option<Strike>) -> Ended {
    let mut calls = Vec::new();
    let mut struck: Option<Instant> = None;
    let code = tracer::run(program, args, folder, Stdio::null(), |call| {
        calls.extend(mutation(call));
        let strike = strike.filter(|strike| struck.is_none() && calls.len() > strike.at)?;
        // The whole process, while this thread is held in front of its call.
        kill(call.leader, strike.signal).unwrap();
        struck = Some(Instant::now());
        (strike.signal != Signal::SIGKILL).then_some(Hold::UntilHandled)
    });
    Ended { code, calls, after: struck.map(|at| at.elapsed()) }
}

/// A call, where it changes something on the disk.
fn mutation(call: &Call) -> Option<String> {
    let by_name = BTreeMap::from([
        (libc::SYS_rename, "rename"),
        (libc::SYS_renameat, "renameat"),
        (libc::SYS_renameat2, "renameat2"),
        (libc::SYS_link, "link"),
        (libc::SYS_linkat, "linkat"),
        (libc::SYS_symlink, "symlink"),
        (libc::SYS_symlinkat, "symlinkat"),
        (libc::SYS_unlink, "unlink"),
        (libc::SYS_unlinkat, "unlinkat"),
        (libc::SYS_rmdir, "rmdir"),
        (libc::SYS_mkdir, "mkdir"),
        (libc::SYS_mkdirat, "mkdirat"),
        (libc::SYS_chmod, "chmod"),
        (libc::SYS_fchmod, "fchmod"),
        (libc::SYS_fchmodat, "fchmodat"),
        (libc::SYS_chown, "chown"),
        (libc::SYS_fchown, "fchown"),
        (libc::SYS_fchownat, "fchownat"),
        (libc::SYS_truncate, "truncate"),
        (libc::SYS_creat, "creat"),
    ]);
    if let Some(name) = by_name.get(&call.number) {
        return Some((*name).to_owned());
    }
    let creates = |flags: u64| flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
    let [first, second, third, _] = call.args;
    match call.number {
        libc::SYS_open => creates(second).then(|| "open".to_owned()),
        libc::SYS_openat => creates(third).then(|| "openat".to_owned()),
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            call.file(first).map(|file| format!("write {file}"))
        }
        libc::SYS_ftruncate | libc::SYS_fallocate => call.file(first).map(|file| format!("truncate {file}")),
        libc::SYS_copy_file_range => call.file(third).map(|file| format!("copy to {file}")),
        libc::SYS_sendfile => call.file(first).map(|file| format!("send to {file}")),
        _ => None,
    }
}
