//! What is asked: keys, rows, a site, queries. Written to files, so that every engine asks the same.

use std::path::Path;

use crate::documents::{Documents, count};
use crate::random::Random;

/// Keys and rows that are looked up.
pub const LOOKUPS: usize = 1_000;
/// Queries of each length.
pub const QUERIES: usize = 500;

/// Writes `keys.txt` (URLs), `rows.txt`, `host.txt` and `queries-1.txt` to `queries-3.txt`, an entry per line.
pub fn write(documents: &Documents, folder: &Path) {
    let save = |name: &str, lines: Vec<String>| {
        std::fs::write(folder.join(name), lines.join("\n") + "\n").expect("the folder can be written");
    };
    let mut random = Random::new(77);
    save("keys.txt", (0..LOOKUPS).map(|_| documents.get(random.below(count())).url).collect());
    save("rows.txt", (0..LOOKUPS).map(|_| random.below(count()).to_string()).collect());
    save("host.txt", vec![documents.get(count() / 3).host]);
    for terms in 1..=3 {
        // Ranks between 20 and 20,000, evenly over the orders of magnitude: people ask for middling words.
        let mut word = || documents.word((20.0 * 1000f64.powf(random.unit())) as usize).to_owned();
        let queries = (0..QUERIES).map(|_| (0..terms).map(|_| word()).collect::<Vec<_>>().join(" "));
        save(&format!("queries-{terms}.txt"), queries.collect());
    }
}

/// The lines of one of these files.
pub fn lines(folder: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(name)).expect("the question is there");
    text.lines().map(str::to_owned).collect()
}

/// Row numbers.
pub fn rows(folder: &Path) -> Vec<u64> {
    lines(folder, "rows.txt").iter().map(|line| line.parse().expect("a number")).collect()
}
