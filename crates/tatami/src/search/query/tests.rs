use proptest::prelude::*;

use super::*;

/// A readable form: `(+must should -not)`, parts in query order, exclusions last.
fn show(group: &Group) -> String {
    fn node(node: &Node) -> String {
        match node {
            Node::Term(term) => term.clone(),
            Node::Phrase(words) => format!("'{}'", words.join(" ")),
            Node::Group(group) => format!("({})", show(group)),
        }
    }
    let mut parts: Vec<String> = group
        .order
        .iter()
        .map(|part| match *part {
            Part::Must(i) => format!("+{}", node(&group.must[i])),
            Part::Should(i) => node(&group.should[i]),
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
fn incomplete_queries_are_accepted() {
    assert_eq!(boolean("\"old bridge"), "'old bridge'");
    assert_eq!(boolean("(river stone"), "(river stone)");
    assert_eq!(boolean("river) stone"), "river stone");
    assert_eq!(boolean("river AND"), "river and");
    assert_eq!(boolean("OR river"), "or river");
    assert_eq!(boolean("NOT"), "not");
    assert_eq!(boolean("() \"\" !!! + -"), "");
    assert_eq!(boolean("and or not"), "and or not");
    assert_eq!(boolean("winter-light x+y"), "winter light x y");
    assert_eq!(boolean("river -winter-light"), "river -(+winter +light)");
}

#[test]
fn a_query_of_exclusions_is_refused() {
    assert!(Query::parse("-sand", Syntax::Boolean).is_err());
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
    fn queries_without_operators_mean_the_same_in_both_syntaxes(text in "[a-zA-Zé0-9 .,_'\u{2019}:;?/]{0,60}") {
        prop_assume!(!text.split_whitespace().any(|w| ["AND", "OR", "NOT"].contains(&w)));
        prop_assert_eq!(Query::parse(&text, Syntax::Boolean).unwrap(), Query::parse(&text, Syntax::Plain).unwrap());
    }

    #[test]
    fn any_query_parses_or_is_refused(text in "[a-c +()\"-]{0,80}|(AND |OR |NOT |a |\\(|\\)|\"){0,40}") {
        let _ = Query::parse(&text, Syntax::Boolean);
    }
}
