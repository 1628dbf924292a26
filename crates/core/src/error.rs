//! The error type of every crate above `codec`: kind, message, place, hint, source.
//!
//! Nothing matches on messages. The kind determines the exit code of the command line and the exception class of the
//! Python package; the class is a finer, stable name that scripts may rely on.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use arrow_schema::ArrowError;

use crate::hint::{Action, Hint};

/// Shorthand used throughout.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes contradict the format.
    Corrupt,
    /// The bytes may be valid, but use an unknown feature.
    Unsupported,
    /// The call is invalid: a name, an option, a value that does not fit.
    Invalid,
    /// A table, column or key that does not exist.
    NotFound,
    /// A key is missing or wrong.
    Denied,
    /// The storage failed.
    Io,
    /// A limit or budget was reached.
    Limit,
    /// The caller canceled the work.
    Canceled,
    /// A defect of this library.
    Internal,
}

impl ErrorKind {
    /// The class of an error that sets none.
    fn default_class(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Unsupported => "unsupported",
            Self::Invalid => "invalid_call",
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::Io => "io",
            Self::Limit => "limit",
            Self::Canceled => "canceled",
            Self::Internal => "internal",
        }
    }

    /// The exit code of the command line: 1 the data is bad, 2 the call is wrong, 3 I/O failed.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Corrupt | Self::Unsupported | Self::Denied | Self::Limit | Self::Internal => 1,
            Self::Invalid | Self::NotFound => 2,
            Self::Io | Self::Canceled => 3,
        }
    }
}

/// The class of an error about a file that disappeared after the read was planned.
pub(crate) const VANISHED: &str = "vanished";

/// A failure with its place (file, byte, and the chunk, page or tile) and a hint.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    class: Option<&'static str>,
    message: Cow<'static, str>,
    file: Option<String>,
    offset: Option<u64>,
    piece: Option<String>,
    hint: Option<Hint>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    refused: Vec<String>,
}

