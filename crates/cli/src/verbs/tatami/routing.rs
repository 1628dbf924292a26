//! `tess tatami routing`: which segments contain which terms.

use clap::Args;
use serde_json::{Value, json};
use tesselle::search::analyzer::tokens;
use tesselle::search::{RoutingIndex, Searcher, tatami_location};
use tesselle::{Error, Location, OpenOptions, Result};

use crate::format::{self, Align, TextTable};
use crate::{Outcome, out};

/// Build the routing index of search segments, or list the segments that can answer a query
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess tatami routing segments/ -o routing.bin
  tess tatami routing segments/ --query 'river stone'
  tess tatami routing routing.bin --query 'river stone' --json

The index has the terms of every segment with their document counts, in the form of the original
engine. 'tess search' does not need it: it reads the same from the segments.")]
pub(super) struct Routing {
    /// Segment, folder of segments, or a routing file
    uri: String,

    /// List the segments that contain any of these words, the highest possible score first
    #[arg(long, value_name = "WORDS")]
    query: Option<String>,

    /// Write the index to FILE
    #[arg(short, long = "out", value_name = "FILE")]
    output: Option<String>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,
}

/// First bytes of a routing file.
const MAGIC: &[u8] = b"TATR";

/// Maximum size of a routing file, which is kept in memory.
const MAX_BYTES: u64 = 1 << 32;

impl Routing {
    pub(super) fn run(&self, as_json: bool) -> Result<Outcome> {
        let (index, names) = self.open()?;
        if let Some(file) = &self.output {
            let mut staged = Location::local(file)?.create(self.force)?;
            staged.write(&index.to_file()?)?;
            staged.commit()?;
        }
        let mut object = json!({ "segments": names, "docs": index.docs(), "terms": index.terms() });
        let mut text = format!(
            "{}, {}, {}\n",
            format::counted(names.len() as u64, "segment"),
            format::counted(index.docs(), "document"),
            format::counted(index.terms() as u64, "term")
        );
        if let Some(query) = &self.query {
            let words = tokens(query.as_bytes());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut table = TextTable::new(&[("segment", Align::Left), ("score at most", Align::Right)]);
            let mut routes: Vec<Value> = Vec::new();
            for route in index.route(&words) {
                let name = names.get(route.shard as usize);
                let name = name.ok_or_else(|| Error::internal("a route leads to an unknown segment"))?;
                table.row([name.clone(), format!("{:.4}", route.bound)]);
                routes.push(json!({ "segment": name, "bound": route.bound }));
            }
            text =
                if routes.is_empty() { "no segment contains a word\n".to_owned() } else { table.render("") };
            object["routes"] = Value::Array(routes);
        }
        out::report(as_json, &object, &text)
    }

    /// The index and the names of its segments; a routing file has only their numbers.
    fn open(&self) -> Result<(RoutingIndex, Vec<String>)> {
        let file = Location::local(&self.uri)?;
        let length = MAGIC.len() as u64;
        let is_file = file.is_file()? && file.size()? >= length;
        if is_file && file.read_range(0..length)? == MAGIC {
            let index = RoutingIndex::parse_file(&file.read_all(MAX_BYTES)?)?;
            let names = (0..index.shards()).map(|shard| shard.to_string()).collect();
            return Ok((index, names));
        }
        let searcher = Searcher::open(&tatami_location(&self.uri)?, &OpenOptions::default())?;
        let segments = searcher.segments();
        let names = segments.iter().map(|segment| segment.name().to_owned()).collect();
        Ok((RoutingIndex::of(segments)?, names))
    }
}
