//! What to do about cells outside of the domain.

use tesselle_core::{Action, Hint};

use crate::meta::schema::ArraySchema;

/// The hint for cells outside of the domain of a dimension.
pub(super) fn domain_hint(dimension: &str) -> Hint {
    let domain = Action::setting(format!("domain.{dimension}"), "LOW:HIGH");
    Hint::new("a domain is fixed: copy the array with {} and {}", [Action::Convert, domain])
}

/// The hint for cells outside of what can be written now: the current domain, which can be expanded, or the domain.
pub(super) fn limit_hint(schema: &ArraySchema, dimension: &str) -> Hint {
    if schema.current_domain.is_some() {
        "expand the current domain of the array first".into()
    } else {
        domain_hint(dimension)
    }
}
