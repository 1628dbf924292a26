//! Errors of this crate.

/// Shorthand for results.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, Clone)]
pub struct Error(pub String);

impl Error {
    /// The bytes are damaged.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The bytes use what is not known here.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The call is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}
