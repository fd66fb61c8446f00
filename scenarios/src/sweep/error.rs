//! Why a sweep cannot be planned, run or put together.

use std::path::PathBuf;

use crate::language::{LanguageError, Place};
use crate::run::WriteError;

/// Why a sweep cannot go on. A single point that fails is no such error: it is a row.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The scenario cannot be read, or a parameter's path or value is wrong.
    #[error("{0}")]
    Language(LanguageError),
    /// What the sweep asks for makes no sense.
    #[error("{0}")]
    Spec(String),
    /// A folder or file cannot be used.
    #[error("{}: {why}", .path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// A file cannot be written.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// The worker threads cannot be started.
    #[error("{0}")]
    Threads(String),
}

impl From<LanguageError> for SweepError {
    fn from(error: LanguageError) -> Self {
        Self::Language(error)
    }
}

impl SweepError {
    /// A folder or file that cannot be used.
    pub(super) fn folder(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Self::Folder { path: path.into(), why: why.into() }
    }

    /// An error of the parameter `path`.
    pub(super) fn parameter(path: &str, why: impl std::fmt::Display) -> Self {
        Self::Spec(format!("sweep parameter {path}: {why}"))
    }

    /// A mistake in a value that a sweep, not the user's `--set`, put in.
    pub(super) fn point(error: LanguageError, swept: &[String]) -> Self {
        match &error.place {
            Place::Set(text) if swept.contains(text) => {
                let at = if error.path.is_empty() { String::new() } else { format!("{}: ", error.path) };
                Self::Spec(format!("sweep parameter {text}: {at}{}", error.text))
            }
            _ => Self::Language(error),
        }
    }
}
