//! The documents: pages of sites that share a frame, with text about the site's topic, sorted by URL.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use compare_harness::sized;

use crate::language::{Language, WORDS};
use crate::random::Random;

/// How many documents there are.
pub fn count() -> usize {
    sized(200_000, 2_000)
}

const SITES: usize = 2_000;
const BATCH: usize = 8_192;
/// Words that are typical of one site.
const TOPIC: usize = 400;

/// One page.
pub struct Document {
    pub url: String,
    pub host: String,
    pub fetched: i64,
    pub status: i32,
    pub content_type: &'static str,
    pub language: &'static str,
    pub digest: String,
    pub title: String,
    pub body: String,
}

struct Site {
    host: String,
    head: String,
    foot: String,
    topic: Vec<usize>,
    language: &'static str,
}

/// All documents, one site after the other.
pub struct Documents {
    language: Language,
    sites: Vec<Site>,
    /// Site and path of each, in the order of their URLs.
    urls: Vec<(String, usize)>,
}

impl Documents {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let language = Language::new();
        let mut random = Random::new(5);
        let word = |random: &mut Random| language.words[30 + random.below(20_000)].clone();
        let sites: Vec<Site> = (0..SITES)
            .map(|number| {
                let host = format!("www.{}{}{number}.example", word(&mut random), word(&mut random));
                let menu: Vec<String> = (0..12).map(|_| word(&mut random)).collect();
                let head = format!("{host} | {}\n", menu.join(" | "));
                let legal: Vec<String> = (0..25).map(|_| word(&mut random)).collect();
                let foot = format!("(c) {host}. {}. Contact: mail@{host}\n", legal.join(" "));
                let topic = (0..TOPIC).map(|_| 100 + random.below(WORDS - 100)).collect();
                let tongues = ["en", "en", "en", "en", "de", "fr", "es", "ja"];
                Site { host, head, foot, topic, language: tongues[random.below(8)] }
            })
            .collect();
        // A few sites have most of the pages.
        let mut urls: Vec<(String, usize)> = (0..count())
            .map(|number| {
                let site = (random.unit().powi(2) * SITES as f64) as usize;
                let path = format!("{}/{}-{}", word(&mut random), word(&mut random), word(&mut random));
                (format!("https://{}/{path}-{number:06}.html", sites[site].host), site)
            })
            .collect();
        urls.sort_unstable();
        Self { language, sites, urls }
    }

    pub fn get(&self, number: usize) -> Document {
        let (url, site) = &self.urls[number];
        let site = &self.sites[*site];
        let mut random = Random::new(1_000_003 + number as u64);
        let title = self.sentence(site, 3 + number % 7, &mut random, &mut Vec::new());
        let mut body = String::with_capacity(4096);
        body.push_str(&site.head);
        body.push_str(&title);
        body.push('\n');
        let mut own = Vec::new();
        // Most pages are short, some are long.
        let sentences = 3 + (random.unit().powi(2) * 28.0) as usize;
        for sentence in 0..sentences {
            let words = 6 + random.below(18);
            body.push_str(&self.sentence(site, words, &mut random, &mut own));
            body.push_str(if sentence % 6 == 5 { ".\n" } else { ". " });
        }
        body.push('\n');
        body.push_str(&site.foot);
        let digest = format!("{:016x}{:016x}", random.next(), random.next());
        Document {
            url: url.clone(),
            host: site.host.clone(),
            fetched: 1_790_000_000_000_000 + number as i64 * 1_300_000 + random.below(1_000_000) as i64,
            status: [200, 200, 200, 200, 200, 200, 200, 301, 404, 200][random.below(10)] + i32::from(random.below(400) == 0) * 100,
            content_type: ["text/html", "text/html; charset=utf-8", "application/xhtml+xml"][random.below(3)],
            language: site.language,
            digest,
            title,
            body,
        }
    }

    /// Some words: the language's, the topic's, or one that this document has used before.
    fn sentence(&self, site: &Site, words: usize, random: &mut Random, own: &mut Vec<usize>) -> String {
        let mut out = String::with_capacity(words * 8);
        for number in 0..words {
            let rank = match random.below(100) {
                0..12 if !own.is_empty() => own[random.below(own.len())],
                12..30 => site.topic[(random.unit().powi(2) * TOPIC as f64) as usize],
                _ => self.language.draw(random),
            };
            if rank > 200 {
                own.push(rank);
            }
            let word = &self.language.words[rank];
            if number == 0 {
                out.push_str(&word[..1].to_uppercase());
                out.push_str(&word[1..]);
            } else {
                out.push(' ');
                out.push_str(word);
            }
        }
        out
    }

    /// The word of a rank.
    pub fn word(&self, rank: usize) -> &str {
        &self.language.words[rank]
    }
}

