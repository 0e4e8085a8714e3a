//! Computations on encrypted columns.
//!
//! A board uploads a table of readings that only the key owner can decrypt. A [`Server`] loads
//! uploads as a [`Table`]; its columns are [`Number`]s, which have the operators and reductions of
//! an array: arithmetic, comparisons, which give [`Mask`]s, sums, extremes, percentiles, histograms. Columns whose readings may
//! be missing are [`OptionalNumber`]s, which leave out what is missing.
//! Nothing is computed until [`Server::compute`] is asked for some of them, which it computes
//! together. The key owner decrypts the [`Answer`]s.
//!
//! A rehearsal does the same in the clear, with the same lookups: programs are tried out without
//! keys, and [`Server::cost`] counts their bootstraps.
//!
//! ```
//! use tfhe_sbc_columns::{Column, Error, ReadingsMetadata, Server};
//! use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::rehearsal(&MESSAGE_2_CARRY_2.validate()?)?;
//! let readings = server.load_clear(
//!     ReadingsMetadata {
//!         columns: vec![Column {
//!             name: "temperature_c".into(),
//!             unit: "°C".into(),
//!             offset: -40.0,
//!             scale: 0.1,
//!             bits: 11,
//!             compact: None,
//!             derived: Default::default(),
//!         }],
//!         rows: ["10:00", "11:00", "12:00"].map(String::from).to_vec(),
//!         gaps: Default::default(),
//!     },
//!     &[vec![28.4, 30.2, 31.9]],
//! )?;
//! let temperature = readings.column("temperature_c")?;
//! let hot = temperature.gt(30.0)?.count();
//! let warmest = temperature.max();
//! let [hot, warmest] = server.compute([&hot, &warmest])?;
//! assert_eq!(hot.rehearsed()?.number(), Some(2.0));
//! assert_eq!(warmest.rehearsed()?.number(), Some(31.9));
//! # Ok(())
//! # }
//! ```
//!
//! With keys, [`Server::new`] takes a server key, [`Server::load`] the bytes of uploads, and
//! [`Answer::decrypt`] the secret key; the rest is the same.
//!
//! The path of a computation through this crate: operators make a graph of nodes (`node`), whose
//! encodings are combined in decimal arithmetic (`encoding`, [`decimal`]); one recorder (`record`)
//! writes the nodes of what is asked for into a circuit of the engine; `compute` counts, rehearses
//! or evaluates that.
#![forbid(unsafe_code)]

mod answer;
mod arithmetic;
mod backend;
mod choice;
mod compact;
mod comparison;
mod compute;
mod computed;
mod condition;
pub mod cost;
pub mod decimal;
pub mod decrypt;
pub mod device_keys;
mod encoding;
mod encrypted_limits;
mod error;
mod limits;
mod loaded;
mod mask;
pub mod nearest;
mod node;
mod number;
mod optional;
mod pair;
pub mod progress;
mod record;
mod reductions;
mod rolling;
mod sanitise;
mod server;
mod shifted;
mod statistics;
mod table;
pub mod threshold;
mod uploads;

#[doc(hidden)]
pub mod doc;

pub use answer::{Answer, Computable, Value};
pub use compact::values::{CompactValues, Piece};
pub use compute::{Exported, joined, summed_blocks};
pub use computed::Computed;
pub use condition::{Branch, Decision, Limit, decide};
pub use cost::Cost;
pub use encoding::{Combined, combine};
pub use encrypted_limits::{EncryptedLimit, EncryptedLimits, limit_encoding};
pub use error::Error;
pub use limits::MAX_LOADED_BLOCKS;
pub use mask::Mask;
pub use number::{Number, Operand};
pub use optional::{OptionalNumber, OptionalStatistic, unmarked};
pub use pair::{PairMeasure, PairStatistic, PairSums};
pub use progress::Progress;
pub use reductions::percentile_rank;
pub use rolling::Rolling;
pub use sanitise::{SanitisedBlocks, Sanitiser};
pub use server::Server;
pub use statistics::{Spread, Statistic};
pub use table::{Table, Values, known_column};
pub use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};
pub use threshold::Relation;
pub use uploads::{Uploads, device_key_of, expand, first_header, joined as joined_metadata};
