//! Conversion between Tesselle and DataFusion errors.

use arrow_schema::ArrowError;
use datafusion::common::{Column, DataFusionError, SchemaError};
use tesselle::{Action, Error, ErrorKind};

/// Converts an error into one of DataFusion, which passes it on unchanged.
pub fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Converts an error of DataFusion: to the Tesselle error that it wraps, else to an invalid call or a failure of DataFusion.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub fn ours(error: DataFusionError) -> Error {
    wrapped(&error)
}

fn wrapped(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match (inner.downcast_ref(), inner.downcast_ref()) {
            (Some(own), _) => Error::clone(own),
            (_, Some(inner)) => wrapped(inner),
            _ => foreign(&**inner),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => wrapped(inner),
        DataFusionError::Shared(inner) => wrapped(inner),
        DataFusionError::Collection(all) => {
            all.first().map_or_else(|| Error::internal("the query failed without a reason"), wrapped)
        }
        DataFusionError::SchemaError(inner, _) => schema_error(inner),
        DataFusionError::SQL(inner, _) => not_sql(&one_line(&inner.to_string())),
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

/// The error for text that cannot be parsed.
fn not_sql(text: &str) -> Error {
    let error = Error::invalid(text.replace("sql parser error: ", "this is not SQL: "));
    let Some((_, found)) = text.split_once("found: ") else { return error };
    let (after_copy, at_end) = (text.contains("end of statement or ;"), text.contains("end of statement"));
    match found.split(' ').next().unwrap_or_default().to_ascii_uppercase().as_str() {
        "(" if after_copy || text.contains("Expected: HEADER") => {
            error.hint("settings follow the word OPTIONS: COPY … TO 'new.csv' OPTIONS ('header' 'false')")
        }
        "FROM" if after_copy => {
            error.hint("COPY writes files; a file is read with FROM: CREATE TABLE t AS SELECT * FROM 'old.csv'")
        }
        "USING" if at_end => error.hint("use WHERE random() < 0.1 for a sample of about a tenth of the rows"),
        "SUMMARIZE" => Error::invalid("SUMMARIZE is not supported")
            .hint("DESCRIBE 'file' lists the columns; select count(x), min(x), max(x) and avg(x) of those of interest"),
        "/" | "\\" => error.hint("quote a file name, as in FROM 'folder/run.tet'"),
        _ => error,
    }
}

/// An error of a library below the engine: of a file, or of an argument such as a pattern.
fn foreign(error: &(dyn std::error::Error + 'static)) -> Error {
    let text = one_line(&error.to_string());
    if error.is::<std::io::Error>() { Error::new(ErrorKind::Io, text) } else { Error::invalid(text) }
}

fn schema_error(error: &SchemaError) -> Error {
    if matches!(error, SchemaError::DuplicateQualifiedField { .. }) {
        return Error::invalid("two tables of the query have the same name")
            .hint("give each an alias: FROM 'a.csv' AS x JOIN 'a.csv' AS y");
    }
    let SchemaError::FieldNotFound { field, valid_fields } = error else {
        return Error::invalid(one_line(&error.to_string()));
    };
    let name = field.name.as_str();
    if let Some(table) = &field.relation
        && let Some(error) = other_table(&table.to_string(), name, valid_fields)
    {
        return error;
    }
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

/// The error for a column whose name exists, but not in a table of this name.
fn other_table(table: &str, name: &str, valid: &[Column]) -> Option<Error> {
    let with_name: Vec<String> = valid
        .iter()
        .filter(|field| field.name == name)
        .filter_map(|field| field.relation.as_ref())
        .map(ToString::to_string)
        .collect();
    if with_name.is_empty() || with_name.iter().any(|known| known == table) {
        return None;
    }
    let aliases: Vec<String> = with_name
        .iter()
        // The name of a file cannot precede a column.
        .filter(|known| known.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .map(|known| format!("{known}.{name}"))
        .collect();
    let hint = if aliases.is_empty() {
        format!("write {name}, or name the table: FROM … AS {table}")
    } else {
        format!("use {}", aliases.join(" or "))
    };
    Some(Error::not_found(format!("table '{table}' of column '{table}.{name}' is not in FROM")).hint(hint))
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
        return read_only(text);
    }
    let text = one_line(text);
    let known = unknown_function(&text)
        .or_else(|| wrong_arguments(&text))
        .or_else(|| wrong_types(&text))
        .or_else(|| unknown_setting(&text))
        .or_else(|| unknown_format(&text))
        .or_else(|| not_dropped(&text))
        .or_else(|| unplanned(&text))
        .or_else(|| same_name(&text))
        .or_else(|| uneven_values(&text))
        .or_else(|| not_grouped(&text));
    known.unwrap_or_else(|| Error::invalid(without_dump(&text)))
}

/// The error for a statement that would change a file, and what does it.
fn read_only(text: &str) -> Error {
    let error = Error::invalid("INSERT, UPDATE and DELETE do not change files");
    let upper = text.to_ascii_uppercase();
    if upper.contains("INSERT") {
        error.suggest(
            "add rows with {}, or write all rows into a new file: COPY (SELECT … UNION ALL SELECT …) TO 'new'",
            [Action::Append],
        )
    } else if upper.contains("UPDATE") {
        error.hint(
            "write the rows with their changes into a new file: COPY (SELECT * REPLACE (… AS c) FROM …) TO 'new'",
        )
    } else {
        error.suggest(
            "delete rows with {}, or write the rows that are to stay into a new file: COPY (SELECT … WHERE NOT (…)) TO 'new'",
            [Action::Delete],
        )
    }
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

/// The error for a function of arguments of other types: the engine lists what each of its forms takes.
fn wrong_types(text: &str) -> Option<Error> {
    let (name, rest) = text.strip_prefix("Function '")?.split_once("' failed to match any signature")?;
    let received = rest.split_once("(DataType: ")?.1;
    let received = received.split_once(").").map_or(received, |(received, _)| received);
    Some(
        Error::invalid(format!("function '{name}' does not take a value of type {received}"))
            .hint("convert the argument with CAST"),
    )
}

/// The error for a setting that does not exist.
fn unknown_setting(text: &str) -> Option<Error> {
    let name = text
        .strip_prefix("Config value \"")
        .and_then(|rest| rest.split_once("\" not found on "))
        .map(|(name, _)| name)
        .or_else(|| text.strip_prefix("could not find config namespace for key \"")?.strip_suffix('"'))
        .or_else(|| {
            Some(text.strip_prefix('\'')?.split_once("' is not a variable which can be viewed")?.0)
        })?;
    Some(Error::not_found(format!("setting '{name}' does not exist")).hint("SHOW ALL lists those that do"))
}

/// The error for a table of a format that does not exist.
fn unknown_format(text: &str) -> Option<Error> {
    let name = text.strip_prefix("Unable to find factory for ")?;
    let known: Vec<String> = tesselle::formats().iter().map(|f| f.name().to_ascii_uppercase()).collect();
    Some(Error::unknown_name("format", name, known.iter().map(String::as_str)))
}

/// The error for a table that cannot be dropped, because the session has none of this name.
fn not_dropped(text: &str) -> Option<Error> {
    let name = text.strip_prefix("Table '")?.strip_suffix("' doesn't exist.")?;
    let error = Error::not_found(format!("table '{name}' does not exist"));
    Some(error.hint("DROP TABLE removes tables of the session; it deletes no files"))
}

/// The error for two columns of a result with one name.
fn same_name(text: &str) -> Option<Error> {
    let rest = text.strip_prefix("Projections require unique expression names but the expression \"")?;
    let (one, rest) = rest.split_once("\" at position ")?;
    let (_, rest) = rest.split_once(" and \"")?;
    let (other, _) = rest.split_once("\" at position ")?;
    Some(
        Error::invalid(format!("two columns of the result have the same name: {one} and {other}"))
            .hint("rename one of them with AS"),
    )
}

/// The error for a row of VALUES with more or fewer values than others, or than the columns that an INSERT fills.
fn uneven_values(text: &str) -> Option<Error> {
    let rest = text.strip_prefix("Inconsistent data length across values list: got ")?;
    let (given, rest) = rest.split_once(" values in row ")?;
    let (row, wanted) = rest.split_once(" but expected ")?;
    let row = row.parse::<u64>().ok()?.checked_add(1)?;
    let values = |n: &str| if n == "1" { "1 value".to_owned() } else { format!("{n} values") };
    let (given, wanted) = (values(given), wanted.trim_end());
    Some(Error::invalid(format!("row {row} of VALUES has {given}, expected {wanted}")))
}

/// The error for an expression that the engine reads, and has no plan for.
fn unplanned(text: &str) -> Option<Error> {
    let expression = text.strip_prefix("Physical plan does not support logical expression ")?;
    let name = expression.split(['(', '{', ' ']).next().unwrap_or(expression);
    Some(match name {
        "OuterReferenceColumn" | "ScalarSubquery" | "InSubquery" | "Exists" => Error::invalid(
            "a subquery at this place, or one that uses columns of the query around it, is not supported",
        )
        .hint("write it as a join, or as a common table expression (WITH)"),
        other => Error::invalid(format!("{other} is not supported at this place")),
    })
}

/// The error for a column next to aggregates.
fn not_grouped(text: &str) -> Option<Error> {
    let (before, _) = text.split_once("\" must appear in the GROUP BY clause")?;
    let (_, column) = before.rsplit_once('"')?;
    let column = column.rsplit('.').next().unwrap_or(column);
    Some(
        Error::invalid(format!("column '{column}' is neither in GROUP BY nor in an aggregate function"))
            .hint(format!("add it to GROUP BY, or use first_value({column})")),
    )
}

/// Functions of other dialects, by the start of their names, and what does the same here.
const ELSEWHERE: [(&str, &str); 20] = [
    ("row_number", "row_number() OVER (ORDER BY …)"),
    ("arg_max", "first_value(x ORDER BY y DESC)"),
    ("max_by", "first_value(x ORDER BY y DESC)"),
    ("arg_min", "first_value(x ORDER BY y)"),
    ("min_by", "first_value(x ORDER BY y)"),
    ("mode", "GROUP BY x ORDER BY count(*) DESC LIMIT 1"),
    ("hex", "to_hex"),
    ("aver", "avg"),
    ("time_bucket_gapfill", "date_bin, and a join with the times that should be there (see the SQL guide)"),
    ("time_bucket", "date_bin"),
    ("group_concat", "string_agg"),
    ("listagg", "string_agg"),
    ("len", "length"),
    ("percentile", "approx_percentile_cont, or median"),
    ("quantile", "approx_percentile_cont, or median"),
    ("datediff", "the difference of two dates: a - b"),
    ("strftime", "to_char"),
    ("date_format", "to_char"),
    ("first", "first_value(x ORDER BY time)"),
    ("last", "last_value(x ORDER BY time)"),
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
    use datafusion::common::TableReference;

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
        let shown = wrapped(&DataFusionError::NotImplemented(dump.to_owned())).to_string();
        assert_eq!(shown, "Unsupported ast node Pivot: this part of the statement is not supported");
        let plain = DataFusionError::Plan("LIMIT (1) is wrong {here}".to_owned());
        assert_eq!(wrapped(&plain).to_string(), "LIMIT (1) is wrong {here}");
    }

    #[test]
    fn unknown_functions_come_with_a_suggestion_that_is_near() {
        let shown = |text: &str| wrapped(&DataFusionError::Plan(text.to_owned())).hint_text();
        let hint = |text: &str| shown(text).unwrap_or_default();
        assert_eq!(hint("Invalid function 'averag'.\nDid you mean 'overlay'?"), "use avg");
        assert_eq!(hint("Invalid function 'roudn'.\nDid you mean 'round'?"), "did you mean 'round'?");
        assert_eq!(
            hint("Invalid function 'frobnicate'.\nDid you mean 'rtrim'?"),
            "SHOW FUNCTIONS lists those that do"
        );
    }

    #[test]
    fn clauses_of_other_dialects_come_with_what_is_written_here() {
        let hint = |found: &str| {
            not_sql(&format!("sql parser error: Expected: {found} at Line: 1, Column: 9")).hint_text()
        };
        assert!(hint("end of statement or ;, found: (").unwrap().contains("OPTIONS ('header' 'false')"));
        assert!(hint("HEADER, found: (").unwrap().contains("OPTIONS"));
        assert!(hint("end of statement or ;, found: from").unwrap().contains("CREATE TABLE t AS SELECT"));
        assert!(hint("end of statement, found: using").unwrap().contains("random()"));
        assert_eq!(hint("end of statement, found: ("), None);
    }

    #[test]
    fn messages_about_types_and_groups_are_short() {
        let shown = |text: &str| wrapped(&DataFusionError::Plan(text.to_owned())).to_string();
        let types = "Function 'sum' failed to match any signature, errors: Error during planning: Function 'sum' requires \
                     Decimal, but received String (DataType: Utf8).,Error during planning: Function 'sum' requires \
                     UInt64, but received String (DataType: Utf8).";
        assert_eq!(
            shown(types),
            "function 'sum' does not take a value of type Utf8; convert the argument with CAST"
        );
        let outer = "Physical plan does not support logical expression OuterReferenceColumn(Field { name: \"a\", data_type: \
                     Int64, nullable: true }, Column { relation: Some(Bare { table: \"m\" }), name: \"a\" })";
        assert!(shown(outer).starts_with("a subquery at this place") && !shown(outer).contains("Field"));
        for unknown in [
            "Config value \"foo\" not found on ExecutionOptions",
            "could not find config namespace for key \"foo\"",
            "'foo' is not a variable which can be viewed with 'SHOW'",
        ] {
            assert_eq!(shown(unknown), "setting 'foo' does not exist; SHOW ALL lists those that do");
        }
        let groups = "Column in SELECT must be in GROUP BY or an aggregate function: While expanding wildcard, column \
                      \"meta.csv.a\" must appear in the GROUP BY clause or must be part of an aggregate function, \
                      currently only \"meta.csv.b\" appears in the SELECT clause satisfies this requirement";
        assert_eq!(
            shown(groups),
            "column 'a' is neither in GROUP BY nor in an aggregate function; add it to GROUP BY, or use first_value(a)"
        );
    }

    #[test]
    fn a_column_of_a_table_that_is_not_there_is_named_with_those_that_are() {
        let shown = |relation: &str| {
            let error = SchemaError::FieldNotFound {
                field: Box::new(Column::new(Some("x"), "a")),
                valid_fields: vec![Column::new(Some(TableReference::bare(relation)), "a")],
            };
            schema_error(&error).to_string()
        };
        assert_eq!(shown("y"), "table 'x' of column 'x.a' is not in FROM; use y.a");
        assert_eq!(
            shown("meta.csv"),
            "table 'x' of column 'x.a' is not in FROM; write a, or name the table: FROM … AS x"
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
