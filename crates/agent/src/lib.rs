//! The agent of a board. It reads sensors, encrypts the readings, and gets them to the server
//! through bad networks and power cuts.
//!
//! A reading takes this path. A `source` gives rows on the schedule of the `clock`. `range` keeps
//! out what a column cannot hold. `batch` collects rows until there are enough or they are old
//! enough. Then the batch is encrypted and goes to the [`spool`], in one file with the place up to
//! which its sources were read. The `sender` takes one batch after the other, the oldest first, and
//! removes each when the server has acknowledged its content. [`agent`] is the loop, [`config`] its
//! settings, and [`metrics`] its counters.
//!
//! Readings are in the clear only in memory, until their batch is full: what is on the disk is
//! encrypted. Logs tell columns and counts, never values.
#![forbid(unsafe_code)]

pub mod agent;
mod batch;
mod clock;
pub mod config;
mod environment;
mod error;
pub mod metrics;
mod range;
mod sender;
mod source;
pub mod spool;

pub use clock::Stop;
pub use config::SourceConfig;
pub use error::AgentError;
pub use range::OutOfRange;
