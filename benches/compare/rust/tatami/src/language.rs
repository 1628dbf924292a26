//! A made-up language: words of syllables whose frequencies follow Zipf's law, short words being the frequent ones.

use crate::random::Random;

/// Words of the language.
pub const WORDS: usize = 250_000;

const SYLLABLES: [&str; 48] = [
    "a", "ba", "ce", "di", "fo", "gu", "he", "ka", "li", "mo", "nu", "pe", "ra", "si", "to", "vu", "wa", "ze", "an",
    "en", "in", "on", "un", "ar", "er", "or", "al", "el", "is", "os", "sta", "tre", "pla", "gri", "blo", "che", "sho",
    "the", "ver", "man", "ter", "ing", "ion", "ment", "ness", "land", "ster", "port",
];

pub struct Language {
    pub words: Vec<String>,
    /// Sums of the words' frequencies, up to and including each.
    sums: Vec<f64>,
}

impl Language {
    pub fn new() -> Self {
        let mut random = Random::new(11);
        let mut seen = std::collections::HashSet::new();
        let mut words = Vec::with_capacity(WORDS);
        while words.len() < WORDS {
            let syllables = match words.len() {
                0..100 => 1 + random.below(2),
                100..3_000 => 2 + random.below(2),
                _ => 2 + random.below(4),
            };
            let word: String = (0..syllables).map(|_| SYLLABLES[random.below(SYLLABLES.len())]).collect();
            if seen.insert(word.clone()) {
                words.push(word);
            }
        }
        let mut sum = 0.0;
        let frequencies = (0..WORDS).map(|rank| {
            sum += 1.0 / (rank as f64 + 2.7);
            sum
        });
        Self { sums: frequencies.collect(), words }
    }

    /// The rank of a word drawn by its frequency.
    pub fn draw(&self, random: &mut Random) -> usize {
        let at = random.unit() * self.sums[WORDS - 1];
        self.sums.partition_point(|sum| *sum < at).min(WORDS - 1)
    }
}

impl Default for Language {
    fn default() -> Self {
        Self::new()
    }
}
