//! The start of a document's body that a search-only segment stores instead of the whole (spec §20).

/// Default number of code points of a snippet.
pub const DEFAULT_SNIPPET_CHARS: usize = 200;

/// Cuts `body` to at most `limit` code points: white space collapsed, whole words, three dots when cut.
///
/// Each byte that is not UTF-8 counts as one U+FFFD.
pub fn snippet(body: &[u8], limit: usize) -> String {
    let limit = if limit == 0 { DEFAULT_SNIPPET_CHARS } else { limit };
    let mut out = String::new();
    let (mut count, mut space) = (0, false);
    for c in lossy_chars(body) {
        if c.is_whitespace() {
            space = true;
            continue;
        }
        if space && !out.is_empty() {
            out.push(' ');
            count += 1;
            if count >= limit {
                break;
            }
        }
        space = false;
        out.push(c);
        count += 1;
        if count >= limit {
            break;
        }
    }
    if count >= limit {
        if let Some(cut) = out.rfind(' ').filter(|&cut| cut > 0) {
            out.truncate(cut);
        }
        out.push_str("...");
    }
    out
}

/// The code points of `text`; every byte that is not part of one is U+FFFD.
fn lossy_chars(text: &[u8]) -> impl Iterator<Item = char> {
    text.utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().len();
        chunk.valid().chars().chain(std::iter::repeat_n('\u{fffd}', invalid))
    })
}

#[cfg(test)]
mod tests {
    use super::snippet;

    #[test]
    fn a_short_body_is_kept_and_spaces_collapse() {
        assert_eq!(snippet(b"  a \n b\tc  ", 200), "a b c");
        assert_eq!(snippet(b"", 5), "");
    }

    #[test]
    fn a_body_of_exactly_the_limit_is_cut_and_dotted() {
        assert_eq!(snippet(b"abc de", 6), "abc...");
        assert_eq!(snippet(b"abc de", 7), "abc de");
        assert_eq!(snippet(b"abcdefgh", 3), "abc...");
        assert_eq!(snippet(b"abc defgh", 4), "abc...");
    }

    #[test]
    fn each_bad_byte_counts_as_one_character() {
        assert_eq!(snippet(b"a\xe6\x97b", 9), "a\u{fffd}\u{fffd}b");
    }
}
