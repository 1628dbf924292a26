//! The result of a search.

use serde_json::{Map, Value, json};
use tesselle_core::json_bytes;

use super::highlight::Highlight;

/// A found document.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The file name of its segment.
    pub segment: String,
    /// Its number in the segment.
    pub doc: u32,
    /// Its score.
    pub score: f32,
    /// Its stored fields.
    pub fields: Fields,
    /// The positions of the query words, if requested.
    pub highlight: Option<Highlight>,
}

/// The stored fields of a document, as bytes: strings are not always UTF-8.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields {
    /// The stable external id.
    pub doc_id: Vec<u8>,
    /// The URL of the document.
    pub url: Vec<u8>,
    /// Its title.
    pub title: Vec<u8>,
    /// The start of its body; empty in segments that store whole bodies.
    pub snippet: Vec<u8>,
    /// Additional columns, after those that every segment has.
    pub extra: Vec<(String, Value)>,
}

impl Hit {
    /// The object of `search --json`.
    pub fn to_json(&self) -> Value {
        let fields = &self.fields;
        let mut object = Map::new();
        for (name, value) in [
            ("doc_id", &fields.doc_id),
            ("url", &fields.url),
            ("title", &fields.title),
            ("snippet", &fields.snippet),
        ] {
            object.insert(name.into(), json_bytes(value));
        }
        object.extend(fields.extra.iter().cloned());
        let mut hit = json!({
            "segment": self.segment, "doc": self.doc, "score": json_score(self.score), "fields": object,
        });
        if let (Some(highlight), Some(object)) = (&self.highlight, hit.as_object_mut()) {
            let marks: Vec<[usize; 2]> = highlight.marks.iter().map(|mark| [mark.start, mark.end]).collect();
            object.insert("highlight".into(), json!({ "text": highlight.text, "marks": marks }));
        }
        hit
    }
}

/// The shortest decimal that parses back to the same 32-bit float.
fn json_score(score: f32) -> Value {
    score.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

/// The result of a query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hits {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Number of documents with all words of a phrase, but without enough stored text to check that they are
    /// adjacent. They are not among the hits.
    pub unverified: u64,
    /// All documents that match, where they were counted.
    pub total: Option<u64>,
    /// Segments that were searched, and how many of them could hold a hit.
    pub segments: SegmentCounts,
}

/// How much of a collection a query touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentCounts {
    /// All segments.
    pub total: usize,
    /// Segments with a word of the query.
    pub candidates: usize,
    /// Segments whose postings were read.
    pub visited: usize,
}

impl Hits {
    /// The object of `search --json`.
    pub fn to_json(&self) -> Value {
        let SegmentCounts { total, candidates, visited } = self.segments;
        let mut object = json!({
            "hits": self.hits.iter().map(Hit::to_json).collect::<Vec<_>>(),
            "unverified": self.unverified,
            "segments": { "total": total, "candidates": candidates, "visited": visited },
        });
        if let (Some(total), Some(object)) = (self.total, object.as_object_mut()) {
            object.insert("total".into(), json!(total));
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_parse_back_to_the_same_float() {
        for bits in (0x3a00_0000u32..0x4280_0000).step_by(9973) {
            let score = f32::from_bits(bits);
            let text = json_score(score).to_string();
            assert_eq!((text.parse::<f64>().unwrap() as f32).to_bits(), bits);
        }
        assert_eq!(json_score(1.351_744_9).to_string(), "1.3517449");
    }
}
