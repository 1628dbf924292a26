//! The `tess` binary: parses, calls the library, maps the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // With a limit, the memory of large columns is returned as soon as they are freed.
        let is_limited =
            std::env::args_os().any(|word| word.as_encoded_bytes().starts_with(b"--memory-limit"));
        keep_memory(if is_limited { 2 << 20 } else { 8 << 20 });
    }
    tess::run(std::env::args_os())
}

/// Makes the allocator of the system keep the free memory of columns of up to `column` bytes for the next ones. It returns
/// the pages of each that is freed otherwise, and the system clears new ones: up to a third of the time of a query.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator has no other interface")]
fn keep_memory(column: i32) -> bool {
    // SAFETY: numbers are all that these calls take, and there are no other threads yet.
    let kept = unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, 8 << 20) };
    // SAFETY: as above.
    let mapped = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, column) };
    kept == 1 && mapped == 1
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn the_allocator_knows_its_settings() {
        assert!(super::keep_memory(8 << 20));
    }
}
