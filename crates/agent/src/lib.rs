//! The agent of a board: reads sensors, encrypts what it read, and gets it to the server
//! through bad networks and power cuts.
//!
//! The path of a reading:
//! a `source` gives rows on the schedule of the `clock`; `range` keeps out what a
//! column cannot hold; `batch` collects rows until there are enough or they are old enough; then
//! the batch is encrypted and goes to the [`spool`], in one file with the place up to
//! which its sources were read. From there `sender` takes one batch after the other, oldest first, and
//! removes each when the server has acknowledged its content. [`agent`] is the loop,
//! [`config`] its settings, [`metrics`] what it counts.
//!
//! Readings are in memory in the clear until their batch is full, and nowhere else: what is on the
//! disk is encrypted. Logs tell columns and counts, never values.
#![forbid(unsafe_code)]

pub mod agent;
mod batch;
mod clock;
pub mod config;
mod error;
pub mod metrics;
mod range;
mod sender;
mod source;
pub mod spool;

pub use clock::Stop;
pub use error::AgentError;
pub use range::OutOfRange;
pub use source::SourceConfig;
