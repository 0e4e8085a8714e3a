//! From readings to torus plaintexts and back: [`FixedPoint`] maps a sensor value to
//! an unsigned code, [`BlockEncoding`] cuts codes into radix blocks and places a
//! block on the torus, [`boolean`] places a bit.

mod block;
pub mod boolean;
mod fixed_point;

pub use block::{BlockEncoding, BlockOutOfRange};
pub use fixed_point::{FixedPoint, FixedPointError, ReadingError};
