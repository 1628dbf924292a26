//! Conversion between Tesselle and DataFusion errors.

use arrow_schema::ArrowError;
use datafusion::common::{DataFusionError, SchemaError};
use tesselle::{Action, Error, ErrorKind};

/// Converts an error into one of DataFusion, which passes it on unchanged.
pub fn to_datafusion(error: Error) -> DataFusionError {
    external(error)
}

/// Converts an error of DataFusion; returns the Tesselle error that it wraps, if it does.
pub fn from_datafusion(error: DataFusionError) -> Error {
    ours(error)
}

/// Wraps a Tesselle error for DataFusion.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Converts a DataFusion error: to the Tesselle error it wraps, else to an invalid call or a failure of DataFusion.
pub(crate) fn ours(error: DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(other) => match other.downcast::<DataFusionError>() {
                Ok(error) => ours(*error),
                Err(other) => foreign(&*other),
            },
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => ours(*inner),
        DataFusionError::Shared(inner) => match std::sync::Arc::try_unwrap(inner) {
            Ok(error) => ours(error),
            Err(shared) => copied(&shared),
        },
        DataFusionError::Collection(all) => {
            let first = all.into_iter().next();
            first.map_or_else(|| Error::internal("the query failed without a reason"), ours)
        }
        other => copied(&other),
    }
}

/// An error shared by several partitions cannot be moved out; its message is kept.
fn copied(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(error) => copied_ours(error),
            None => foreign(&**inner),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => copied(inner),
        DataFusionError::Shared(inner) => copied(inner),
        DataFusionError::SchemaError(inner, _) => schema_error(inner),
        DataFusionError::SQL(inner, _) => {
            Error::invalid(one_line(&inner.to_string()).replace("sql parser error: ", "this is not SQL: "))
        }
        DataFusionError::ObjectStore(inner) => Error::new(ErrorKind::Io, one_line(&inner.to_string())),
        DataFusionError::IoError(inner) => Error::new(ErrorKind::Io, one_line(&inner.to_string())),
        DataFusionError::ResourcesExhausted(text) => Error::limit(exhausted(&one_line(text)))
            .suggest("raise {}, or query less data at a time", [Action::Memory]),
        DataFusionError::Internal(_) | DataFusionError::ExecutionJoin(_) => {
            let text = one_line(&error.strip_backtrace());
            wrong_arguments(&text).unwrap_or_else(|| Error::internal(text))
        }
        DataFusionError::ArrowError(inner, _) => match &**inner {
            ArrowError::ExternalError(inner) => foreign(&**inner),
            inner => Error::invalid(one_line(&inner.to_string())),
        },
        DataFusionError::Plan(text)
        | DataFusionError::Execution(text)
        | DataFusionError::Configuration(text)
        | DataFusionError::NotImplemented(text) => refused(text),
        other => Error::invalid(one_line(&other.strip_backtrace())),
    }
}

