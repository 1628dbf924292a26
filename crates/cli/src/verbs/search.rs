//! `tess search`: keyword search over segments.

use std::fmt::Write as _;
use std::io::IsTerminal;

use clap::Args;
use tesselle::search::{Boosts, Hits, SearchOptions, Syntax};
use tesselle::{Predicate, Result};

use crate::args::{ReadArgs, ResourceArgs, parse_condition};
use crate::{Outcome, format, out};

/// Search a segment, or a folder of segments, for words
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess search crawl.tatami 'river stone'
  tess search crawl/ '+river -bridge \"paper light\"' -k 20 --json
  tess search crawl.tatami 'garden' --where \"url >= 'https://b'\"
  tess search crawl.tatami 'title:river licens* brigde~1' --offset 10 --total
  tess search crawl.tatami 'license' --boost title=3

Words are optional unless marked: +required, -excluded, \"a phrase\", AND, OR, NOT and (groups).
river* finds words with this prefix, river~1 words one edit away (at most ~2). title:river, url:\"a
phrase\" and body:river search one stored field. With --plain, marks are ordinary characters.")]
pub(crate) struct Search {
    /// Search segment, or a folder with segments
    uri: String,

    /// Words to search for
    #[arg(allow_hyphen_values = true)]
    query: String,

    /// Number of hits; 0 counts the documents only
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: usize,

    /// Skip this many of the best hits
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,

    /// Count all documents that match, not only those shown
    #[arg(long)]
    total: bool,

    /// Only documents whose stored columns match this SQL condition
    #[arg(long = "where", value_name = "EXPR", value_parser = parse_condition, allow_hyphen_values = true)]
    condition: Option<Predicate>,

    /// Raise the score of words in the title or url: up to FACTOR times if all of them match;
    /// repeatable
    #[arg(long = "boost", value_name = "FIELD=FACTOR", value_parser = parse_boost)]
    boosts: Vec<(BoostedField, f32)>,

    /// Read the query as plain words
    #[arg(long)]
    plain: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// Characters shown around the matching words.
const HIGHLIGHT: usize = 160;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoostedField {
    Title,
    Url,
}

fn parse_boost(text: &str) -> std::result::Result<(BoostedField, f32), String> {
    let (field, factor) = text.split_once('=').ok_or("write FIELD=FACTOR, e.g. title=3")?;
    let field = match field {
        "title" => BoostedField::Title,
        "url" => BoostedField::Url,
        _ => return Err("fields are title and url".to_owned()),
    };
    match factor.parse::<f32>() {
        Ok(factor) if factor.is_finite() && factor >= 1.0 => Ok((field, factor)),
        _ => Err("the factor must be a number of at least 1".to_owned()),
    }
}

impl Search {
    fn boosts(&self) -> Boosts {
        let mut boosts = Boosts::default();
        for (field, factor) in &self.boosts {
            match field {
                BoostedField::Title => boosts.title = *factor,
                BoostedField::Url => boosts.url = *factor,
            }
        }
        boosts
    }

    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let options = SearchOptions::default()
            .with_k(self.k)
            .with_offset(self.offset)
            .with_total(self.total || self.k == 0)
            .with_syntax(if self.plain { Syntax::Plain } else { Syntax::Boolean })
            .with_filter(self.condition.clone())
            .with_highlight(HIGHLIGHT)
            .with_boosts(self.boosts());
        let driver = resources.driver()?;
        let search = tesselle::search(&self.uri, &self.query).with(options);
        let hits = search.opener(self.read.opener(None)?).on(&driver).run()?;
        driver.check_canceled()?;
        if self.json {
            out::print_json(&hits.to_json())?;
        } else {
            out::print_styled(&text(&hits, self.offset))?;
        }
        Ok(Outcome::Fine)
    }
}

fn text(hits: &Hits, offset: usize) -> String {
    let total = hits.total.map(|total| match total {
        1 => "1 document matches\n".to_owned(),
        total => format!("{} match\n", format::counted(total, "document")),
    });
    let total = total.unwrap_or_default();
    if hits.hits.is_empty() {
        let none = if offset == 0 { "no documents match" } else { "no more documents match" };
        return if hits.total.is_some_and(|total| total > 0) { total } else { format!("{none}\n") };
    }
    let (before, after) = if std::io::stdout().is_terminal() { ("\x1b[1m", "\x1b[0m") } else { ("[", "]") };
    let mut text = String::new();
    for (rank, hit) in hits.hits.iter().enumerate() {
        let field = |bytes: &[u8]| out::plain(&String::from_utf8_lossy(bytes)).into_owned();
        let title = field(&hit.fields.title);
        let _ = writeln!(
            text,
            "{:>3}. {:.4}  {}",
            offset + rank + 1,
            hit.score,
            if title.is_empty() { "(no title)" } else { &title }
        );
        let place = format!("{} {}", field(&hit.fields.doc_id), field(&hit.fields.url));
        let _ = writeln!(text, "     {}", place.trim());
        if let Some(shown) = hit.highlight.as_ref().map(|h| h.marked(before, after)).filter(|t| !t.is_empty())
        {
            let _ = writeln!(text, "     {shown}");
        }
    }
    text.push_str(&total);
    if hits.unverified > 0 {
        let _ = writeln!(
            text,
            "{} not checked: they contain the words, but not enough of their text is stored for the phrase",
            format::counted(hits.unverified, "document")
        );
    }
    text
}
