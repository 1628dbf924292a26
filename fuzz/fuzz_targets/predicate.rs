//! Any string, taken for a condition; what parses prints as something that parses to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tesselle_core::Predicate;

fuzz_target!(|text: &str| {
    if let Ok(predicate) = text.parse::<Predicate>() {
        let again: Predicate = predicate.to_string().parse().expect("what is printed parses");
        assert_eq!(again.to_string(), predicate.to_string());
    }
});
