//! The agent's errors, each with advice.

use std::fmt::Display;

/// The reason why the agent does not start, or stops.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    message: String,
    advice: String,
}

impl AgentError {
    pub(crate) fn new(message: impl Display, advice: impl Display) -> Self {
        Self {
            message: message.to_string(),
            advice: advice.to_string(),
        }
    }

    /// Returns the error about the setting `key`.
    pub(crate) fn setting(key: &str, problem: impl Display, advice: impl Display) -> Self {
        Self::new(format_args!("{key}: {problem}"), advice)
    }

    /// Returns what to do about it.
    pub fn advice(&self) -> &str {
        &self.advice
    }
}
