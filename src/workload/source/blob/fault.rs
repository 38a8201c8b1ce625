//! Why a blob could not be read, in a person's words: what happened, and what to do. Knows the client's errors, not how they
//! came about.

use std::error::Error as _;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

/// What happened to a blob, without its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(String);

impl Fault {
    pub fn new(complaint: impl Into<String>) -> Self {
        Self(complaint.into())
    }

    /// Of a request that failed for good.
    pub fn of(error: &Error) -> Self {
        let cause = root(error);
        Self(match error {
            Error::NotFound { .. } => format!("it is not there ({cause}); look for a slip in the name"),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => format!(
                "it may not be read ({cause}); for s3 set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
                 AWS_SKIP_SIGNATURE=true for a public bucket"
            ),
            Error::NotSupported { .. } => format!(
                "its body broke off and the server can't send the rest ({cause}); load it again, or fetch it to a file first"
            ),
            _ => format!("{cause}; {}", advice(error, &cause)),
        })
    }
}

/// What a person could do about an error that is none of the store's own kinds.
fn advice(error: &Error, cause: &str) -> &'static str {
    match kind(error) {
        Some(HttpErrorKind::Connect) => "is the host right, and is a server running there?",
        Some(HttpErrorKind::Timeout) => "the server is too slow or hangs; load it again later",
        Some(_) => "load it again later",
        // No more than its words can be had of this error; what is wrong with the request itself (4xx) falls through.
        None if ["code: 5", "code: 429"].iter().any(|trouble| cause.contains(trouble)) => {
            "the server is in trouble; load it again later"
        }
        None if cause.contains("Content-Length") => {
            "the server must tell the length: without it a body cut short could pass for a whole one; fetch it to a file first"
        }
        None => "check the URL, and the AWS_* variables if it is s3",
    }
}

fn kind(error: &Error) -> Option<HttpErrorKind> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return Some(http.kind());
        }
        cause = error.source();
    }
    None
}

/// The innermost cause on one line, cut short: those around it repeat it, with the URL and its secrets.
pub fn root(error: &Error) -> String {
    let mut root: &dyn std::error::Error = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    let told = root.to_string();
    let line = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.trim_end_matches([':', ' ']).chars().take(200).collect();
    if short.len() < line.trim_end_matches([':', ' ']).len() { format!("{short}...") } else { short }
}
