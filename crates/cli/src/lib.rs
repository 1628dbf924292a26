//! The command line of Tesselle, as a library function that takes its arguments.
//!
//! Data goes to stdout, everything else to stderr. Exit codes: 0 fine, 1 the data is bad, 2 the call is wrong,
//! 3 I/O failed, 130 or 143 a signal ended the work (SIGINT, SIGTERM).
#![forbid(unsafe_code)]

mod args;
mod format;
mod forms;
mod inputs;
mod out;
mod progress;
mod render;
mod signals;
mod verbs;
mod words;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use tesselle::{Action, Error, ErrorKind};

/// Reads, writes, queries, verifies, repairs and converts chunked data files: TileDB arrays, TsFile, tet and tatami.
#[derive(Debug, Parser)]
#[command(name = "tess", version, max_term_width = 110, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    resources: args::ResourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  tess demo                                  one sample of each format, with a tour
  tess info run.tet                          contents of a file
  tess cat 'run.tet#temperature' --slice 0:2 a region of a tensor
  tess sql                                   SQL over all of them, joins across formats
  tess convert field.npy field.tet           from NumPy into a tet file
  tess verify --deep run.tet                 decode everything and check it

#NAME selects a table inside a file: plant.tsfile#root.ln.wf01.wt01. Every
verb has --help with examples.";

#[derive(Debug, Subcommand)]
enum Verb {
    Info(verbs::info::Info),
    Sketch(verbs::sketch::Sketch),
    #[command(visible_alias = "head")]
    Cat(verbs::cat::Cat),
    #[cfg(feature = "sql")]
    Sql(verbs::sql::Sql),
    Convert(verbs::convert::Convert),
    Append(verbs::append::Append),
    Verify(verbs::verify::Verify),
    Repair(verbs::repair::Repair),
    Index(verbs::index::Index),
    Search(verbs::search::Search),
    Diff(verbs::diff::Diff),
    Reduce(verbs::reduce::Reduce),
    #[command(name = "tiledb")]
    TileDb(verbs::tiledb::TileDb),
    #[command(name = "tsfile")]
    TsFile(verbs::tsfile::TsFile),
    Tatami(verbs::tatami::TatamiVerb),
    Tet(verbs::tet::TetVerb),
    Demo(verbs::demo::Demo),
    Completions(verbs::completions::Completions),
    #[command(name = "man")]
    Man(verbs::man::ManPages),
    #[command(hide = true)]
    Reference(verbs::reference::Reference),
}

/// The outcome of a verb.
enum Outcome {
    /// All is fine.
    Fine,
    /// The verb succeeded, but the data is bad.
    BadData,
    /// The verb continued after errors, which it reported; this is the exit code of the worst.
    Code(u8),
}

/// Runs `tess` with these arguments, program name first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(run_to_code(args))
}

/// Like [`run`], for those who end the process themselves.
pub fn run_to_code(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, &args),
    };
    let (json, wording) = (cli.verb.wants_json(), cli.verb.wording());
    signals::listen();
    tesselle::foreign::silence_reader_panics();
    tesselle::name::keep_pipes();
    match cli.verb.run(&cli.resources) {
        Ok(Outcome::Fine) => 0,
        Ok(Outcome::BadData) => 1,
        Ok(Outcome::Code(code)) => code,
        Err(error) if out::is_broken_pipe(&error) => 0,
        Err(error) => {
            report(&error, json, wording);
            exit_code(&error)
        }
    }
}

/// Prints help and version, which also arrive here. An invalid call is reported like every other error.
fn refuse(error: &clap::Error, args: &[OsString]) -> u8 {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(error.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion) {
        // Ignored if the terminal is gone.
        let _ = error.print();
        return u8::try_from(error.exit_code()).unwrap_or(2);
    }
    let text = error.to_string();
    let lines: Vec<&str> =
        text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:")).collect();
    let (tips, facts): (Vec<&str>, Vec<&str>) =
        lines.into_iter().filter(|line| !line.is_empty()).partition(|line| line.starts_with("tip: "));
    let facts = facts.iter().map(|line| line.trim_start_matches("error: ")).collect::<Vec<_>>().join(" ");
    let facts = facts.trim_end_matches("For more information, try '--help'.").trim_end().to_owned();
    let hint = tips.first().map_or("--help shows the usage", |tip| tip.trim_start_matches("tip: "));
    let error = Error::invalid(facts).hint(hint.to_owned());
    report(&error, args.iter().any(|arg| arg == "--json"), words::word);
    2
}

/// Work ended by a signal has the exit code of the signal, regardless of its error.
fn exit_code(error: &Error) -> u8 {
    let canceled = (error.kind() == ErrorKind::Canceled).then_some(130);
    signals::exit_code().or(canceled).unwrap_or_else(|| error.kind().exit_code())
}

fn report(error: &Error, json: bool, wording: fn(&Action) -> String) {
    progress::clear();
    if json {
        let _ = writeln!(std::io::stdout(), "{}", error.to_json(wording));
    }
    out::note(&format!("tess: {}", error.worded(wording)));
}

impl Verb {
    fn run(self, resources: &args::ResourceArgs) -> tesselle::Result<Outcome> {
        match self {
            Self::Info(verb) => verb.run(resources),
            Self::Sketch(verb) => verb.run(resources),
            Self::Cat(verb) => verb.run(resources),
            #[cfg(feature = "sql")]
            Self::Sql(verb) => verb.run(resources),
            Self::Convert(verb) => verb.run(resources),
            Self::Append(verb) => verb.run(resources),
            Self::Verify(verb) => verb.run(resources),
            Self::Repair(verb) => verb.run(resources),
            Self::Index(verb) => verb.run(resources),
            Self::Search(verb) => verb.run(resources),
            Self::Diff(verb) => verb.run(resources),
            Self::Reduce(verb) => verb.run(resources),
            Self::TsFile(verb) => verb.run(resources),
            Self::Tatami(verb) => verb.run(resources),
            Self::Tet(verb) => verb.run(resources),
            Self::TileDb(verb) => verb.run(resources),
            Self::Demo(verb) => verb.run(resources),
            Self::Completions(verb) => verb.run(&mut Cli::command()),
            Self::Man(verb) => verb.run(Cli::command()),
            Self::Reference(_) => verbs::reference::Reference::run(&Cli::command()),
        }
    }

    /// How hints are worded.
    fn wording(&self) -> fn(&Action) -> String {
        match self {
            #[cfg(feature = "sql")]
            Self::Sql(_) => words::word_in_sql,
            _ => words::word,
        }
    }

    fn wants_json(&self) -> bool {
        match self {
            Self::Info(verb) => verb.json,
            Self::Sketch(verb) => verb.json,
            Self::Cat(verb) => verb.json,
            #[cfg(feature = "sql")]
            Self::Sql(verb) => verb.json,
            Self::Convert(verb) => verb.json,
            Self::Append(verb) => verb.json,
            Self::Verify(verb) => verb.json,
            Self::Repair(verb) => verb.json,
            Self::Index(verb) => verb.json,
            Self::Search(verb) => verb.json,
            Self::Diff(verb) => verb.json,
            Self::Reduce(verb) => verb.json,
            Self::TsFile(verb) => verb.json,
            Self::Tatami(verb) => verb.json,
            Self::Tet(verb) => verb.json,
            Self::TileDb(verb) => verb.json,
            Self::Demo(_) | Self::Completions(_) | Self::Man(_) | Self::Reference(_) => false,
        }
    }
}
