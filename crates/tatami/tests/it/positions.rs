//! Segments with the positions of words.

use tesselle_core::{
    Depth, Format, OpenOptions, Outcome, RepairRequest, Report, RewriteRequest, Settings, WriteOptions,
};
use tesselle_tatami::Tatami;
use tesselle_tatami::search::{Deletion, IndexOptions, SearchOptions, delete, merge_segments};

use crate::documents::*;

fn options() -> IndexOptions {
    IndexOptions::text(["url", "title", "body"]).with_positions(true)
}

fn docs(place: &Place, name: &str, query: &str) -> Vec<u32> {
    let hits = place.search(name, query, &SearchOptions::default());
    assert_eq!(hits.unverified, 0, "{query}");
    hits.hits.iter().map(|hit| hit.doc).collect()
}

/// Where the footer starts.
fn footer(bytes: &[u8]) -> usize {
    u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize
}

#[test]
fn phrases_are_found_without_the_text() {
    let place = Place::new();
    // Two words of each document are stored.
    let options = options().stored(["url", "title"]).with_snippet_chars(5);
    place.index("a.tatami", &corpus(), &options);
    assert_eq!(docs(&place, "a.tatami", "\"bridge over the river\""), [1]);
    assert_eq!(docs(&place, "a.tatami", "\"the the\""), [2]);
    assert!(docs(&place, "a.tatami", "\"the the the the\"").is_empty());
    assert!(docs(&place, "a.tatami", "\"over bridge\" \"over nothing\"").is_empty());
    assert!(docs(&place, "a.tatami", "\"long river\"").is_empty(), "a phrase stays in its field");
    assert_eq!(docs(&place, "a.tatami", "title:bridge"), [1, 3]);
    assert_eq!(docs(&place, "a.tatami", "title:\"stone bridge\""), [1]);
    assert_eq!(docs(&place, "a.tatami", "body:stones"), [0]);
    assert_eq!(docs(&place, "a.tatami", "url:\"com e\""), [4]);
    assert_eq!(docs(&place, "a.tatami", "+bridge -\"stone bridge\""), [3]);
    place.verify("a.tatami");
}

#[test]
fn a_reader_that_skips_the_section_sees_the_segment_of_old() {
    let place = Place::new();
    place.index("plain.tatami", &corpus(), &options().with_positions(false));
    place.index("with.tatami", &corpus(), &options());
    let (plain, with) = (place.bytes("plain.tatami"), place.bytes("with.tatami"));
    assert_eq!(plain[64..footer(&plain)], with[64..footer(&plain)]);
    // The sections of the footer: one more at its end, nothing else.
    let sections = &plain[footer(&plain)..plain.len() - 12];
    assert!(with[footer(&with)..].starts_with(sections));
}

#[test]
fn deletions_copies_and_rewritten_files_keep_positions() {
    let place = Place::new();
    place.index("a.tatami", &corpus(), &options());
    let location = place.location("a.tatami");
    delete(&location, &location, &Deletion::Docs(vec![3]), false, &driver()).unwrap();
    let settings = WriteOptions::default().with_settings(Settings::default().with("codec", "none"));
    for (name, settings) in [("copy.tatami", WriteOptions::default()), ("none.tatami", settings)] {
        let open = OpenOptions::default();
        Tatami
            .rewrite(RewriteRequest::new(&location, &place.location(name), &open, &settings), &driver())
            .unwrap()
            .unwrap();
        assert_eq!(docs(&place, name, "\"stone bridge\" \"bridge stone\""), [1]);
        place.verify(name);
    }
}

#[test]
fn a_merge_has_positions_if_all_segments_have_them() {
    let place = Place::new();
    place.index("a.tatami", &corpus(), &options());
    place.index("b.tatami", &corpus().slice(1, 2), &options());
    place.index("plain.tatami", &corpus().slice(1, 2), &options().with_positions(false));
    let merge = |names: [&str; 2], to: &str| {
        let inputs = names.map(|name| place.location(name));
        merge_segments(&inputs, &place.location(to), false, &driver()).unwrap()
    };
    assert!(merge(["a.tatami", "b.tatami"], "all.tatami").lost.is_empty());
    assert_eq!(docs(&place, "all.tatami", "\"stone bridge\""), [1, 6]);
    let mixed = merge(["a.tatami", "plain.tatami"], "mixed.tatami");
    assert_eq!(mixed.lost, ["the positions of words, which not all segments have"]);
    assert_eq!(docs(&place, "mixed.tatami", "\"stone bridge\""), [1, 6]);
    place.verify("all.tatami");
    place.verify("mixed.tatami");
}

#[test]
fn damaged_positions_are_found_and_dropped_by_a_repair() {
    let place = Place::new();
    place.index("plain.tatami", &many(300), &IndexOptions::text(["body"]));
    place.index("a.tatami", &many(300), &IndexOptions::text(["body"]).with_positions(true));
    let (start, mut bytes) = (footer(&place.bytes("plain.tatami")), place.bytes("a.tatami"));
    let middle = usize::midpoint(start, footer(&bytes));
    bytes[middle] ^= 4;
    place.put("a.tatami", &bytes);
    let container = Tatami.open(&place.location("a.tatami"), &OpenOptions::default()).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(!report.ok());
    let (from, to) = (place.location("a.tatami"), place.location("repaired.tatami"));
    let repaired = Tatami.repair(RepairRequest::new(&from, &to, &OpenOptions::default()), &driver()).unwrap();
    assert_eq!(repaired.outcome, Outcome::Partial);
    assert!(repaired.notes.iter().any(|note| note.contains("positions")), "{:?}", repaired.notes);
    place.verify("repaired.tatami");
    assert!(!place.search("repaired.tatami", "\"w1 w2\"", &SearchOptions::default()).hits.is_empty());
}
