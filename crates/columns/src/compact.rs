//! Computations on compact columns, whose codes take one coefficient each.
//!
//! Linear functions of the rows of compact columns are added up on polynomials, without a bootstrap
//! ([`linear`], [`values`]). Comparisons take the sign of a difference, chunk by chunk. Everything else
//! takes the radix digits of the codes first. Both are done before the circuit of a computation is
//! recorded: [`plan`] decides which nodes are computed in which way, and [`stage`] computes them.
//!
//! Squares and truth values are linear functions of what boards derive from their columns, if they do
//! ([`derived`], [`code_set`]).

pub(crate) mod code_set;
pub(crate) mod derived;
pub(crate) mod extremes;
pub(crate) mod linear;
mod noise;
pub(crate) mod parts;
pub(crate) mod plan;
pub(crate) mod rehearsed;
mod rolling;
pub(crate) mod stage;
mod sums;
pub(crate) mod values;
mod windows;
