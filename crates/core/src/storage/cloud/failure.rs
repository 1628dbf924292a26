//! Errors of a store, without secrets.

use std::error::Error as StdError;

use object_store::Error as StoreError;

use crate::error::{Error, ErrorKind};

/// Formats errors of one store.
#[derive(Debug)]
pub(super) struct Failures {
    /// Scheme and bucket, without user and query.
    base: String,
    /// Strings that no message may contain.
    secrets: Vec<String>,
}

impl Failures {
    pub(super) fn new(base: String, mut secrets: Vec<String>) -> Self {
        // Short values are not secrets, and removing them would garble messages.
        secrets.retain(|secret| secret.len() >= 6);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { base, secrets }
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// The address of a key.
    pub(super) fn name(&self, path: &str) -> String {
        format!("{}/{}", self.base, path.trim_start_matches('/'))
    }

    /// The error of action `what` on `path`.
    pub(super) fn of(&self, what: &str, path: &str, error: &StoreError) -> Error {
        use std::io::ErrorKind as Io;
        let (io, hint) = match error {
            StoreError::NotFound { .. } => (Io::NotFound, None),
            StoreError::AlreadyExists { .. } => (Io::AlreadyExists, None),
            StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => (
                Io::PermissionDenied,
                Some("check the credentials in the environment or the storage options"),
            ),
            StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => (Io::Unsupported, None),
            _ => (Io::Other, None),
        };
        let reason = match error {
            StoreError::NotFound { .. } => "the object does not exist".to_owned(),
            other => self.reason(other),
        };
        let message = format!("cannot {what} '{}': {reason}", self.name(path));
        let failed = Error::new(ErrorKind::Io, message).source(std::io::Error::from(io));
        match hint {
            Some(hint) => failed.hint(hint),
            None => failed,
        }
    }

    /// The error of connecting.
    pub(super) fn of_setup(&self, error: &StoreError) -> Error {
        Error::invalid(format!("cannot use '{}': {}", self.base, self.reason(error)))
            .hint("check the storage options and environment variables")
    }

    /// The innermost cause in one line. Response bodies can contain keys and signatures, so only their code is kept.
    fn reason(&self, error: &StoreError) -> String {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text = inner.to_string();
            cause = inner.source();
            // Deeper causes of a failed connection are the most informative; those of a response repeat its body.
            if text.contains("status") {
                break;
            }
        }
        self.cleaned(&text)
    }

    fn cleaned(&self, text: &str) -> String {
        let code =
            text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
        let before =
            text.split(['<', '{']).next().unwrap_or_default().trim().trim_end_matches([':', ',', '-', ' ']);
        let words: Vec<String> = before.split_whitespace().map(without_credentials).collect();
        let mut line = words.join(" ");
        if let Some(code) = code {
            line = format!("{line} ({code})");
        }
        for secret in &self.secrets {
            line = line.replace(secret.as_str(), "…");
        }
        line.chars().take(400).collect()
    }
}

/// An address without user, password and query, which may contain signatures.
pub(super) fn without_credentials(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    path.map_or_else(|| format!("{scheme}://{host}"), |path| format!("{scheme}://{host}/{path}"))
}
