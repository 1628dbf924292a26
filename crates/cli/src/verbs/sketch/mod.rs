//! `tess sketch`: every byte of a container with its meaning.

mod html;

use std::fmt::Write as _;
use std::io::IsTerminal;

use clap::Args;
use tesselle::core::{FileLayout, LayoutMap};
use tesselle::{Error, Result};

use crate::args::{ReadArgs, ResourceArgs};
use crate::{Outcome, format, out};

/// Draw the byte map of a file: position, size and content of every part
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess sketch run.tet
  tess sketch run.tet --json
  tess sketch plant.tsfile --pages
  tess sketch run.tet -o run.txt
  tess sketch --html run.tet -o run.html     a single HTML page")]
#[allow(clippy::struct_excessive_bools, reason = "flags")]
pub(crate) struct Sketch {
    /// Container; with --html also the page to write
    #[arg(required = true, num_args = 1..=2, value_name = "URI")]
    paths: Vec<String>,

    /// Write an HTML page with drawings: one file that needs no network
    #[arg(long, conflicts_with = "json")]
    html: bool,

    /// Descend to the pages inside chunks (TsFile) [default: the map ends at chunks with their number of pages; --html always has them]
    #[arg(long)]
    pages: bool,

    /// Write the map to FILE
    #[arg(short, value_name = "FILE")]
    output: Option<String>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// The depth of chunks: inside their groups.
const CHUNK_DEPTH: u8 = 1;

impl Sketch {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let (uri, output) = match (self.paths.as_slice(), &self.output) {
            ([uri], output) => (uri, output.as_deref()),
            ([uri, page], None) if self.html => (uri, Some(page.as_str())),
            _ => {
                return Err(Error::invalid("only one container can be drawn at a time")
                    .hint("set the output with -o FILE"));
            }
        };
        if self.html && output.is_none() && std::io::stdout().is_terminal() {
            return Err(Error::invalid("an HTML page is not written to a terminal")
                .hint("write it to a file with -o FILE"));
        }
        let opened = self.read.open(uri, None, resources)?;
        let mut map = opened.container().layout()?;
        if !self.pages && !self.html {
            for file in &mut map.files {
                file.extents.retain(|extent| extent.depth <= CHUNK_DEPTH);
            }
        }
        let text = match (self.html, self.json) {
            (true, _) => html::page(&opened, &map)?,
            (_, true) => format!("{:#}\n", map.to_json()),
            _ => text(&map),
        };
        out::print_to(output, self.force, &text)?;
        Ok(Outcome::Fine)
    }
}

fn text(map: &LayoutMap) -> String {
    let mut text = String::new();
    for file in &map.files {
        if !text.is_empty() {
            text.push('\n');
        }
        file_text(&mut text, file);
    }
    text
}

fn file_text(text: &mut String, file: &FileLayout) {
    let _ = writeln!(text, "{}, {} ({} bytes)", file.file, format::bytes(file.size), file.size);
    let width = file.size.to_string().len().max("POSITION".len());
    let _ = writeln!(text, "{:>width$} | {:>10} | CONTENT", "POSITION", "SIZE");
    for extent in &file.extents {
        let indent = "  ".repeat(usize::from(extent.depth));
        let size = extent.range.end - extent.range.start;
        let _ = writeln!(
            text,
            "{:>width$} | {size:>10} | {indent}[{}] {}",
            extent.range.start,
            extent.role.name(),
            extent.content
        );
    }
    let _ = writeln!(text, "{:>width$} | {:>10} | end of file", file.size, "");
}
