//! Panics of other crates' readers on damaged files, turned into errors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use tesselle_core::{Error, Result};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls such a reader; a panic becomes an error.
pub(super) fn guarded<T>(format: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(outer);
    result.unwrap_or_else(|_| {
        Err(Error::corrupt(format!("the {format} reader cannot handle this metadata")).class("metadata"))
    })
}

/// Silences the panic hook of this process for panics of the Arrow and Parquet readers that become errors. For programs:
/// a library does not change the hook.
pub fn silence_reader_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                usual(panic);
            }
        }));
    });
}
