use super::*;

fn split(text: &str) -> Vec<String> {
    tokens(text.as_bytes())
}

#[test]
fn punctuation_and_underscores_separate() {
    assert_eq!(
        split("snake_case it's a.b 1,000.5 x86-64"),
        ["snake", "case", "it", "s", "a", "b", "1", "000", "5", "x86", "64"]
    );
    assert!(split("").is_empty());
    assert!(split("!!! --").is_empty());
}

#[test]
fn lower_casing_is_one_to_one() {
    assert_eq!(split("İSTANBUL"), ["istanbul"]);
    assert_eq!(split("ΣΊΣΥΦΟΣ"), ["σίσυφοσ"]);
    assert_eq!(split("STRAẞE"), ["straße"]);
    assert_eq!(split("ǅungla K Å"), ["ǆungla", "k", "å"]);
}

#[test]
fn marks_and_letter_numbers_separate() {
    assert_eq!(split("nai\u{308}ve"), ["nai", "ve"]);
    assert_eq!(split("Ⅷ ² ½ ① ३४ 日本語"), ["३४", "日本語"]);
}

#[test]
fn bytes_that_are_not_utf8_separate() {
    assert_eq!(tokens(b"bad\xffbyte \xc3"), ["bad", "byte"]);
    assert_eq!(tokens(b"\xe6\x97abc"), ["abc"]);
}

#[test]
fn ranges_refer_to_the_source() {
    let text = "Ça va, \u{fffd}été".as_bytes();
    let mut seen = Vec::new();
    tokenize(text, |token, range| seen.push((token.to_owned(), range)));
    for (token, range) in &seen {
        assert_eq!(String::from_utf8_lossy(&text[range.clone()]).to_lowercase(), *token);
    }
    assert_eq!(seen.len(), 3);
}

#[test]
fn table_matches_its_ranges() {
    let count: u32 = letters::RANGES.iter().map(|(a, b)| b - a + 1).sum();
    assert_eq!(LETTERS.iter().map(|w| w.count_ones()).sum::<u32>(), count);
    for (first, last) in letters::RANGES {
        assert!(first <= last && *last < END);
        for c in [*first, *last] {
            let c = char::from_u32(c).unwrap();
            assert!(is_token_char(c) && (c.is_alphabetic() || c.is_numeric()));
        }
        assert!(char::from_u32(last + 1).is_none_or(|c| !is_token_char(c)));
    }
    assert!(!is_token_char('\u{10ffff}'));
}
