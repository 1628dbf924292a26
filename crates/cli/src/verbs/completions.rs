//! `tess completions`: shell completions.

use clap::Args;
use clap_complete::Shell;
use tesselle::Result;

use crate::{Outcome, out};

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tess completions bash > ~/.local/share/bash-completion/completions/tess")]
pub(crate) struct Completions {
    /// Shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, command: &mut clap::Command) -> Result<Outcome> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, command, "tess", &mut text);
        out::print(&String::from_utf8_lossy(&text))?;
        Ok(Outcome::Fine)
    }
}
