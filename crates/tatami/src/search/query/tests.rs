use proptest::prelude::*;

use super::*;

/// A readable form: `(+must should -not)`, parts in query order, exclusions last.
fn show(group: &Group) -> String {
    fn node(node: &Node) -> String {
        match node {
            Node::Term(term) => term.clone(),
            Node::Phrase(Phrase { field: None, words }) => format!("'{}'", words.join(" ")),
            Node::Phrase(Phrase { field: Some(field), words }) => {
                format!("{}:'{}'", field.name(), words.join(" "))
            }
            Node::Pattern(None, pattern) => pattern.to_string(),
            Node::Pattern(Some(field), pattern) => format!("{}:{pattern}", field.name()),
            Node::Group(group) => format!("({})", show(group)),
        }
    }
    let mut parts: Vec<String> = group
        .order
        .iter()
        .map(|part| match *part {
            NodeRef::Must(i) => format!("+{}", node(&group.must[i])),
            NodeRef::Should(i) => node(&group.should[i]),
        })
        .collect();
    parts.extend(group.must_not.iter().map(|n| format!("-{}", node(n))));
    parts.join(" ")
}

fn boolean(text: &str) -> String {
    show(&Query::parse(text, Syntax::Boolean).unwrap().root)
}

#[test]
fn operators_make_groups() {
    assert_eq!(boolean("river stone"), "river stone");
    assert_eq!(boolean("river OR stone"), "river stone");
    assert_eq!(boolean("river AND stone AND NOT sand"), "(+river +stone -sand)");
    assert_eq!(boolean("a b AND c d"), "a (+b +c) d");
    assert_eq!(boolean("+river -sand stone"), "+river stone -sand");
    assert_eq!(boolean("\"Old Bridge\" -\"new one\""), "'old bridge' -'new one'");
    assert_eq!(boolean("a AND (b OR c) d"), "(+a +(b c)) d");
    assert_eq!(boolean("+(a b) -(c AND d)"), "+(a b) -((+c +d))");
    assert_eq!(boolean("\"one\""), "one");
    assert_eq!(boolean("a AND (-b)"), "(+a -b)");
    assert_eq!(boolean("a (NOT b AND NOT c)"), "a -b -c");
}

#[test]
fn a_malformed_query_is_refused_with_its_position() {
    for (text, at, what) in [
        ("an \"old bridge", 4, "quote"),
        ("a (river stone", 3, "never closed"),
        ("river) stone", 6, "never opened"),
        ("river AND", 7, "AND has nothing on its right"),
        ("river OR", 7, "OR has nothing on its right"),
        ("OR river", 1, "OR has nothing on its left"),
        ("(AND river)", 2, "AND has nothing on its left"),
        ("river AND OR stone", 7, "AND has nothing on its right"),
        ("é NOT", 3, "NOT has nothing on its right"),
        ("head:river", 1, "no field 'head'; there are title, url, body"),
        ("title: river", 1, "'title:' needs"),
        ("title:\"old", 7, "quote"),
        ("ri*er", 1, "end of a word"),
        ("old ()", 5, "empty"),
        ("old \"stone bridge\"~2", 5, "takes no ~"),
        ("title:\"stone bridge\"^3", 7, "takes no ~"),
        ("old bridge^2", 5, "no weights"),
        ("* river", 1, "single word"),
        ("river~3", 1, "0 to 2 edits"),
        ("old-rive*", 1, "single word"),
    ] {
        let error = Query::parse(text, Syntax::Boolean).unwrap_err();
        assert_eq!(
            (error.kind(), error.class_name()),
            (tesselle_core::ErrorKind::Invalid, "bad_query"),
            "{text}"
        );
        let message = error.to_string();
        assert!(
            message.contains(&format!("at character {at}: ")) && message.contains(what),
            "{text}: {message}"
        );
    }
}

#[test]
fn fields_prefixes_and_edits_are_read() {
    assert_eq!(boolean("title:river stone"), "title:'river' stone");
    assert_eq!(boolean("+Title:\"Old Bridge\" -url:wiki"), "+title:'old bridge' -url:'wiki'");
    assert_eq!(boolean("title:Old-Bridge"), "title:'old bridge'");
    assert_eq!(boolean("Licens* AND body:riv*"), "(+licens* +body:riv*)");
    assert_eq!(boolean("rivr~ stnoe~2 title:x~0"), "rivr~1 stnoe~2 title:x~0");
    // Addresses, times, paths and remarks are words.
    assert_eq!(
        boolean("http://a.b at 12:30 std::vec c:\\x note: 5 ~"),
        "http a b at 12 30 std vec c x note 5"
    );
}

#[test]
fn signs_inside_words_and_empty_parts_are_no_operators() {
    assert_eq!(boolean("river \"\" !!! + -"), "river");
    assert_eq!(boolean("and or not"), "and or not");
    assert_eq!(boolean("winter-light x+y"), "winter light x y");
    assert_eq!(boolean("river -winter-light"), "river -(+winter +light)");
}

#[test]
fn a_query_of_exclusions_is_refused() {
    assert!(Query::parse("-sand", Syntax::Boolean).is_err());
    assert_eq!(boolean("") + &boolean("!!!"), "");
    for empty in ["+", "-", "\"\"", "()", "\"\" !!! + -", "title:\"\""] {
        let error = Query::parse(empty, Syntax::Boolean).map(|_| empty).unwrap_err();
        assert_eq!(error.kind().exit_code(), 2, "{empty}: {error}");
        assert!(Query::parse(empty, Syntax::Plain).is_ok(), "{empty}");
    }
    assert_eq!(Query::parse("-sand", Syntax::Plain).unwrap().tokens(), ["sand"]);
    assert!(Query::parse(&"(".repeat(10_000), Syntax::Boolean).is_err());
}

#[test]
fn tokens_keep_their_order_and_duplicates() {
    let query = Query::parse("b +a \"c d\" (b e) -x", Syntax::Boolean).unwrap();
    assert_eq!(query.tokens(), ["b", "a", "c", "d", "b", "e"]);
    assert!(query.has_phrase() && !query.is_disjunction());
}

proptest! {
    #[test]
    fn text_without_operators_means_the_same_in_both(text in "[a-zA-Zé0-9 .,_'\u{2019};?/]{0,60}") {
        prop_assume!(!text.split_whitespace().any(|w| ["AND", "OR", "NOT"].contains(&w)));
        let plain = Query::parse(&text, Syntax::Plain).unwrap();
        prop_assert_eq!(Query::parse(&text, Syntax::Boolean).unwrap(), plain);
    }

    #[test]
    fn any_text_parses_or_is_refused(text in "[a-c +()\"*~:-]{0,80}|(AND |OR |NOT |a |\\(|\\)|\"|title:|b\\*|c~2){0,40}") {
        let _ = Query::parse(&text, Syntax::Boolean);
    }
}
