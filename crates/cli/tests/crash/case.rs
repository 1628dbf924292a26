//! One command, killed and interrupted everywhere.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::folder;
use crate::killer::{self, Strike};

pub(crate) const TESS: &str = env!("CARGO_BIN_EXE_tess");

/// Kills per case in a short run.
const FEW: usize = 6;

/// Signals per case in a short run.
const FEW_SIGNALS: usize = 3;

/// A command that is interrupted ends within two seconds, which `signals.rs` tests. A traced process on a busy machine takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A command that writes, and how its effect is seen.
pub(crate) struct Case {
    /// The words of the command, in a folder that `prepare` has filled.
    pub(crate) command: &'static str,
    /// Commands whose answers together are the value: they are what they were before, or what they are after. The first
    /// word is what must exist for the command to make sense; `text` is a command that prints a file.
    pub(crate) value: &'static [&'static str],
    /// Names that the command creates or changes; everything else stays as it is, byte by byte.
    pub(crate) targets: &'static [&'static str],
    /// The command that is given afterwards, or instead if it has already succeeded; its result is not checked.
    pub(crate) next: &'static str,
    /// Whether each target may have changed or not: a command over many files commits them one by one.
    pub(crate) one_by_one: bool,
}

impl Case {
    /// A command that replaces its target, and can be given again.
    pub(crate) const fn replacing(
        command: &'static str,
        value: &'static [&'static str],
        targets: &'static [&'static str],
    ) -> Self {
        Self { command, value, targets, next: command, one_by_one: false }
    }

    /// A command that fails, or changes something more, when it is given a second time; `next` then does not.
    pub(crate) const fn once(
        command: &'static str,
        value: &'static [&'static str],
        targets: &'static [&'static str],
        next: &'static str,
    ) -> Self {
        Self { next, ..Self::replacing(command, value, targets) }
    }

    /// Kills and interrupts the command before each of its changes, or before some of them in a short run, and checks
    /// what is left.
    pub(crate) fn check(&self, prepared: &Path) {
        let scratch = tempfile::tempdir().unwrap();
        let clean = scratch.path().join("clean");
        folder::copy(prepared, &clean);
        let old = self.values(&clean);
        let whole = killer::run(TESS, &words(self.command), &clean, None);
        assert_eq!(whole.code, Some(0), "tess {} fails without being killed", self.command);
        assert!(!whole.calls.is_empty(), "tess {} changes nothing", self.command);
        let new = self.values(&clean);
        assert_eq!(folder::debris(&clean), Vec::<String>::new(), "tess {}", self.command);
        let count = whole.calls.len();
        let states = States { old, new, prepared };
        for at in points(count, FEW) {
            let place = scratch.path().join(format!("killed-{at}"));
            folder::copy(prepared, &place);
            self.check_killed(&place, at, &states);
            fs::remove_dir_all(&place).unwrap();
        }
        let mut stopped = 0;
        let signals = points(count, FEW_SIGNALS);
        for (number, at) in signals.iter().enumerate() {
            let place = scratch.path().join(format!("interrupted-{at}"));
            folder::copy(prepared, &place);
            let signal = if number % 2 == 0 { Signal::SIGINT } else { Signal::SIGTERM };
            stopped += usize::from(self.check_interrupted(&place, Strike { at: *at, signal }, &states));
            fs::remove_dir_all(&place).unwrap();
        }
        println!(
            "tess {}: {count} changing calls, {stopped} of {} signals came before the end",
            self.command,
            signals.len()
        );
    }

    /// What is left by a command that was killed has a value, and the next command works and cleans up.
    fn check_killed(&self, place: &Path, at: usize, states: &States<'_>) {
        let States { old, new, prepared } = states;
        let strike = Strike { at, signal: Signal::SIGKILL };
        let ended = killer::run(TESS, &words(self.command), place, Some(strike));
        let what = format!("tess {}, killed before change {at} ({:?})", self.command, ended.calls.last());
        let values = self.values(place);
        if ended.code.is_some() {
            // Threads share the work in another way each time; this run had fewer changes.
            assert_eq!((ended.code, &values), (Some(0), new), "{what}");
        }
        self.check_values(&values, states, &what);
        self.check_others(place, prepared, &what);
        let is_done = values == *new && old != new;
        if !is_done {
            let out = tess(self.command, place);
            let error = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{what}, and then it fails: {error}");
            assert_eq!(self.values(place), *new, "{what}, and then given again");
        }
        let next = self.next;
        if is_done || next != self.command {
            let out = tess(next, place);
            let error = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{what}, and then {next} fails: {error}");
        }
        self.check_others(place, prepared, &what);
        assert_eq!(folder::debris(place), Vec::<String>::new(), "{what}, and then {next}");
    }

    /// A command that gets a signal ends soon, with the exit code of the signal and the old value or, where it was
    /// done already, with the new one; it leaves nothing behind itself. Whether it was stopped.
    fn check_interrupted(&self, place: &Path, strike: Strike, states: &States<'_>) -> bool {
        let ended = killer::run(TESS, &words(self.command), place, Some(strike));
        let at = strike.at;
        let what =
            format!("tess {}, {} before change {at} of {:?}", self.command, strike.signal, ended.calls);
        let code = if strike.signal == Signal::SIGINT { 130 } else { 143 };
        assert!(ended.code == Some(0) || ended.code == Some(code), "{what}: {:?}", ended.code);
        assert!(ended.after.is_none_or(|after| after < PATIENCE), "{what}: after {:?}", ended.after);
        let values = self.values(place);
        let stopped = ended.code == Some(code);
        // A change that was visible before the signal stays, regardless of the remaining work.
        let is_late = !ended.calls.iter().skip(at).any(|call| call.starts_with("rename"));
        match (self.one_by_one, stopped) {
            (true, _) => self.check_values(&values, states, &what),
            (_, true) if is_late => self.check_values(&values, states, &what),
            (_, true) => assert_eq!(values, states.old, "{what}: stopped, and yet there is a change"),
            (_, false) => assert_eq!(values, states.new, "{what}: done, and yet there is no change"),
        }
        // A signal before the first change prevents it, unless the change is itself an unlink.
        let is_first = at == 0 && !ended.calls.first().is_some_and(|call| call.starts_with("unlink"));
        assert!(stopped || !is_first || states.old == states.new, "{what}: the signal was ignored");
        self.check_others(place, states.prepared, &what);
        assert_eq!(folder::debris(place), Vec::<String>::new(), "{what}");
        stopped
    }

    fn check_values(&self, values: &[String], states: &States<'_>, what: &str) {
        let States { old, new, .. } = states;
        if self.one_by_one {
            for (number, value) in values.iter().enumerate() {
                let allowed = [&old[number], &new[number]];
                assert!(allowed.contains(&value), "{what}: {value}\n{}", self.value[number]);
            }
        } else {
            assert!(values == old || values == new, "{what}:\n{values:#?}\nold {old:#?}\nnew {new:#?}");
        }
    }

    /// What the command does not change is as it was.
    fn check_others(&self, place: &Path, prepared: &Path, what: &str) {
        let is_other = |name: &String| {
            let first = name.split('/').next().unwrap_or(name);
            !self.targets.contains(&first) && !first.starts_with('.')
        };
        let others = |folder: &Path| -> Vec<(String, Vec<u8>)> {
            folder::contents(folder).into_iter().filter(|(name, _)| is_other(name)).collect()
        };
        assert!(others(place) == others(prepared), "{what}: other files were changed");
    }

    fn values(&self, place: &Path) -> Vec<String> {
        self.value.iter().map(|command| answer(command, place)).collect()
    }
}

