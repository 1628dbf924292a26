//! tatami
#![forbid(unsafe_code)]

pub mod search;
