//! `tess man`: manual pages, from the same definitions as `--help`.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use tesselle::{Error, Result};

use crate::{Outcome, out};

/// Write manual pages, one for each verb
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tess man ~/.local/share/man/man1 && man tess-convert")]
pub(crate) struct ManPages {
    /// Folder for tess.1, tess-info.1 and so on
    folder: PathBuf,
}

impl ManPages {
    pub(crate) fn run(self, command: Command) -> Result<Outcome> {
        let failed = |error| Error::io(format!("cannot write to '{}'", self.folder.display()), error);
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let count = pages(&self.folder, command.disable_help_subcommand(true), "tess").map_err(failed)?;
        out::note(&format!("{}: {count} pages", self.folder.display()));
        Ok(Outcome::Fine)
    }
}

/// Writes the page of a command and those of its subcommands; returns how many.
fn pages(folder: &Path, command: Command, name: &str) -> std::io::Result<usize> {
    let mut count = 1;
    for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
        count += pages(folder, child.clone(), &format!("{name}-{}", child.get_name()))?;
    }
    let command = command.display_name(name.to_owned()).bin_name(name.replace('-', " "));
    let mut page = Vec::new();
    Man::new(command).title(name.to_uppercase()).section("1").render(&mut page)?;
    std::fs::write(folder.join(format!("{name}.1")), page)?;
    Ok(count)
}
