//! The allocator of the module: that of the system, but large blocks that are freed are kept for the next of their size.
//!
//! The system's allocator returns the pages of large blocks, and the kernel clears new ones when they are touched, which takes
//! up to a third of the time of a read of columns. Its settings belong to the process, not to a module of it. Allocators of
//! their own, such as mimalloc, do not survive a fork while other threads allocate; here nothing waits for a lock: where a
//! thread of the parent holds one that a forked process does not have, the system's allocator takes over.
#![expect(unsafe_code, reason = "an allocator hands out memory by pointers")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Blocks of up to so many bytes are those of the system: it keeps them itself.
const SMALL: usize = 32 << 10;
/// Larger blocks are not kept: they are few, and the system moves their pages instead of their bytes when they grow.
const LARGE: usize = 4 << 20;
/// Bytes that are kept at most.
const KEPT: usize = 48 << 20;
/// Larger blocks of zeros come from the system, which clears only those of their pages that are touched.
const CLEARED: usize = 128 << 10;
/// The alignment of all kept blocks, which the system gives to every block; what needs more is not kept.
const ALIGN: usize = 2 * size_of::<usize>();
/// Sizes grow in steps of an eighth, so that blocks can be used again without much waste.
const STEPS: usize = 8;
/// Steps from `SMALL` to `LARGE`.
const CLASSES: usize = STEPS * (LARGE.ilog2() - SMALL.ilog2()) as usize;

/// Kept blocks of one size; the first bytes of each have the address of the next.
struct Class {
    busy: AtomicBool,
    first: UnsafeCell<*mut u8>,
}

// SAFETY: `first` is read and written only by the thread that has set `busy`.
unsafe impl Sync for Class {}

static KEPT_BLOCKS: [Class; CLASSES] = [const { Class::new() }; CLASSES];
static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);
/// The size whose blocks make room for others next.
static HAND: AtomicUsize = AtomicUsize::new(0);

impl Class {
    const fn new() -> Self {
        Self { busy: AtomicBool::new(false), first: UnsafeCell::new(null_mut()) }
    }

    /// Runs `work` on the first block, unless another thread does.
    fn with<T>(&self, work: impl FnOnce(&mut *mut u8) -> T) -> Option<T> {
        if self.busy.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: the flag was not set, so no other thread is here until it is reset below; `work` does not get here again,
        // because it does not allocate.
        let result = work(unsafe { &mut *self.first.get() });
        self.busy.store(false, Ordering::Release);
        Some(result)
    }

    /// Takes a block; null if there is none.
    fn take(&self) -> *mut u8 {
        let take = |first: &mut *mut u8| {
            let found = *first;
            if !found.is_null() {
                // SAFETY: kept blocks are larger than an address, nobody else uses them, and `put` has
                // written the address.
                *first = unsafe { found.cast::<*mut u8>().read_unaligned() };
            }
            found
        };
        self.with(take).unwrap_or(null_mut())
    }

    /// Keeps a block; `false` if another thread uses the list.
    fn put(&self, block: *mut u8) -> bool {
        let put = |first: &mut *mut u8| {
            // SAFETY: as in `take`; the caller frees the block, so nobody else uses it.
            unsafe { block.cast::<*mut u8>().write_unaligned(*first) };
            *first = block;
        };
        self.with(put).is_some()
    }
}

/// The list of blocks for a request, and their layout; `None` for what is not kept.
fn class(layout: Layout) -> Option<(usize, Layout)> {
    let size = layout.size();
    if size <= SMALL || size > LARGE || layout.align() > ALIGN {
        return None;
    }
    let octave = (size - 1).ilog2();
    let base = 1_usize << octave;
    let step = base / STEPS;
    let steps = (size - base).div_ceil(step);
    let number = (octave - SMALL.ilog2()) as usize * STEPS + steps - 1;
    Layout::from_size_align(base + steps * step, ALIGN).ok().map(|layout| (number, layout))
}

/// The layout of a class.
fn layout_of(number: usize) -> Option<Layout> {
    let base = SMALL << (number / STEPS);
    Layout::from_size_align(base + (number % STEPS + 1) * (base / STEPS), ALIGN).ok()
}

/// The layout that the system knows of a block.
fn held(layout: Layout) -> Layout {
    class(layout).map_or(layout, |(_, held)| held)
}

/// A kept block of a class; null if there is none.
fn take(number: usize, held: Layout) -> *mut u8 {
    let found = KEPT_BLOCKS.get(number).map_or(null_mut(), Class::take);
    if !found.is_null() {
        KEPT_BYTES.fetch_sub(held.size(), Ordering::Relaxed);
    }
    found
}

/// Keeps a block, perhaps instead of others; `false` if there is no room.
fn keep(block: *mut u8, number: usize, held: Layout) -> bool {
    let mut kept = KEPT_BYTES.fetch_add(held.size(), Ordering::Relaxed) + held.size();
    let mut chances = CLASSES;
    while kept > KEPT && chances > 0 {
        let other = HAND.load(Ordering::Relaxed) % CLASSES;
        let size = layout_of(other).filter(|_| other != number);
        let found = size.map_or(null_mut(), |size| take(other, size));
        match size {
            Some(size) if !found.is_null() => {
                // SAFETY: a block of this class has this layout, and it was taken from its list.
                unsafe { System.dealloc(found, size) };
                kept = KEPT_BYTES.load(Ordering::Relaxed);
            }
            _ => {
                HAND.fetch_add(1, Ordering::Relaxed);
                chances -= 1;
            }
        }
    }
    let is_kept = kept <= KEPT && KEPT_BLOCKS.get(number).is_some_and(|class| class.put(block));
    if !is_kept {
        KEPT_BYTES.fetch_sub(held.size(), Ordering::Relaxed);
    }
    is_kept
}

/// See the module.
pub(crate) struct Keeping;

// SAFETY: every block is one of the system's allocator, at least as large and as aligned as it was asked for, and always
// returned to it with the layout that it was allocated with: `held` of what the caller asked for. A kept block belongs to
// nobody else until it is taken from its list.
unsafe impl GlobalAlloc for Keeping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((number, held)) = class(layout) else {
            // SAFETY: the caller's own request.
            return unsafe { System.alloc(layout) };
        };
        let found = take(number, held);
        if !found.is_null() {
            return found;
        }
        // SAFETY: the size is not zero.
        unsafe { System.alloc(held) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some((number, held)) = class(layout).filter(|(_, held)| held.size() <= CLEARED) {
            let found = take(number, held);
            if !found.is_null() {
                // SAFETY: a block of this class has at least as many bytes.
                unsafe { found.write_bytes(0, layout.size()) };
                return found;
            }
        }
        // SAFETY: the size is that of the caller, or larger.
        unsafe { System.alloc_zeroed(held(layout)) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match class(layout) {
            Some((number, held)) if keep(block, number, held) => {}
            // SAFETY: the system allocated it with this layout.
            _ => unsafe { System.dealloc(block, held(layout)) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return null_mut() };
        let (old, new) = (held(layout), held(wanted));
        if old == new {
            return block;
        }
        // SAFETY: the system allocated it with the old layout; it grows and shrinks with the alignment that it has.
        unsafe { System.realloc(block, old, new.size()) }
    }
}
