//! `tess repair`: recovers what can be recovered, next to the original.

use clap::Args;
use tesselle::{Repaired, Result};

use crate::args::{ReadArgs, ResourceArgs};
use crate::progress::Bar;
use crate::{Outcome, format, out};

/// Recover what can be recovered from a damaged file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess repair broken.tet repaired.tet
  tess repair --in-place broken.tsfile
  tess repair broken.tet repaired.tet --fill -9999

The source is never changed. With --in-place the result replaces it, and the
original is kept as URI.damaged. The result is verified before it is renamed.
Exit code 1 means that data was lost or is in doubt; the report lists it.")]
pub(crate) struct Repair {
    /// Damaged container
    uri: String,

    /// Path of the repaired container
    #[arg(required_unless_present = "in_place", conflicts_with = "in_place")]
    target: Option<String>,

    /// Replace the damaged container, which is kept as URI.damaged
    #[arg(long, conflicts_with = "force")]
    in_place: bool,

    /// Overwrite TARGET if it exists
    #[arg(long)]
    force: bool,

    /// Value of lost elements of a tet file [default: the null value of the dataset, else NaN or 0]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    fill: Option<String>,

    /// Report as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

impl Repair {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let driver = resources.driver()?.with_progress(Bar::new(""));
        let options = self.read.options()?.with_fill(self.fill.clone());
        let opener = self.read.opener_with(None, options);
        let repair = tesselle::repair(&self.uri).opener(opener).on(&driver);
        let (repaired, backup) = if let Some(target) = &self.target {
            (repair.overwrite(self.force).to(target)?, None)
        } else {
            let done = repair.in_place()?;
            (done.repaired, Some(done.backup))
        };
        if self.json {
            let mut report = repaired.to_json();
            if let Some(backup) = backup {
                report["backup"] = backup.into();
            }
            out::print_json(&report)?;
            return Ok(outcome(&repaired));
        }
        for note in &repaired.notes {
            out::print(&format!("{note}\n"))?;
        }
        let (kept, dropped) = (format::bytes(repaired.kept_bytes), format::bytes(repaired.dropped_bytes));
        let place = self.target.as_ref().unwrap_or(&self.uri);
        out::print(&format!("{place}: {kept} kept, {dropped} dropped\n"))?;
        if let Some(backup) = backup {
            out::print(&format!("the original is kept as {backup}\n"))?;
        }
        Ok(outcome(&repaired))
    }
}

fn outcome(repaired: &Repaired) -> Outcome {
    if repaired.outcome.is_whole() { Outcome::Fine } else { Outcome::BadData }
}
