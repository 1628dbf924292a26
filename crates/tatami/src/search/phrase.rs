//! Phrases: adjacent words in a text.

use super::analyzer;

/// Whether the tokens of `text` contain `words` consecutively.
pub(crate) fn contains_phrase(text: &[u8], words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let fallback = fallback(words);
    // The number of words that the latest tokens match.
    let (mut matched, mut found) = (0, false);
    analyzer::tokenize(text, |token, _| {
        if found {
            return;
        }
        while matched > 0 && words.get(matched).is_none_or(|word| word != token) {
            matched = fallback.get(matched - 1).copied().unwrap_or(0);
        }
        if words.get(matched).is_some_and(|word| word == token) {
            matched += 1;
        }
        found = matched == words.len();
    });
    found
}

/// For each prefix of the phrase, the length of its longest proper prefix that it also ends with.
fn fallback(words: &[String]) -> Vec<usize> {
    let mut table = vec![0; words.len()];
    let mut len = 0;
    for i in 1..words.len() {
        while len > 0 && words[i] != words[len] {
            len = table[len - 1];
        }
        if words[i] == words[len] {
            len += 1;
        }
        table[i] = len;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        analyzer::tokens(text.as_bytes())
    }

    #[test]
    fn punctuation_between_words_does_not_matter() {
        assert!(contains_phrase("The Old-Bridge.".as_bytes(), &words("old bridge")));
        assert!(!contains_phrase(b"old stone bridge", &words("old bridge")));
        assert!(!contains_phrase(b"", &words("a b")));
    }

    proptest! {
        #[test]
        fn matches_a_check_of_every_window(text in "([ab] ){0,20}", phrase in "([ab] ){1,5}") {
            let (tokens, phrase) = (words(&text), words(&phrase));
            let naive = tokens.windows(phrase.len()).any(|window| window == phrase);
            prop_assert_eq!(contains_phrase(text.as_bytes(), &phrase), naive);
        }
    }
}
