//! The signal that the system sends to a thread that reads a page of a mapped file that has no bytes.
//!
//! The handler does only what a handler may do: it reads and sets atomic numbers, and makes system calls. Signals that
//! are not about a registered mapping go to the handler that was there before.
#![expect(unsafe_code, reason = "signals and the pages of a process have no safe interface")]

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};

/// Most mappings of a process at a time.
const SLOTS: usize = 64;
/// `si_code` of a page without bytes (`BUS_ADRERR`).
const NO_BYTES: c_int = 2;

static MAPPINGS: [Entry; SLOTS] = [const { Entry::free() }; SLOTS];
/// What was there before; set before the handler is.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();
static INSTALLED: OnceLock<bool> = OnceLock::new();

/// The addresses of a mapping.
#[derive(Debug)]
struct Entry {
    is_taken: AtomicBool,
    start: AtomicUsize,
    /// 0 while nothing is mapped.
    end: AtomicUsize,
    has_faulted: AtomicBool,
}

impl Entry {
    const fn free() -> Self {
        Self {
            is_taken: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            has_faulted: AtomicBool::new(false),
        }
    }

    /// The end of the mapping, if `address` is in it.
    fn end_after(&self, address: usize) -> Option<usize> {
        let start = self.start.load(Ordering::SeqCst);
        let end = self.end.load(Ordering::SeqCst);
        // Another start means that another mapping took the entry between the two.
        let is_one = self.start.load(Ordering::SeqCst) == start;
        (is_one && start <= address && address < end).then_some(end)
    }

    /// Puts pages of zeros from the one with `address` to the end of the mapping.
    fn cover(&self, address: usize, end: usize) -> bool {
        // Before any thread can read the zeros.
        self.has_faulted.store(true, Ordering::SeqCst);
        let from = address - address % page();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the pages are those of a mapping that a thread is copying from, so it stays mapped, and it is only read.
        let covered = unsafe {
            libc::mmap(ptr::without_provenance_mut(from), end - from, libc::PROT_READ, flags, -1, 0)
        };
        covered != libc::MAP_FAILED
    }
}

/// A registered mapping.
#[derive(Debug)]
pub(super) struct Slot(&'static Entry);

impl Slot {
    /// Registers `len` bytes from `start` on; `None` if all slots are taken or the handler cannot be installed.
    pub(super) fn take(start: usize, len: usize) -> Option<Self> {
        if !*INSTALLED.get_or_init(install) {
            return None;
        }
        let free = |entry: &&Entry| !entry.is_taken.swap(true, Ordering::SeqCst);
        let entry = MAPPINGS.iter().find(free)?;
        entry.has_faulted.store(false, Ordering::SeqCst);
        entry.start.store(start, Ordering::SeqCst);
        entry.end.store(start + len.next_multiple_of(page()), Ordering::SeqCst);
        Some(Self(entry))
    }

    /// Whether pages without bytes were read.
    pub(super) fn has_faulted(&self) -> bool {
        self.0.has_faulted.load(Ordering::SeqCst)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.end.store(0, Ordering::SeqCst);
        self.0.is_taken.store(false, Ordering::SeqCst);
    }
}

/// Whether the handler gets the faults of this thread: nothing has replaced it, and the thread does not block the signal.
pub(super) fn is_caught_here() -> bool {
    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the call only fills the set, which is read only if it did.
    let is_blocked = unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), blocked.as_mut_ptr()) != 0
            || libc::sigismember(blocked.as_ptr(), libc::SIGBUS) != 0
    };
    !is_blocked && current().is_some_and(|current| current.sa_sigaction == address_of_handler())
}

fn address_of_handler() -> usize {
    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_fault;
    handler as usize
}

/// The action of the process for the signal.
fn current() -> Option<libc::sigaction> {
    let mut found = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the call only fills `found`, which is read only if it did.
    unsafe {
        (libc::sigaction(libc::SIGBUS, ptr::null(), found.as_mut_ptr()) == 0).then(|| found.assume_init())
    }
}

fn install() -> bool {
    let Some(before) = current() else { return false };
    if PREVIOUS.set(before).is_err() || page() == 0 {
        return false;
    }
    set_action(address_of_handler(), libc::SA_SIGINFO | libc::SA_ONSTACK)
}

fn set_action(handler: usize, flags: c_int) -> bool {
    // SAFETY: zeros are a valid action, an empty mask among them; the handler is ours or the default.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) == 0
    }
}

/// Bytes of a page; 0 if unknown.
fn page() -> usize {
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    let known = PAGE.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    // SAFETY: a question without arguments.
    let found = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0);
    PAGE.store(found, Ordering::Relaxed);
    found
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes the description of the signal; a handler returns with the error number it was called with.
    let (code, address, error) =
        unsafe { ((*info).si_code, (*info).si_addr() as usize, *libc::__errno_location()) };
    let found = MAPPINGS.iter().find_map(|entry| entry.end_after(address).map(|end| (entry, end)));
    let is_covered = code == NO_BYTES && found.is_some_and(|(entry, end)| entry.cover(address, end));
    if !is_covered {
        pass_on(signal, info, context, code);
    }
    // SAFETY: the error number of this thread.
    unsafe { *libc::__errno_location() = error };
}

/// Does what would have been done without our handler.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void, code: c_int) {
    // Signals of other processes and of `raise`, not of the instruction that is executed again on return.
    let is_sent = code <= 0;
    let Some(previous) = PREVIOUS.get() else { return };
    match previous.sa_sigaction {
        libc::SIG_IGN if is_sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            set_action(libc::SIG_DFL, 0);
            if is_sent {
                // SAFETY: the signal is blocked until the handler returns, and then ends the process.
                unsafe { libc::raise(signal) };
            }
        }
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the flag states that the address is a function with these arguments.
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute::<usize, _>(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: without the flag, the address is a function with this argument.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute::<usize, _>(handler) };
            handler(signal);
        }
    }
}
