//! Signals to commands whose disk is slow at the end.

use std::process::Stdio;
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{Signal, kill};

use crate::case::{TESS, tess, words};
use crate::tracer::{self, Hold};
use crate::{folder, prepared};

/// Longer than a command waits for work that does not end, and less than two seconds.
const SLOW: Duration = Duration::from_millis(1300);

/// A signal right before the target gets its name comes too late to stop the command. It reports success, even if the
/// disk then takes its time.
#[test]
fn a_change_that_a_signal_cannot_stop_is_reported_as_made() {
    let old = ["convert few.csv x.parquet", "convert few.csv arr --to tiledb --set dims=time"];
    for (command, value) in [
        ("convert rows.csv x.parquet --force", "cat x.parquet --as csv"),
        ("convert rows.csv arr --to tiledb --force --set dims=time", "cat arr --as csv"),
        #[cfg(feature = "sql")]
        (
            "sql `COPY (SELECT time, a FROM 'rows.csv' ORDER BY a, time) TO 'x.parquet' OPTIONS (overwrite 'true')`",
            "cat x.parquet --as csv",
        ),
    ] {
        let place = prepared(&old);
        let done = prepared(&old);
        assert!(tess(command, done.path()).status.success());
        let (mut is_sent, mut is_held) = (false, false);
        let code = tracer::run(TESS, &words(command), place.path(), Stdio::null(), |call| {
            let names = [libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2].contains(&call.number);
            if names && !is_sent && renames_target(call) {
                is_sent = true;
                kill(call.leader, Signal::SIGTERM).unwrap();
                return Some(Hold::UntilHandled);
            }
            let syncs = [libc::SYS_fsync, libc::SYS_fdatasync].contains(&call.number);
            if is_sent && syncs && !is_held {
                is_held = true;
                return Some(Hold::For(SLOW));
            }
            None
        });
        assert!(is_sent && is_held, "tess {command}");
        assert_eq!(code, Some(0), "tess {command}");
        assert_eq!(tess(value, place.path()).stdout, tess(value, done.path()).stdout, "tess {command}");
        assert_eq!(folder::debris(place.path()), Vec::<String>::new(), "tess {command}");
    }
}

/// Whether the call gives the target its name: staged files get theirs inside of a staged folder, too.
fn renames_target(call: &tracer::Call) -> bool {
    let address = if call.number == libc::SYS_rename { call.args[1] } else { call.args[3] };
    call.text(address).is_some_and(|to| to.ends_with("x.parquet") || to.ends_with("arr"))
}