/// The columns of a document.
pub fn schema() -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    Arc::new(Schema::new(vec![
        text("url"),
        text("host"),
        Field::new("fetched", DataType::Timestamp(TimeUnit::Microsecond, None), false),
        Field::new("status", DataType::Int32, false),
        text("content_type"),
        text("language"),
        text("digest"),
        Field::new("length", DataType::Int32, false),
        text("title"),
        text("body"),
    ]))
}

/// Writes `documents.arrow`, and `documents.bin` for programs that do not speak Arrow: per document its fields in
/// schema order, strings as `u32` length and bytes, numbers as `i64`, all little-endian. Returns the bytes of all values.
pub fn write(documents: &Documents, folder: &Path) -> u64 {
    let schema = schema();
    let arrow = BufWriter::new(File::create(folder.join("documents.arrow")).unwrap());
    let mut arrow = arrow_ipc::writer::FileWriter::try_new(arrow, &schema).unwrap();
    let mut plain = BufWriter::new(File::create(folder.join("documents.bin")).unwrap());
    let mut total = 0u64;
    for start in (0..count()).step_by(BATCH) {
        let pages: Vec<Document> = (start..count().min(start + BATCH)).map(|n| documents.get(n)).collect();
        for page in &pages {
            total += 16 + write_plain(page, &mut plain);
        }
        let text = |get: fn(&Document) -> &str| Arc::new(StringArray::from_iter_values(pages.iter().map(get))) as ArrayRef;
        let columns: Vec<ArrayRef> = vec![
            text(|p| &p.url),
            text(|p| &p.host),
            Arc::new(TimestampMicrosecondArray::from_iter_values(pages.iter().map(|p| p.fetched))),
            Arc::new(Int32Array::from_iter_values(pages.iter().map(|p| p.status))),
            text(|p| p.content_type),
            text(|p| p.language),
            text(|p| &p.digest),
            Arc::new(Int32Array::from_iter_values(pages.iter().map(|p| p.body.len() as i32))),
            text(|p| &p.title),
            text(|p| &p.body),
        ];
        arrow.write(&RecordBatch::try_new(schema.clone(), columns).unwrap()).unwrap();
    }
    arrow.finish().unwrap();
    plain.flush().unwrap();
    total
}

/// One document of `documents.bin`; returns the bytes of its strings.
fn write_plain(page: &Document, out: &mut impl Write) -> u64 {
    let mut bytes = 0;
    let mut text = |out: &mut dyn Write, value: &str| {
        bytes += value.len() as u64;
        out.write_all(&(value.len() as u32).to_le_bytes()).unwrap();
        out.write_all(value.as_bytes()).unwrap();
    };
    text(out, &page.url);
    text(out, &page.host);
    out.write_all(&page.fetched.to_le_bytes()).unwrap();
    out.write_all(&i64::from(page.status).to_le_bytes()).unwrap();
    text(out, page.content_type);
    text(out, page.language);
    text(out, &page.digest);
    out.write_all(&(page.body.len() as i64).to_le_bytes()).unwrap();
    text(out, &page.title);
    text(out, &page.body);
    bytes
}
