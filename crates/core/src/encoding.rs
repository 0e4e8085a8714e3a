//! Encodings of readings as torus plaintexts: [`FixedPoint`] maps a sensor value to
//! an unsigned code, [`BlockEncoding`] splits codes into radix blocks and places a
//! block on the torus, [`CompactEncoding`] places a whole code, and [`boolean`] places a bit. [`chunks`] says how
//! lookups take a whole code apart, and [`Derivation`] what a board derives from a code.

mod block;
pub mod boolean;
#[cfg(feature = "alloc")]
pub mod chunks;
mod compact;
mod derived;
mod fixed_point;

pub use block::{BlockEncoding, BlockOutOfRange};
pub use compact::{BodyRounding, CompactEncoding, CompactError, ErrorFeedback};
pub use derived::{Derivation, are_cuts};
pub use fixed_point::{FixedPoint, FixedPointError, ReadingError};
