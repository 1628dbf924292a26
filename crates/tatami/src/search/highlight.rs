//! The excerpt of a text that best shows the matches.

use std::collections::HashMap;
use std::ops::Range;

use super::analyzer;

/// An excerpt of a text with the positions of the matched words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Highlight {
    /// One line; `…` where the text continues.
    pub text: String,
    /// Byte ranges of `text`, ascending.
    pub marks: Vec<Range<usize>>,
}

impl Highlight {
    /// The text with `before` and `after` around every mark.
    pub fn marked(&self, before: &str, after: &str) -> String {
        let mut out =
            String::with_capacity(self.text.len() + self.marks.len() * (before.len() + after.len()));
        let mut at = 0;
        for mark in &self.marks {
            out.push_str(self.text.get(at..mark.start).unwrap_or_default());
            out.push_str(before);
            out.push_str(self.text.get(mark.clone()).unwrap_or_default());
            out.push_str(after);
            at = mark.end;
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        out
    }
}

/// A token of the text that the query names.
struct Match {
    range: Range<usize>,
    token: usize,
}

/// Cuts about `limit` characters out of `text` where the most distinct `tokens` occur together.
pub fn highlight(text: &[u8], tokens: &[&str], limit: usize) -> Highlight {
    let text = String::from_utf8_lossy(text);
    let mut known: HashMap<&str, usize> = HashMap::new();
    for token in tokens {
        let next = known.len();
        known.entry(token).or_insert(next);
    }
    let mut matches = Vec::new();
    analyzer::tokenize(text.as_bytes(), |token, range| {
        if let Some(&token) = known.get(token) {
            matches.push(Match { range, token });
        }
    });
    let shown = window(&text, &matches, known.len(), limit);
    render(&text, shown, &matches)
}

/// The bytes to show: the run of matches with the most distinct tokens, then the most matches, then the
/// first; extended on both sides to whole words.
fn window(text: &str, matches: &[Match], tokens: usize, limit: usize) -> Range<usize> {
    let mut count = vec![0usize; tokens];
    let (mut distinct, mut from) = (0, 0);
    let mut best = (0, 0, 0..0);
    for (to, last) in matches.iter().enumerate() {
        if let Some(n) = count.get_mut(last.token) {
            *n += 1;
            distinct += usize::from(*n == 1);
        }
        // Bytes approximate characters here: the window is slightly shorter in other scripts.
        while from < to && last.range.end - matches[from].range.start > limit {
            if let Some(n) = count.get_mut(matches[from].token) {
                *n -= 1;
                distinct -= usize::from(*n == 0);
            }
            from += 1;
        }
        if (distinct, to + 1 - from) > (best.0, best.1) {
            best = (distinct, to + 1 - from, matches[from].range.start..last.range.end);
        }
    }
    widen(text, best.2, limit)
}

/// Adds characters on both sides, more after than before, without cutting words.
fn widen(text: &str, core: Range<usize>, limit: usize) -> Range<usize> {
    let mut room = limit.saturating_sub(text.get(core.clone()).map_or(0, |s| s.chars().count()));
    let before = text.get(..core.start).unwrap_or_default();
    let lead = room / 3;
    let mut start = before.char_indices().rev().take(lead).last().map_or(core.start, |(i, _)| i);
    room -= text.get(start..core.start).map_or(0, |s| s.chars().count()).min(room);
    let after = text.get(core.end..).unwrap_or_default();
    let mut end = core.end + after.char_indices().nth(room).map_or(after.len(), |(i, _)| i);
    if start > 0 {
        // The first word may be cut: skip to the next one, but never past the core.
        let cut = text.get(start..core.start).and_then(|s| s.find(char::is_whitespace));
        start = cut.map_or(if core.is_empty() { start } else { core.start }, |i| start + i);
    }
    if end < text.len() {
        let cut = text.get(core.end..end).and_then(|s| s.rfind(char::is_whitespace));
        end = cut.map_or(if core.is_empty() { end } else { core.end }, |i| core.end + i);
    }
    start..end
}

/// Copies the window on one line with collapsed white space, and adjusts the marks.
fn render(text: &str, shown: Range<usize>, matches: &[Match]) -> Highlight {
    let mut out = Highlight::default();
    if shown.start > 0 {
        out.text.push('…');
    }
    let mut inside =
        matches.iter().filter(|m| m.range.start >= shown.start && m.range.end <= shown.end).peekable();
    let mut space = false;
    for (i, c) in text.get(shown.clone()).unwrap_or_default().char_indices() {
        let at = shown.start + i;
        if c.is_whitespace() || c.is_control() {
            space = true;
            continue;
        }
        if std::mem::take(&mut space) && !out.text.is_empty() {
            out.text.push(' ');
        }
        if inside.peek().is_some_and(|m| m.range.start == at) {
            let start = out.text.len();
            out.marks.push(start..start);
        }
        out.text.push(c);
        if let Some(m) = inside.peek()
            && m.range.start <= at
            && at + c.len_utf8() >= m.range.end
        {
            let end = out.text.len();
            if let Some(mark) = out.marks.last_mut() {
                mark.end = end;
            }
            inside.next();
        }
    }
    if shown.end < text.len() && !text.get(shown.end..).unwrap_or_default().trim().is_empty() {
        out.text.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_body_is_shown_whole() {
        let shown = highlight("The River,\n the  stone".as_bytes(), &["stone", "river"], 100);
        assert_eq!(shown.marked("[", "]"), "The [River], the [stone]");
    }

    #[test]
    fn the_densest_part_is_shown() {
        let filler = "lorem ipsum dolor sit amet ".repeat(20);
        let text = format!("river {filler} the stone bridge over the river {filler}");
        let shown = highlight(text.as_bytes(), &["river", "stone"], 60);
        let marked = shown.marked("<b>", "</b>");
        assert!(marked.contains("<b>stone</b> bridge over the <b>river</b>"), "{marked}");
        assert!(marked.starts_with('…') && marked.ends_with('…'));
        assert!(shown.text.chars().count() <= 64, "{}", shown.text);
    }

    #[test]
    fn a_body_without_a_match_shows_its_beginning() {
        assert_eq!(highlight(b"one two three four", &["zebra"], 9).text, "one two…");
        assert_eq!(highlight(b"", &["zebra"], 9), Highlight::default());
    }

    proptest! {
        #[test]
        fn marks_are_the_query_words(text in "([a-cé日 \n.]{0,9}|river|Stone){0,30}", limit in 1usize..80) {
            let shown = highlight(text.as_bytes(), &["river", "stone"], limit);
            for mark in &shown.marks {
                let word = shown.text[mark.clone()].to_lowercase();
                prop_assert!(word == "river" || word == "stone", "{word}");
            }
        }
    }
}