/// The values before and after a command, and the folder before it.
struct States<'a> {
    old: Vec<String>,
    new: Vec<String>,
    prepared: &'a Path,
}

/// The words of a command; those in quotes stay together.
pub(crate) fn words(command: &str) -> Vec<String> {
    let parts = command.split('`').enumerate();
    let words = parts.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

pub(crate) fn tess(command: &str, place: &Path) -> Output {
    Command::new(TESS).args(words(command)).current_dir(place).output().unwrap()
}

/// What a command prints, after the name of what it looks at; a command that fails shows a broken target.
fn answer(command: &str, place: &Path) -> String {
    let (target, command) = command.split_once(' ').unwrap();
    if !place.join(target).exists() {
        return "nothing".to_owned();
    }
    if let Some(file) = command.strip_prefix("text ") {
        return fs::read_to_string(place.join(file)).unwrap();
    }
    let out = tess(command, place);
    let error = String::from_utf8_lossy(&out.stderr);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.status.success() && command.starts_with("verify ") {
        // What is left over may be mentioned; it is no damage.
        return "ok".to_owned();
    }
    if out.status.success() { text } else { format!("exit {:?}: {error}", out.status.code()) }
}

/// Where a run of so many changes is struck: everywhere, or in a short run at its end, where things get their names, and
/// at `few` places in all.
pub(crate) fn points(count: usize, few: usize) -> Vec<usize> {
    if std::env::var_os("TESSELLE_THOROUGH").is_some() || count <= few {
        return (0..count).collect();
    }
    let at_end = few / 2;
    let before = few - at_end;
    let spread = (0..before).map(|part| part * (count - at_end) / before);
    spread.chain(count - at_end..count).collect()
}