impl Error {
    /// An error of the given kind. `message` is lower case, one line, without a final period.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            class: None,
            message: message.into(),
            file: None,
            offset: None,
            piece: None,
            hint: None,
            source: None,
            refused: Vec::new(),
        }))
    }

    /// The bytes contradict the format.
    pub fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Something not known here.
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// The call is wrong.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// A name that does not exist.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A limit was reached.
    pub fn limit(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// A defect of this library.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Storage failed.
    pub fn io(message: impl Into<Cow<'static, str>>, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, message).source(source)
    }

    /// The system refused memory. It failed, not the data: a verification or a repair stops.
    pub fn out_of_memory(message: impl Into<Cow<'static, str>>) -> Self {
        Self::io(message, std::io::ErrorKind::OutOfMemory.into())
            .class("out_of_memory")
            .suggest("lower {}, use fewer threads, or allow the process more memory", [Action::Memory])
    }

    /// A file or folder that does not exist.
    pub fn missing(path: &str) -> Self {
        Self::io(format!("cannot read '{path}'"), no_such_file()).file(path)
    }

    /// The same, with the most similar name in its folder.
    pub fn missing_among(path: &str, names: &[&str]) -> Self {
        let error = Self::missing(path);
        match nearest(path.rsplit('/').next().unwrap_or(path), names) {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error,
        }
    }

    /// A pattern of file names that matches none.
    pub fn no_match(pattern: &str) -> Self {
        Self::io(format!("no file matches '{pattern}'"), no_such_file())
    }

    /// An unknown name, with the most similar known one.
    pub fn unknown_name<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known: Vec<&str> = known.into_iter().collect();
        let error = Self::not_found(format!("{what} '{name}' does not exist"));
        if let Some(near) = nearest(name, &known) {
            return error.hint(format!("did you mean '{near}'?"));
        }
        let total = known.len();
        if total > MOST_NAMES {
            known.sort_by_key(|known| !known.starts_with(name));
            known.truncate(MOST_NAMES);
        }
        match total {
            0 => error.hint("none exist"),
            n if n > known.len() => error.hint(format!("there are {n}, among them {}", known.join(", "))),
            _ => error.hint(format!("there are {}", known.join(", "))),
        }
    }

    /// Sets the finer class, unless already set.
    #[must_use]
    pub fn class(mut self, class: &'static str) -> Self {
        self.0.class.get_or_insert(class);
        self
    }

    /// Sets the file, unless already set: the innermost place wins.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.0.file.get_or_insert_with(|| file.into());
        self
    }

    /// Sets the byte offset in the file, unless already set.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Sets the piece (a chunk, page, tile or field), unless already set. Control characters of its name, which may come
    /// from a damaged file, are escaped: a message is one line.
    #[must_use]
    pub fn piece(mut self, piece: impl Into<String>) -> Self {
        self.0.piece.get_or_insert_with(|| one_line(piece.into()));
        self
    }

    /// Sets the hint, unless already set.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// Sets the hint, unless already set: each `{}` of the sentence is replaced by one of the actions.
    #[must_use]
    pub fn suggest(self, sentence: impl Into<Cow<'static, str>>, actions: impl Into<Vec<Action>>) -> Self {
        self.hint(Hint::new(sentence, actions))
    }

    /// Sets the hint, replacing an existing one.
    #[must_use]
    pub fn replace_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Attaches the cause.
    #[must_use]
    pub fn source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source.get_or_insert_with(|| Arc::from(source.into()));
        self
    }

    /// Records the columns whose types a format does not have.
    #[must_use]
    pub(crate) fn refusing(mut self, columns: Vec<String>) -> Self {
        self.0.refused = columns;
        self
    }

    /// The columns whose types a format does not have, if the error is about such columns.
    pub fn refused_columns(&self) -> &[String] {
        &self.0.refused
    }

    /// Whether the storage reported that a file or folder does not exist.
    pub fn is_missing(&self) -> bool {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let cause = self.0.source.as_deref().and_then(|cause| cause.downcast_ref::<std::io::Error>());
        cause.is_some_and(|cause| matches!(cause.kind(), NotFound | NotADirectory))
    }

    /// Whether a file disappeared after the read was planned: another process removed it. Opened again, the container has a
    /// newer state.
    pub fn is_vanished(&self) -> bool {
        self.0.class == Some(VANISHED)
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The stable name of this failure, e.g. `bad_magic`.
    pub fn class_name(&self) -> &'static str {
        self.0.class.unwrap_or_else(|| self.0.kind.default_class())
    }

    /// The message and place without the hint, for callers that already act on the hint.
    pub fn without_hint(&self) -> String {
        let offset = self.0.offset.map(|o| format!("byte {o}"));
        let message = self.full_message();
        let file = self.0.file.as_deref().filter(|file| !message.contains(&format!("'{file}'")));
        let places = [file, self.0.piece.as_deref(), offset.as_deref()];
        let places: Vec<&str> = places.into_iter().flatten().collect();
        if places.is_empty() { message } else { format!("{message} ({})", places.join(", ")) }
    }

    /// The message without place and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file, if known.
    pub fn file_name(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The byte offset, if known.
    pub fn byte_offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The piece, if known.
    pub fn piece_name(&self) -> Option<&str> {
        self.0.piece.as_deref()
    }

    /// The hint, if there is one.
    pub fn next_step(&self) -> Option<&Hint> {
        self.0.hint.as_ref()
    }

    /// The hint, in terms that fit every front end.
    pub fn hint_text(&self) -> Option<String> {
        self.0.hint.as_ref().map(ToString::to_string)
    }

    /// The error as one line, with the actions of its hint worded by a front end.
    pub fn worded(&self, wording: impl Fn(&Action) -> String) -> String {
        match &self.0.hint {
            Some(hint) => format!("{}; {}", self.without_hint(), hint.word(wording)),
            None => self.without_hint(),
        }
    }

    /// The error as a JSON object, with the actions of its hint worded by a front end.
    pub fn to_json(&self, wording: impl Fn(&Action) -> String) -> serde_json::Value {
        serde_json::json!({ "error": {
            "kind": self.class_name(),
            "message": self.full_message(),
            "file": self.file_name(),
            "offset": self.byte_offset(),
            "piece": self.piece_name(),
            "hint": self.0.hint.as_ref().map(|hint| hint.word(wording)),
        }})
    }

    fn full_message(&self) -> String {
        let mut text = self.0.message.to_string();
        let mut source = self.0.source.as_deref().map(|s| s as &dyn StdError);
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text = format!("{text}: {cause_text}");
            }
            source = cause.source();
        }
        text.replace(['\n', '\r'], " ")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.worded(Action::neutral))
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|s| s as &(dyn StdError + 'static))
    }
}

impl From<tesselle_codec::Error> for Error {
    fn from(error: tesselle_codec::Error) -> Self {
        let kind = match error {
            tesselle_codec::Error::Unsupported { .. } => ErrorKind::Unsupported,
            tesselle_codec::Error::Unencodable { .. } => ErrorKind::Invalid,
            tesselle_codec::Error::OutOfMemory { .. } => return Self::out_of_memory(error.to_string()),
            _ => ErrorKind::Corrupt,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<ArrowError> for Error {
    /// Returns the wrapped error of this library, if there is one. Any other error means that an array was built incorrectly
    /// here, because damage in files is detected earlier.
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(foreign) => Self::internal("building an Arrow array failed")
                    .source(ArrowError::ExternalError(foreign)),
            },
            error => Self::internal("building an Arrow array failed").source(error),
        }
    }
}

