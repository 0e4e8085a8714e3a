//! The content of a spool, for a program that looks from outside.

use std::fs::{File, TryLockError};
use std::path::Path;

use serde::Serialize;

use super::recovery::read_header;
use super::{DAMAGED, EXTENSION, LOCK, REFUSED, listed};
use crate::error::AgentError;

/// The content of a spool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// True if a running agent holds the lock of the spool.
    pub running: bool,
    /// The number of batches that wait.
    pub batches: u64,
    /// The rows of these batches.
    pub rows: u64,
    /// The bytes of these batches.
    pub bytes: u64,
    /// The time at which the oldest of them was encrypted, in seconds since 1970.
    pub oldest: Option<u64>,
    /// The number of batches that the server refused.
    pub refused: u64,
    /// The server's words for them, each once.
    pub refusals: Vec<String>,
    /// The number of files that cannot be read.
    pub damaged: u64,
}

impl Survey {
    /// Looks at a spool without disturbing the agent that uses it.
    ///
    /// # Errors
    /// If there is no spool.
    pub fn of(directory: &Path) -> Result<Self, AgentError> {
        let list = |place: &Path| {
            listed(place).map_err(|error| {
                AgentError::setting(
                    "spool.directory",
                    error,
                    "start the agent, which makes it, or look as a user who may read it",
                )
            })
        };
        // A spool that was copied without its empty directories has nothing in them.
        let list_within = |name: &str| match directory.join(name) {
            place if place.exists() => list(&place),
            _ => Ok(Vec::new()),
        };
        let is_batch = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == EXTENSION);
        let mut survey = Self {
            running: is_locked(&directory.join(LOCK)),
            batches: 0,
            rows: 0,
            bytes: 0,
            oldest: None,
            refused: 0,
            refusals: Vec::new(),
            damaged: 0,
        };
        for path in list(directory)?.into_iter().filter(is_batch) {
            // The agent may just have sent the batch.
            match read_header(&path) {
                Ok((header, len)) => {
                    survey.batches += 1;
                    survey.rows += u64::from(header.rows);
                    survey.bytes += len;
                    let oldest = survey.oldest.get_or_insert(header.created);
                    *oldest = (*oldest).min(header.created);
                }
                Err(_) => survey.damaged += u64::from(path.exists()),
            }
        }
        for path in list_within(REFUSED)? {
            if is_batch(&path) {
                survey.refused += 1;
            } else if let Ok(words) = std::fs::read_to_string(&path)
                && !survey.refusals.contains(&words)
            {
                survey.refusals.push(words);
            }
        }
        let damaged = list_within(DAMAGED)?;
        survey.damaged += damaged.iter().filter(|path| is_batch(path)).count() as u64;
        Ok(survey)
    }
}

fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}
