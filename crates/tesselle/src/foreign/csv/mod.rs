//! CSV with a header line. A field without anything in it is null; one of quotes alone is the empty text, unless it is
//! the only field of its line.

mod empty;
mod infer;
mod read;
mod write;

pub(crate) use read::CsvText;
pub(super) use write::sink;
