//! `tess reference`: the pages of docs/cli.md, from the same definitions as `--help`.

use std::fmt::Write as _;

use clap::{Args, Command};
use tesselle::Result;

use crate::{Outcome, out};

/// Print the command line reference as Markdown
#[derive(Debug, Args)]
pub(crate) struct Reference {}

impl Reference {
    pub(crate) fn run(command: &Command) -> Result<Outcome> {
        let mut text = String::from(
            "# Command line reference\n\nWritten by `tess reference` from the definitions that `--help` shows; a test \
             keeps it current.\n\nExit codes: 0 fine, 1 the data is bad (or two tables differ), 2 the call is wrong, 3 I/O failed,\n\
             130 and 143 ended by a signal (Ctrl-C, SIGTERM).\n",
        );
        page(&mut text, command, "tess", 2);
        out::print(&text)?;
        Ok(Outcome::Fine)
    }
}

fn page(text: &mut String, command: &Command, path: &str, level: usize) {
    let help = command.clone().bin_name(path).term_width(100).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ =
        writeln!(text, "\n{} `{path}`\n\n```text\n{}\n```", "#".repeat(level), lines.join("\n").trim_end());
    for child in command.get_subcommands().filter(|child| !child.is_hide_set() && child.get_name() != "help")
    {
        page(text, child, &format!("{path} {}", child.get_name()), level.saturating_add(1).min(4));
    }
}
