//! Runs a program and shows every system call of every thread before it is made.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Longer than any name of a file.
const LONGEST_NAME: u64 = 4096;

/// A system call that a thread is about to make.
pub(crate) struct Call {
    pub(crate) leader: Pid,
    thread: Pid,
    pub(crate) number: i64,
    pub(crate) args: [u64; 4],
}

impl Call {
    /// The path of an open file; pipes, events and devices have none.
    pub(crate) fn file(&self, descriptor: u64) -> Option<String> {
        let target = fs::read_link(format!("/proc/{}/fd/{descriptor}", self.thread)).ok()?;
        let target = target.to_str()?;
        let elsewhere = ["/dev/", "/proc/", "/memfd:"];
        (target.starts_with('/') && !elsewhere.iter().any(|prefix| target.starts_with(prefix)))
            .then(|| target.to_owned())
    }

    /// The string at an address.
    pub(crate) fn text(&self, address: u64) -> Option<String> {
        let mut memory = File::open(format!("/proc/{}/mem", self.thread)).ok()?;
        memory.seek(SeekFrom::Start(address)).ok()?;
        let mut bytes = Vec::new();
        // A name near the end of a mapping is followed by nothing.
        let _ = memory.take(LONGEST_NAME).read_to_end(&mut bytes);
        let end = bytes.iter().position(|byte| *byte == 0)?;
        String::from_utf8(bytes[..end].to_vec()).ok()
    }
}

/// How long a thread is held in front of a call.
pub(crate) enum Hold {
    For(Duration),
    /// Until another thread has started a thread, which is the last thing that the handler of a signal does.
    UntilHandled,
}

/// A thread in front of a call.
struct Held {
    thread: Pid,
    since: Instant,
    hold: Hold,
    is_handled: bool,
}

impl Held {
    fn is_over(&self) -> bool {
        /// Other threads are started, too: time for the handler in any case.
        const SHORTEST: Duration = Duration::from_millis(30);
        const LONGEST: Duration = Duration::from_secs(5);
        let time = match &self.hold {
            Hold::For(time) => *time,
            Hold::UntilHandled if self.is_handled => SHORTEST,
            Hold::UntilHandled => LONGEST,
        };
        self.since.elapsed() > time
    }
}

/// Runs `program` in `folder`; what it prints goes to `output`. `on_call` sees every call, and may have the thread held
/// in front of it for a while. The exit code; `None` where it was killed.
#[expect(clippy::zombie_processes, reason = "waitpid below waits for every process and thread")]
pub(crate) fn run(
    program: &str,
    args: &[String],
    folder: &Path,
    output: Stdio,
    mut on_call: impl FnMut(&Call) -> Option<Hold>,
) -> Option<i32> {
    // The shell stops itself, so that nothing happens before it is traced.
    let child = Command::new("/bin/sh")
        .args(["-c", "kill -STOP $$; exec \"$0\" \"$@\"", program])
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output)
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
    let mut held: Option<Held> = None;
    // Other tests of this process have children too.
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    loop {
        if let Some(held) = held.take_if(|held| held.is_over()) {
            resume(held.thread, None);
        }
        let wait = if held.is_some() { flags | WaitPidFlag::WNOHANG } else { flags };
        let (thread, signal) = match waitpid(None, Some(wait)).unwrap() {
            WaitStatus::Exited(process, code) if process == leader => return Some(code),
            WaitStatus::Signaled(process, ..) if process == leader => return None,
            WaitStatus::StillAlive => {
                sleep(Duration::from_micros(200));
                continue;
            }
            WaitStatus::PtraceSyscall(thread) => {
                if let Some(hold) = call(leader, thread).and_then(|call| on_call(&call)) {
                    held = Some(Held { thread, since: Instant::now(), hold, is_handled: false });
                    continue;
                }
                (thread, None)
            }
            WaitStatus::PtraceEvent(thread, _, event) => {
                if let Some(held) = held.as_mut().filter(|held| held.thread != thread) {
                    held.is_handled |= event == libc::PTRACE_EVENT_CLONE;
                }
                (thread, None)
            }
            WaitStatus::Stopped(thread, Signal::SIGTRAP | Signal::SIGSTOP | Signal::SIGCONT) => {
                (thread, None)
            }
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            _ => continue,
        };
        resume(thread, signal);
    }
}

fn resume(thread: Pid, signal: Option<Signal>) {
    match ptrace::syscall(thread, signal) {
        // It was killed meanwhile.
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("cannot resume a traced thread: {error}"),
    }
}

/// The call that a thread is about to make; `None` when it returns from one.
fn call(leader: Pid, thread: Pid) -> Option<Call> {
    let info = ptrace::syscall_info(thread).ok()?;
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    let registers = ptrace::getregs(thread).ok()?;
    let args = [registers.rdi, registers.rsi, registers.rdx, registers.r10];
    Some(Call { leader, thread, number: registers.orig_rax.cast_signed(), args })
}
