//! Failures for people: one block with the problem and what to do about it.

use std::fmt::Display;

use miette::Diagnostic;
use thiserror::Error;

/// A failure of a command.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Failure {
    message: String,
    help: Option<String>,
}

impl Failure {
    /// Returns a failure whose message says by itself what to do.
    pub(crate) fn plain(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            help: None,
        }
    }
}

impl Diagnostic for Failure {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn Display>)
    }
}

/// The result of a command or a part of one.
pub(crate) type Outcome<T> = Result<T, Box<Failure>>;

/// Returns a failure with advice.
pub(crate) fn failure(message: impl Display, help: impl Display) -> Box<Failure> {
    Box::new(Failure {
        message: message.to_string(),
        help: Some(help.to_string()),
    })
}

/// Turns library errors into failures.
pub(crate) trait Explain<T> {
    /// Returns a failure whose error says by itself what to do.
    fn explain(self, doing: impl Display) -> Outcome<T>;
    /// Returns a failure with advice.
    fn advise(self, doing: impl Display, help: impl Display) -> Outcome<T>;
}

impl<T, E: Display> Explain<T> for Result<T, E> {
    fn explain(self, doing: impl Display) -> Outcome<T> {
        self.map_err(|error| Box::new(Failure::plain(format_args!("{doing}: {error}"))))
    }

    fn advise(self, doing: impl Display, help: impl Display) -> Outcome<T> {
        self.map_err(|error| failure(format_args!("{doing}: {error}"), help))
    }
}
