//! The other side of the comparison.

use crate::error::BenchError;
use crate::integers::tasks::Task;
use crate::timing::Subject;

/// A library of encrypted integers, with its keys.
pub(super) trait Peer: Send + Sync {
    /// The parameters, in one line.
    fn description(&self) -> String;
    /// The work of the task, on the threads of the current rayon pool.
    fn subject(&self, task: Task) -> Result<Box<dyn Subject + '_>, BenchError>;
}
