//! `tess repair`: save what can be saved, beside the original.

use clap::Args;
use tesselle::Result;

use crate::args::{ReadArgs, ResourceArgs};
use crate::{Outcome, format, out};

/// Write what can be saved of a damaged file to another one
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tess repair broken.tet mended.tet && tess verify --deep mended.tet

The source is never touched.")]
pub(crate) struct Repair {
    /// The damaged container
    uri: String,

    /// Where the mended one goes
    target: String,

    /// Replace TARGET if it exists
    #[arg(long)]
    force: bool,

    /// Report as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    resources: ResourceArgs,
}

impl Repair {
    pub(crate) fn run(self) -> Result<Outcome> {
        let driver = self.resources.driver()?;
        let options = self.read.options()?;
        let format = self.read.format.as_deref();
        let repaired = tesselle::repair(&self.uri, &self.target, format, &options, self.force, &driver)?;
        if self.json {
            out::print_json(&repaired.to_json())?;
            return Ok(Outcome::Fine);
        }
        for note in &repaired.notes {
            out::print(&format!("{note}\n"))?;
        }
        let (kept, dropped) = (format::bytes(repaired.kept_bytes), format::bytes(repaired.dropped_bytes));
        out::print(&format!("{}: {kept} kept, {dropped} dropped\n", self.target))?;
        Ok(Outcome::Fine)
    }
}
