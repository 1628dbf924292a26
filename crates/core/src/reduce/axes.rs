//! Axes by name or number.

use crate::array::ArrayView;
use crate::error::{Error, Result};

/// The axes in `words`, each given by its number from 0 or by its name. A name that looks like a number counts as a
/// number.
pub fn resolve_axes<S: AsRef<str>>(array: &dyn ArrayView, words: &[S]) -> Result<Vec<usize>> {
    let names = array.axis_names();
    let rank = array.shape().len();
    words
        .iter()
        .map(|word| {
            let word = word.as_ref().trim();
            if let Ok(number) = word.parse::<usize>() {
                return if number < rank { Ok(number) } else { Err(no_such_axis(number, rank)) };
            }
            let named = names.iter().take(rank).position(|name| name == word);
            named.ok_or_else(|| Error::unknown_name("axis", word, names.iter().map(String::as_str)))
        })
        .collect()
}

pub(super) fn no_such_axis(axis: usize, rank: usize) -> Error {
    Error::not_found(format!("axis {axis} does not exist")).hint(format!("the array has {rank} axes, from 0"))
}
