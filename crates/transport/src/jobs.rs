//! Jobs over HTTP: questions that a server goes on with when nobody waits for the answer.
//!
//! | request | answer |
//! |---|---|
//! | `POST /v1/jobs/{selection}` (binary), as a query | 202, [`Job`] |
//! | `GET /v1/jobs` | [`JobList`] |
//! | `GET /v1/jobs/{id}` | [`Job`] |
//! | `GET /v1/jobs/{id}/result` | the encrypted result, with the headers of a query's |
//! | `DELETE /v1/jobs/{id}` | [`Job`], as it is then: called off, or removed if it had ended |
//!
//! All are for owners, and each owner, by the name in the certificate, has its own jobs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::protocol::ErrorBody;

/// The path of jobs.
pub const JOBS_PATH: &str = "/v1/jobs";

/// The name of a job: 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(u64);

/// A text that is no [`JobId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the id of a job is 16 hexadecimal digits")]
pub struct NoJobId;

impl JobId {
    /// Returns the name of this number.
    pub fn new(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for JobId {
    type Err = NoJobId;

    fn from_str(text: &str) -> Result<Self, NoJobId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match text.len() == 16 && text.bytes().all(is_digit) {
            true => u64::from_str_radix(text, 16).map(Self).map_err(|_| NoJobId),
            false => Err(NoJobId),
        }
    }
}

impl TryFrom<String> for JobId {
    type Error = NoJobId;

    fn try_from(text: String) -> Result<Self, NoJobId> {
        text.parse()
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> Self {
        id.to_string()
    }
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for its turn.
    Waiting,
    /// It is being evaluated.
    Running,
    /// Its result can be fetched.
    Answered,
    /// It failed; [`Job::error`] says why.
    Failed,
    /// It was called off.
    Cancelled,
    /// The server was stopped before it was answered.
    Interrupted,
}

impl JobState {
    /// Returns whether nothing happens to the job any more.
    pub fn is_ended(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        })
    }
}

/// A question that a server goes on with when nobody waits for the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The name.
    pub id: JobId,
    /// The state.
    pub state: JobState,
    /// The selection of readings that the question was asked about, as the asker wrote it.
    pub selection: String,
    /// The number of uploads that this selected.
    pub uploads: u64,
    /// The time at which it was asked, as RFC 3339 in UTC.
    pub asked_at: String,
    /// The time at which it ended, as RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The number of bootstraps that are done.
    #[serde(default)]
    pub bootstraps: u64,
    /// The number of bootstraps that there will be in all; 0 while it is not known.
    #[serde(default)]
    pub expected: u64,
    /// The seconds of the evaluation.
    #[serde(default)]
    pub seconds: f64,
    /// The size of the result in bytes, while the server keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
    /// Whether the result is one that the server had kept from an earlier question of the same bytes.
    #[serde(default)]
    pub was_kept: bool,
    /// The reason why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// The jobs of an owner, those that were asked last first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<Job>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_through_text() {
        let id = JobId::new(0x0123_4567_89ab_cdef);
        assert_eq!(id.to_string(), "0123456789abcdef");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(JobId::new(1).to_string().parse(), Ok(JobId::new(1)));
        for text in [
            "",
            "1",
            "0123456789ABCDEF",
            "+123456789abcdef",
            "../456789abcdef0",
        ] {
            assert_eq!(text.parse::<JobId>(), Err(NoJobId), "{text}");
        }
    }
}
