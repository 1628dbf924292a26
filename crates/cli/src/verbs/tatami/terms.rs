//! `tess tatami terms`: the dictionary of a search segment.

use clap::Args;
use serde_json::{Value, json};
use tesselle::core::json_bytes;
use tesselle::search::Segment;
use tesselle::{Location, OpenOptions, Result};

use crate::format::{self, Align, TextTable};
use crate::{Outcome, out};

/// List the terms of a search segment with the documents that contain them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess tatami terms pages.tatami -n 20
  tess tatami terms pages.tatami --prefix riv --postings 5")]
pub(super) struct Terms {
    /// The segment
    segment: String,

    /// Only terms that start with this
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,

    /// How many terms to list; 0 is all
    #[arg(short, value_name = "N", default_value_t = 100)]
    n: usize,

    /// How many documents of each term to list; 0 is all
    #[arg(long, value_name = "N", default_value_t = 10)]
    postings: usize,
}

impl Terms {
    pub(super) fn run(&self, as_json: bool) -> Result<Outcome> {
        let segment = Segment::open(&Location::local(&self.segment)?, &OpenOptions::default())?;
        let most = |n: usize| if n == 0 { usize::MAX } else { n };
        let (terms, total) = segment.term_list(&self.prefix, most(self.n), most(self.postings))?;
        if as_json {
            let terms: Vec<Value> = terms
                .iter()
                .map(|term| {
                    let postings = term.postings.iter().map(|(doc, freq)| json!([doc, freq]));
                    json!({
                        "term": json_bytes(&term.term), "documents": term.documents,
                        "postings": postings.collect::<Vec<_>>(),
                    })
                })
                .collect();
            out::print_json(&json!({ "terms": terms, "total": total, "docs": segment.docs() }))?;
            return Ok(Outcome::Fine);
        }
        let mut table = TextTable::new(&[
            ("term", Align::Left),
            ("documents", Align::Right),
            ("document:times", Align::Left),
        ]);
        for term in &terms {
            let listed: Vec<String> =
                term.postings.iter().map(|(doc, freq)| format!("{doc}:{freq}")).collect();
            let more = if (term.postings.len() as u64) < u64::from(term.documents) { " …" } else { "" };
            table.row([
                String::from_utf8_lossy(&term.term).into_owned(),
                format::count(term.documents.into()),
                format!("{}{more}", listed.join(" ")),
            ]);
        }
        out::print(&table.render(""))?;
        out::note(&format!("{} of {}", format::count(terms.len() as u64), format::counted(total, "term")));
        Ok(Outcome::Fine)
    }
}
