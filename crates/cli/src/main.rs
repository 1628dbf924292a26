//! The `tess` binary: parses, calls the library, maps the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    keep_memory();
    tess::run(std::env::args_os())
}

/// Makes the allocator of the system keep free memory for the next columns. It returns the pages of each that is freed, and
/// the system clears new ones: up to a third of the time of a query.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator has no other interface")]
fn keep_memory() -> bool {
    // SAFETY: numbers are all that these calls take, and there are no other threads yet.
    let kept = unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, 16 << 20) };
    // SAFETY: as above.
    let mapped = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 8 << 20) };
    kept == 1 && mapped == 1
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn the_allocator_knows_its_settings() {
        assert!(super::keep_memory());
    }
}