impl From<Error> for ArrowError {
    /// Wraps the error; [`Error::from`] unwraps it.
    fn from(error: Error) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

/// Escapes control characters.
fn one_line(name: String) -> String {
    if !name.contains(char::is_control) {
        return name;
    }
    let mut line = String::with_capacity(name.len() + 8);
    for character in name.chars() {
        if character.is_control() {
            line.extend(character.escape_debug());
        } else {
            line.push(character);
        }
    }
    line
}

/// Adds the place to the error of a result.
pub trait Context<T> {
    /// Names the file.
    fn in_file(self, file: &str) -> Result<T>;
    /// Sets the piece; its name is built only on failure.
    fn in_piece<S: Into<String>>(self, piece: impl FnOnce() -> S) -> Result<T>;
    /// Returns the byte offset.
    fn at_offset(self, offset: u64) -> Result<T>;
    /// Returns the class.
    fn of_class(self, class: &'static str) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn in_file(self, file: &str) -> Result<T> {
        self.map_err(|e| e.into().file(file))
    }

    fn in_piece<S: Into<String>>(self, piece: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|e| e.into().piece(piece()))
    }

    fn at_offset(self, offset: u64) -> Result<T> {
        self.map_err(|e| e.into().offset(offset))
    }

    fn of_class(self, class: &'static str) -> Result<T> {
        self.map_err(|e| e.into().class(class))
    }
}

fn no_such_file() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::NotFound, "no such file or directory")
}

/// The most similar of these names, if it is similar.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let near =
        known.iter().filter(|known| !known.is_empty()).map(|known| (distance(name, known), *known)).min()?;
    (near.0 <= 1 + name.len() / 4).then_some(near.1)
}

/// How many names a message lists.
const MOST_NAMES: usize = 32;

/// Edit distance, for suggestions; long names are skipped.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_damaged_file_does_not_break_the_line() {
        let error = Error::corrupt("no").piece("device 'root.设\n\u{1b}[31m'");
        assert_eq!(error.to_string(), "no (device 'root.设\\n\\u{1b}[31m')");
    }

    #[test]
    fn the_message_states_what_where_and_what_next() {
        let error = Error::corrupt("codec 9 is not known")
            .class("unsupported_codec")
            .offset(136)
            .piece("chunk 3")
            .file("a.tet")
            .hint("the file may come from a newer writer");
        assert_eq!(
            error.to_string(),
            "codec 9 is not known (a.tet, chunk 3, byte 136); the file may come from a newer writer"
        );
        assert_eq!(error.to_json(Action::neutral)["error"]["kind"], "unsupported_codec");
        assert_eq!(error.kind().exit_code(), 1);
    }

    #[test]
    fn refused_memory_is_a_failure_of_the_system() {
        let error = Error::from(tesselle_codec::Error::OutOfMemory { what: "zstd data" });
        // A format's own class for what it cannot decode does not apply.
        let error = error.class("bad_zstd");
        assert_eq!((error.kind(), error.class_name()), (ErrorKind::Io, "out_of_memory"));
        let text = "not enough memory for zstd data: out of memory; lower the memory limit, use fewer threads, or allow the \
                    process more memory";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn the_innermost_place_wins() {
        let error = Error::corrupt("x").offset(1).offset(2).file("inner").file("outer");
        assert_eq!((error.byte_offset(), error.file_name()), (Some(1), Some("inner")));
    }

    #[test]
    fn an_error_survives_its_way_through_arrow() {
        let source = std::io::Error::other("the disk is gone");
        let error = Error::io("cannot read", source).class("gone").file("a.tet");
        let back = Error::from(ArrowError::from(error.clone()));
        assert_eq!((back.kind(), back.class_name()), (ErrorKind::Io, "gone"));
        assert_eq!(back.to_string(), error.to_string());
        assert_eq!(Error::from(ArrowError::DivideByZero).kind(), ErrorKind::Internal);
    }

    #[test]
    fn a_near_name_is_suggested() {
        let error = Error::unknown_name("column", "temprature", ["time", "temperature"]);
        assert_eq!(error.to_string(), "column 'temprature' does not exist; did you mean 'temperature'?");
    }
}
