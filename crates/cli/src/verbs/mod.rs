//! One file per verb.

pub(crate) mod cat;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod info;
pub(crate) mod repair;
pub(crate) mod sketch;
pub(crate) mod verify;