/// An error of a library below the engine: of a file, or of an argument such as a pattern.
fn foreign(error: &(dyn std::error::Error + 'static)) -> Error {
    let text = one_line(&error.to_string());
    if error.is::<std::io::Error>() { Error::new(ErrorKind::Io, text) } else { Error::invalid(text) }
}

fn copied_ours(error: &Error) -> Error {
    let mut copy = Error::new(error.kind(), error.message().to_owned()).class(error.class_name());
    if let Some(file) = error.file_name() {
        copy = copy.file(file);
    }
    if let Some(offset) = error.byte_offset() {
        copy = copy.offset(offset);
    }
    if let Some(piece) = error.piece_name() {
        copy = copy.piece(piece);
    }
    if let Some(hint) = error.next_step() {
        copy = copy.hint(hint.clone());
    }
    copy
}

fn schema_error(error: &SchemaError) -> Error {
    let SchemaError::FieldNotFound { field, valid_fields } = error else {
        return Error::invalid(one_line(&error.to_string()));
    };
    let name = field.name.as_str();
    // Of several inputs with the same columns each column is listed once.
    let mut known: Vec<&str> = Vec::with_capacity(valid_fields.len());
    for field in valid_fields {
        if !known.contains(&field.name.as_str()) {
            known.push(&field.name);
        }
    }
    // Unquoted names are converted to lower case.
    match known.iter().find(|known| **known != name && known.eq_ignore_ascii_case(name)) {
        Some(other) => Error::not_found(format!("column '{name}' does not exist")).hint(format!(
            "write \"{other}\" with double quotes: unquoted names are converted to lower case"
        )),
        None => Error::unknown_name("column", name, known),
    }
}

/// Who ran out of memory, without the state of the pool.
fn exhausted(text: &str) -> String {
    let who = text.split(" for ").nth(1).and_then(|rest| rest.split([' ', '[', '#', '(']).next());
    match who.filter(|who| who.starts_with(|c: char| c.is_ascii_uppercase())) {
        Some(who) => format!("the query needs more memory than it may use: {who} cannot continue"),
        None => format!("the query needs more memory than it may use: {text}"),
    }
}

/// A statement that DataFusion does not carry out, in words about the statement.
fn refused(text: &str) -> Error {
    const READ_ONLY: [&str; 3] = [
        "not supported for Base table",
        "Insert into not implemented for this table",
        "UPDATE not supported",
    ];
    if READ_ONLY.iter().any(|known| text.contains(known)) {
        return Error::invalid("INSERT, UPDATE and DELETE do not change files")
            .hint("write the rows that are to stay into a new file: COPY (SELECT … WHERE NOT (…)) TO 'new'");
    }
    let text = one_line(text);
    let known = unknown_function(&text).or_else(|| wrong_arguments(&text));
    known.unwrap_or_else(|| Error::invalid(without_dump(&text)))
}

/// The error for a function that does not take its arguments: the engine lists every form that it has tried.
fn wrong_arguments(text: &str) -> Option<Error> {
    let quoted = |before: &str| text.split_once(before)?.1.split_once('\'').map(|(quoted, _)| quoted);
    let call = quoted("No function matches the given name and argument types '")?;
    Some(
        Error::invalid(format!("no function matches {call}"))
            .hint("convert the arguments with CAST, or see SHOW FUNCTIONS"),
    )
}

/// Functions of other dialects, by the start of their names, and what does the same here.
const ELSEWHERE: [(&str, &str); 10] = [
    ("row_number", "row_number() OVER (ORDER BY …)"),
    ("aver", "avg"),
    ("time_bucket_gapfill", "date_bin, and a join with the times that should be there (see the SQL guide)"),
    ("time_bucket", "date_bin"),
    ("group_concat", "string_agg"),
    ("listagg", "string_agg"),
    ("len", "length"),
    ("percentile", "approx_percentile_cont, or median"),
    ("quantile", "approx_percentile_cont, or median"),
    ("datediff", "the difference of two dates: a - b"),
];

/// The error for a function that does not exist. The engine suggests one in any case, be it as far off as can be.
fn unknown_function(text: &str) -> Option<Error> {
    let (name, rest) = text.strip_prefix("Invalid function '")?.split_once('\'')?;
    let near = rest.split_once("Did you mean '").and_then(|(_, near)| near.split('\'').next());
    if let Some((_, here)) = ELSEWHERE.iter().find(|(start, _)| name.starts_with(start)) {
        return Some(
            Error::not_found(format!("function '{name}' does not exist")).hint(format!("use {here}")),
        );
    }
    let error = Error::unknown_name("function", name, near);
    let is_near = error.hint_text().is_some_and(|hint| hint.starts_with("did you mean"));
    Some(if is_near {
        error
    } else {
        Error::not_found(format!("function '{name}' does not exist"))
            .hint("SHOW FUNCTIONS lists those that do")
    })
}

/// A message that ends in the inner form of a statement, without that end.
fn without_dump(text: &str) -> String {
    let is_dump =
        ["quote_style: ", "Span(", "ValueWithSpan", "AttachedToken"].iter().any(|mark| text.contains(mark));
    let end = text.find(['{', '(']).filter(|_| is_dump);
    match end.and_then(|end| text.get(..end)) {
        Some(start) => {
            let start = start.trim_end_matches([' ', ':']);
            format!("{start}: this part of the statement is not supported")
        }
        None => text.to_owned(),
    }
}

/// The message in one line, without the request to report a bug.
fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.find(". This issue was likely caused by a bug").unwrap_or(text.len());
    text[..end].replace("Internal error: ", "")
}

#[cfg(test)]
mod tests {
    use datafusion::common::Column;

    use super::*;

    #[test]
    fn our_errors_come_back_whole() {
        let error = Error::corrupt("bad page").class("page_checksum").file("a.tatami").offset(7).hint("look");
        let wrapped = external(error).context("while scanning");
        let shared = DataFusionError::Shared(std::sync::Arc::new(wrapped));
        let DataFusionError::Shared(twin) = &shared else { unreachable!() };
        let _held = std::sync::Arc::clone(twin);
        let back = ours(shared);
        assert_eq!((back.kind(), back.class_name()), (ErrorKind::Corrupt, "page_checksum"));
        assert_eq!((back.file_name(), back.byte_offset()), (Some("a.tatami"), Some(7)));
        assert_eq!(back.hint_text().as_deref(), Some("look"));
    }

    #[test]
    fn messages_do_not_show_the_inner_form_of_a_statement() {
        let dump = "Unsupported ast node Pivot { table: Table { name: ObjectName([Identifier(Ident { value: \"t\", \
                    quote_style: None })]) } } in create_relation";
        let shown = copied(&DataFusionError::NotImplemented(dump.to_owned())).to_string();
        assert_eq!(shown, "Unsupported ast node Pivot: this part of the statement is not supported");
        let plain = DataFusionError::Plan("LIMIT (1) is wrong {here}".to_owned());
        assert_eq!(copied(&plain).to_string(), "LIMIT (1) is wrong {here}");
    }

    #[test]
    fn unknown_functions_come_with_a_suggestion_that_is_near() {
        let shown = |text: &str| copied(&DataFusionError::Plan(text.to_owned())).hint_text();
        let hint = |text: &str| shown(text).unwrap_or_default();
        assert_eq!(hint("Invalid function 'averag'.\nDid you mean 'overlay'?"), "use avg");
        assert_eq!(hint("Invalid function 'roudn'.\nDid you mean 'round'?"), "did you mean 'round'?");
        assert_eq!(
            hint("Invalid function 'frobnicate'.\nDid you mean 'rtrim'?"),
            "SHOW FUNCTIONS lists those that do"
        );
    }

    #[test]
    fn unknown_columns_come_with_a_suggestion() {
        let hint = |name: &str| {
            let error = SchemaError::FieldNotFound {
                field: Box::new(Column::from_name(name)),
                valid_fields: vec![Column::from_name("temperature"), Column::from_name("Humidity")],
            };
            schema_error(&error).hint_text().unwrap_or_default()
        };
        assert_eq!(hint("temprature"), "did you mean 'temperature'?");
        assert!(hint("humidity").contains("\"Humidity\""), "{}", hint("humidity"));
    }
}
