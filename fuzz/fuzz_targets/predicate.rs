//! An arbitrary string as a condition; a parsed condition prints as a string that parses to the same condition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tesselle_core::Predicate;

fuzz_target!(|text: &str| {
    if let Ok(predicate) = text.parse::<Predicate>() {
        let again: Predicate = predicate.to_string().parse().expect("what is printed parses");
        assert_eq!(again.to_string(), predicate.to_string());
    }
});
