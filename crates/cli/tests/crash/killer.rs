//! Runs a program and kills it right before its n-th system call that changes something on the disk.
//!
//! The program is traced: every system call of every thread is counted, so writes that bypass the storage layer are
//! counted as well.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// How a traced run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The exit code; `None` where it was killed.
    pub(crate) code: Option<i32>,
    /// The calls that changed something, one after the other; the last one was not made where the run was killed.
    pub(crate) calls: Vec<String>,
}

/// Runs `program` in `folder` and kills it right before its call number `at`, the first being 0.
#[expect(clippy::zombie_processes, reason = "waitpid below waits for every process and thread")]
pub(crate) fn run(program: &str, args: &[String], folder: &Path, at: Option<usize>) -> Ended {
    // The shell stops itself, so that nothing happens before it is traced.
    let child = Command::new("/bin/sh")
        .args(["-c", "kill -STOP $$; exec \"$0\" \"$@\"", program])
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let leader = Pid::from_raw(child.id().cast_signed());
    assert!(matches!(waitpid(leader, Some(WaitPidFlag::WUNTRACED)).unwrap(), WaitStatus::Stopped(..)));
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(leader, options).unwrap();
    kill(leader, Signal::SIGCONT).unwrap();
    let mut calls = Vec::new();
    // Other tests of this process have children too.
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    loop {
        let status = waitpid(None, Some(flags)).unwrap();
        let (thread, signal) = match status {
            WaitStatus::Exited(process, code) if process == leader => {
                return Ended { code: Some(code), calls };
            }
            WaitStatus::Signaled(process, ..) if process == leader => return Ended { code: None, calls },
            WaitStatus::PtraceSyscall(thread) => {
                if let Some(call) = mutation(thread) {
                    calls.push(call);
                    if at.is_some_and(|at| calls.len() > at) {
                        // The whole process, while this thread is held in front of its call.
                        kill(leader, Signal::SIGKILL).unwrap();
                    }
                }
                (thread, None)
            }
            WaitStatus::PtraceEvent(thread, ..) => (thread, None),
            WaitStatus::Stopped(thread, Signal::SIGTRAP | Signal::SIGSTOP | Signal::SIGCONT) => {
                (thread, None)
            }
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            _ => continue,
        };
        match ptrace::syscall(thread, signal) {
            // It was killed meanwhile.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => panic!("cannot resume a traced thread: {error}"),
        }
    }
}

/// The call that a thread is about to make, where it changes something on the disk.
fn mutation(thread: Pid) -> Option<String> {
    let info = ptrace::syscall_info(thread).ok()?;
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    let registers = ptrace::getregs(thread).ok()?;
    let number = registers.orig_rax.cast_signed();
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
    if let Some(name) = by_name.get(&number) {
        return Some((*name).to_owned());
    }
    let creates = |flags: u64| flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
    match number {
        libc::SYS_open => creates(registers.rsi).then(|| "open".to_owned()),
        libc::SYS_openat => creates(registers.rdx).then(|| "openat".to_owned()),
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            on_disk(thread, registers.rdi).map(|file| format!("write {file}"))
        }
        libc::SYS_ftruncate | libc::SYS_fallocate => {
            on_disk(thread, registers.rdi).map(|file| format!("truncate {file}"))
        }
        libc::SYS_copy_file_range => on_disk(thread, registers.rdx).map(|file| format!("copy to {file}")),
        libc::SYS_sendfile => on_disk(thread, registers.rdi).map(|file| format!("send to {file}")),
        _ => None,
    }
}

/// The path of an open file; pipes, events and devices have none.
fn on_disk(thread: Pid, descriptor: u64) -> Option<String> {
    let target = fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
    let target = target.to_str()?;
    let elsewhere = ["/dev/", "/proc/", "/memfd:"];
    (target.starts_with('/') && !elsewhere.iter().any(|prefix| target.starts_with(prefix)))
        .then(|| target.to_owned())
}
