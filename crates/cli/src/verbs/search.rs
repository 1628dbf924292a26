//! `tess search`: keyword search over segments.

use std::fmt::Write as _;
use std::io::IsTerminal;

use clap::Args;
use tesselle::search::{Hits, SearchOptions, Syntax};
use tesselle::{Predicate, Result};

use crate::args::{ReadArgs, ResourceArgs};
use crate::verbs::tatami::given;
use crate::{Outcome, out};

/// Search a segment, or a folder of segments, for words
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess search crawl.tatami 'river stone'
  tess search crawl/ '+river -bridge \"paper light\"' -k 20 --json
  tess search crawl.tatami 'garden' --where \"url >= 'https://b'\"

Words are optional unless marked: +required, -excluded, \"a phrase\", AND, OR, NOT and (groups).
With --plain, marks are ordinary characters.")]
pub(crate) struct Search {
    /// Search segment, or a folder with segments
    uri: String,

    /// Words to search for
    query: String,

    /// Number of hits
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: usize,

    /// Only documents whose stored columns satisfy this SQL condition
    #[arg(long = "where", value_name = "EXPR")]
    condition: Option<Predicate>,

    /// Read the query as plain words
    #[arg(long)]
    plain: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    resources: ResourceArgs,
}

/// Characters shown around the matching words.
const HIGHLIGHT: usize = 160;

impl Search {
    pub(crate) fn run(self) -> Result<Outcome> {
        given::location(&self.uri)?;
        let options = SearchOptions {
            k: self.k,
            syntax: if self.plain { Syntax::Plain } else { Syntax::Boolean },
            filter: self.condition.clone(),
            highlight: (!self.json).then_some(HIGHLIGHT),
        };
        let driver = self.resources.driver()?;
        let search = tesselle::search(&self.uri, &self.query).with(options);
        let hits = search.opener(self.read.opener(None)?).on(&driver).run()?;
        if self.json {
            out::print_json(&hits.to_json())?;
        } else {
            out::print_styled(&text(&hits))?;
        }
        Ok(Outcome::Fine)
    }
}

fn text(hits: &Hits) -> String {
    if hits.hits.is_empty() {
        return "no documents match\n".to_owned();
    }
    let (before, after) = if std::io::stdout().is_terminal() { ("\x1b[1m", "\x1b[0m") } else { ("[", "]") };
    let mut text = String::new();
    for (rank, hit) in hits.hits.iter().enumerate() {
        let field = |bytes: &[u8]| out::plain(&String::from_utf8_lossy(bytes)).into_owned();
        let title = field(&hit.fields.title);
        let _ = writeln!(
            text,
            "{:>3}. {:.4}  {}",
            rank + 1,
            hit.score,
            if title.is_empty() { "(no title)" } else { &title }
        );
        let _ = writeln!(text, "     {} {}", field(&hit.fields.doc_id), field(&hit.fields.url));
        if let Some(shown) = hit.highlight.as_ref().map(|h| h.marked(before, after)).filter(|t| !t.is_empty())
        {
            let _ = writeln!(text, "     {shown}");
        }
    }
    if hits.unverified > 0 {
        let _ = writeln!(
            text,
            "{} more documents contain the words, but not enough stored text to check the phrase",
            hits.unverified
        );
    }
    text
}
