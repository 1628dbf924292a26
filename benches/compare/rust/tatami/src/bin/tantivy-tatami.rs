//! The search jobs, run by tantivy: one field of words and frequencies (no positions), URL and title stored. The index
//! is timed until its commit; it is merged to one segment afterwards, off the clock, which makes its queries faster.

use arrow_array::cast::AsArray;
use compare_harness::{arguments, remove, report_each, size};
use compare_tatami::load;
use compare_tatami::questions::lines;
use tantivy::collector::TopDocs;
use tantivy::indexer::NoMergePolicy;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

fn main() {
    let (job, folder) = arguments();
    let (verb, _) = job.split_once('-').unwrap();
    let path = folder.join("tantivy");
    let mut schema = Schema::builder();
    let words = TextFieldIndexing::default().set_tokenizer("default").set_index_option(IndexRecordOption::WithFreqs);
    let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(words));
    let url = schema.add_text_field("url", STORED);
    let title = schema.add_text_field("title", STORED);
    let schema = schema.build();
    match verb {
        "index" => {
            let batches = load(&folder);
            remove(&path);
            std::fs::create_dir_all(&path).unwrap();
            let start = std::time::Instant::now();
            let index = Index::create_in_dir(&path, schema).unwrap();
            let mut writer: IndexWriter = index.writer_with_num_threads(2, 512 << 20).unwrap();
            writer.set_merge_policy(Box::new(NoMergePolicy));
            for batch in &batches {
                let column = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>();
                let (urls, titles, bodies) = (column("url"), column("title"), column("body"));
                for row in 0..batch.num_rows() {
                    let mut document = TantivyDocument::default();
                    for part in [bodies, titles, urls] {
                        document.add_text(text, part.value(row));
                    }
                    document.add_text(url, urls.value(row));
                    document.add_text(title, titles.value(row));
                    writer.add_document(document).unwrap();
                }
            }
            writer.commit().unwrap();
            let seconds = start.elapsed().as_secs_f64();
            let segments = index.searchable_segment_ids().unwrap();
            writer.merge(&segments).wait().unwrap();
            writer.garbage_collect_files().wait().unwrap();
            writer.wait_merging_threads().unwrap();
            println!("{}", serde_json::json!({ "seconds": [seconds], "answer": 0.0, "bytes": size(&path) }));
        }
        "query1" | "query2" | "query3" => {
            let index = Index::open_in_dir(&path).unwrap();
            let searcher = index.reader().unwrap().searcher();
            assert_eq!(searcher.segment_readers().len(), 1);
            report_each(3, &lines(&folder, &format!("queries-{}.txt", &verb[5..])), |query| {
                let term = |word: &str| -> Box<dyn Query> {
                    Box::new(TermQuery::new(Term::from_field_text(text, word), IndexRecordOption::WithFreqs))
                };
                let words: Vec<&str> = query.split(' ').collect();
                let query = match words[..] {
                    [word] => term(word),
                    _ => Box::new(BooleanQuery::new(words.iter().map(|word| (Occur::Should, term(word))).collect())),
                };
                searcher.search(&query, &TopDocs::with_limit(10).order_by_score()).unwrap().len() as f64
            });
        }
        other => panic!("unknown job {other}"),
    }
}
