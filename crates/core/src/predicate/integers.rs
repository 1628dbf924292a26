//! The types of columns whose values are integers.

/// Matches a data type: `$call!` gets the type of an integer column, and the arms that follow are for the others.
macro_rules! match_integers {
    ($data_type:expr, $call:ident, { $($others:tt)* }) => {
        match $data_type {
            DataType::Int8 => $call!(Int8Type),
            DataType::Int16 => $call!(Int16Type),
            DataType::Int32 => $call!(Int32Type),
            DataType::Int64 => $call!(Int64Type),
            DataType::UInt8 => $call!(UInt8Type),
            DataType::UInt16 => $call!(UInt16Type),
            DataType::UInt32 => $call!(UInt32Type),
            DataType::UInt64 => $call!(UInt64Type),
            DataType::Date32 => $call!(Date32Type),
            DataType::Date64 => $call!(Date64Type),
            DataType::Timestamp(TimeUnit::Second, _) => $call!(TimestampSecondType),
            DataType::Timestamp(TimeUnit::Millisecond, _) => $call!(TimestampMillisecondType),
            DataType::Timestamp(TimeUnit::Microsecond, _) => $call!(TimestampMicrosecondType),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => $call!(TimestampNanosecondType),
            DataType::Time32(TimeUnit::Second) => $call!(Time32SecondType),
            DataType::Time32(TimeUnit::Millisecond) => $call!(Time32MillisecondType),
            DataType::Time64(TimeUnit::Microsecond) => $call!(Time64MicrosecondType),
            DataType::Time64(TimeUnit::Nanosecond) => $call!(Time64NanosecondType),
            DataType::Duration(TimeUnit::Second) => $call!(DurationSecondType),
            DataType::Duration(TimeUnit::Millisecond) => $call!(DurationMillisecondType),
            DataType::Duration(TimeUnit::Microsecond) => $call!(DurationMicrosecondType),
            DataType::Duration(TimeUnit::Nanosecond) => $call!(DurationNanosecondType),
            $($others)*
        }
    };
}
pub(super) use match_integers;
