//! Standard output as a target.
//!
//! Human-readable output is printed without control characters: a name or a value from a file must not reach the
//! terminal as a command. They are escaped as in JSON, so JSON output is unchanged.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use tesselle::storage::Staged;
use tesselle::{Compression, Error, Location, Result};

use crate::Outcome;

/// Whether something was written to standard output.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Does `work`, and does it again if another process removes what it reads, as long as nothing was printed: files that
/// are replaced appear whole, so only standard output cannot be taken back.
pub(crate) fn again_if_changed<T>(mut work: impl FnMut() -> Result<T>) -> Result<T> {
    const ATTEMPTS: usize = 5;
    PRINTED.store(false, Ordering::Relaxed);
    for _ in 1..ATTEMPTS {
        match work() {
            Err(error) if error.is_vanished() && !PRINTED.load(Ordering::Relaxed) => {}
            done => return done,
        }
    }
    work()
}

/// The target of data: the file of `-o`, else standard output.
pub(crate) fn target(file: Option<&str>, force: bool) -> Result<Box<dyn Staged>> {
    match file {
        Some("-" | "/dev/stdout") | None => {
            Ok(Box::new(StdoutStaged { out: BufWriter::new(io::stdout()), written: 0 }))
        }
        Some(path) => {
            let staged = Location::local(path)?.create(force).map_err(as_flags)?;
            let is_text =
                tesselle::format_by_extension(path).is_some_and(|format| !format.capabilities().binary);
            Ok(match Compression::of(path).filter(|_| is_text) {
                Some(compression) => compression.staged(staged),
                None => staged,
            })
        }
    }
}

/// Hints about an output of the command line are flags, in SQL too.
fn as_flags(error: Error) -> Error {
    match error.next_step().map(|hint| hint.word(crate::words::word)) {
        Some(hint) => error.replace_hint(hint),
        None => error,
    }
}

/// The text of a file that the command line names.
pub(crate) fn read_text(path: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::missing(path),
        _ => Error::io(format!("cannot read '{path}'"), error),
    })
}

/// The text with control characters, except line feeds and tabs, escaped as `\u001b`.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let is_command = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_command(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    print_styled(&plain(text))
}

/// Writes text with terminal styling. Content from files must have been passed through [`plain`].
pub(crate) fn print_styled(text: &str) -> Result<()> {
    crate::progress::clear();
    PRINTED.store(true, Ordering::Relaxed);
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(failed)
}

/// Writes text to the file of `-o`, else to standard output.
pub(crate) fn print_to(file: Option<&str>, force: bool, text: &str) -> Result<()> {
    let mut out = target(file, force)?;
    out.write(plain(text).as_bytes())?;
    out.commit().map(drop)
}

/// Prints a JSON value on separate lines.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<()> {
    let text =
        serde_json::to_string_pretty(value).map_err(|e| Error::internal("a report is not JSON").source(e))?;
    print(&format!("{text}\n"))
}

/// Prints a report, as JSON or as text.
pub(crate) fn report(json: bool, object: &serde_json::Value, text: &str) -> Result<Outcome> {
    if json {
        print_json(object)?;
    } else {
        print(text)?;
    }
    Ok(Outcome::Fine)
}

/// Fails if a report would be printed to standard output, which receives data.
pub(crate) fn refuse_report(json: bool) -> Result<()> {
    if json {
        return Err(Error::invalid("data and a JSON report cannot share standard output")
            .hint("write the data to a file"));
    }
    Ok(())
}

/// Prints a message to standard error.
pub(crate) fn note(text: &str) {
    crate::progress::clear();
    // Ignored if stderr is gone.
    let _ = writeln!(io::stderr(), "{}", plain(text));
}

fn failed(error: io::Error) -> Error {
    Error::io("cannot write to standard output", error)
}

/// Whether the reader of our output went away, as `head` does: not a failure.
pub(crate) fn is_broken_pipe(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        let inner = current.downcast_ref::<io::Error>();
        if inner.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
            return true;
        }
        // An io::Error made from another error hides it from `source`.
        let hidden = inner.and_then(io::Error::get_ref).and_then(|e| e.downcast_ref::<Error>());
        cause = hidden.map(|e| e as &(dyn std::error::Error + 'static)).or_else(|| current.source());
    }
    false
}

struct StdoutStaged {
    out: BufWriter<Stdout>,
    written: u64,
}

impl Staged for StdoutStaged {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        crate::progress::clear();
        PRINTED.store(true, Ordering::Relaxed);
        self.written += bytes.len() as u64;
        self.out.write_all(bytes).map_err(failed)
    }

    fn write_at(&mut self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(Error::invalid("this output needs a file, not a pipe").hint("use -o FILE"))
    }

    fn position(&self) -> u64 {
        self.written
    }

    fn is_pipe(&self) -> bool {
        true
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        self.out.flush().map_err(failed)?;
        Ok(self.position())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_again_until_something_was_printed() {
        let gone = || Error::missing("a").class("vanished");
        let mut left = 3;
        let done = again_if_changed(|| {
            left -= 1;
            if left == 0 { Ok("done") } else { Err(gone()) }
        });
        assert_eq!(done.unwrap(), "done");
        let mut calls = 0;
        let failed = again_if_changed(|| {
            calls += 1;
            StdoutStaged { out: BufWriter::new(io::stdout()), written: 0 }.write(b"")?;
            Err::<(), _>(gone())
        });
        assert!(failed.unwrap_err().is_vanished() && calls == 1);
        let mut calls = 0;
        let other = again_if_changed(|| {
            calls += 1;
            Err::<(), _>(Error::missing("a"))
        });
        assert!(other.is_err() && calls == 1);
    }

    #[test]
    fn control_characters_are_shown_and_json_stays_json() {
        assert_eq!(plain("a\tb\nc é"), "a\tb\nc é");
        assert_eq!(plain("\u{1b}]0;x\u{7}\r\u{9b}\u{7f}"), "\\u001b]0;x\\u0007\\u000d\\u009b\\u007f");
        let value = serde_json::json!({ "a": "\u{1b}[31m\u{9b}\u{7f}" });
        let shown: serde_json::Value = serde_json::from_str(&plain(&value.to_string())).unwrap();
        assert_eq!(shown, value);
    }
}
