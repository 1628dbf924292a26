//! One command, killed everywhere.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{folder, killer};

const TESS: &str = env!("CARGO_BIN_EXE_tess");

/// Kills per case in a short run.
const FEW: usize = 6;

/// A command that writes, and how its effect is seen.
pub(crate) struct Case {
    /// The words of the command, in a folder that `prepare` has filled.
    pub(crate) command: &'static str,
    /// Commands whose answers together are the value: they are what they were before, or what they are after. The first
    /// word is what must exist for the command to make sense.
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

    /// Kills the command before each of its changes, or before some of them in a short run, and checks what is left.
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
        for at in points(count) {
            let place = scratch.path().join(format!("killed-{at}"));
            folder::copy(prepared, &place);
            self.check_killed(&place, at, &old, &new, prepared);
            fs::remove_dir_all(&place).unwrap();
        }
        println!("tess {}: {count} changing calls", self.command);
    }

    fn check_killed(&self, place: &Path, at: usize, old: &[String], new: &[String], prepared: &Path) {
        let ended = killer::run(TESS, &words(self.command), place, Some(at));
        let what = format!("tess {}, killed before change {at} ({:?})", self.command, ended.calls.last());
        let values = self.values(place);
        if ended.code.is_some() {
            // Threads share the work in another way each time; this run had fewer changes.
            assert_eq!((ended.code, &*values), (Some(0), new), "{what}");
        }
        if self.one_by_one {
            for (number, value) in values.iter().enumerate() {
                assert!(
                    [&old[number], &new[number]].contains(&value),
                    "{what}: {value}\n{}",
                    self.value[number]
                );
            }
        } else {
            assert!(values == old || values == new, "{what}:\n{values:#?}\nold {old:#?}\nnew {new:#?}");
        }
        self.check_others(place, prepared, &what);
        let is_done = values == new && old != new;
        if !is_done {
            let out = tess(self.command, place);
            let error = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{what}, and then it fails: {error}");
            assert_eq!(self.values(place), new, "{what}, and then given again");
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

/// The words of a command; those in quotes stay together.
fn words(command: &str) -> Vec<String> {
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
    let out = tess(command, place);
    let error = String::from_utf8_lossy(&out.stderr);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.status.success() && command.starts_with("verify ") {
        // What is left over may be mentioned; it is no damage.
        return "ok".to_owned();
    }
    if out.status.success() { text } else { format!("exit {:?}: {error}", out.status.code()) }
}

/// Where a run of so many changes is killed: everywhere, or in a short run at its end, where things get their names, and
/// at some places before.
fn points(count: usize) -> Vec<usize> {
    if std::env::var_os("TESSELLE_THOROUGH").is_some() || count <= FEW {
        return (0..count).collect();
    }
    let last = count - FEW / 2..count;
    let spread = (0..FEW / 2).map(|part| part * (count - FEW / 2) / (FEW / 2));
    spread.chain(last).collect()
}
