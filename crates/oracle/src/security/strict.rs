//! The level of a key in the strict count, [`strict_estimate`].

use crate::estimator::{StrictEstimate, StrictKey, strict_estimate};
use crate::noise::GlweSecret;

/// Longer keys are judged as one of this dimension: more coefficients make no key weaker.
const LARGEST: usize = 4096;

/// The kind of a key in the strict count, without its dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StrictKind {
    /// Blocks of this many coefficients with at most a single 1 each; blocks of 1 are a uniform
    /// binary key.
    Blocks(u32),
    /// Uniform over {-1, 0, 1}.
    Ternary,
}

impl From<GlweSecret> for StrictKind {
    fn from(secret: GlweSecret) -> Self {
        match secret {
            GlweSecret::Binary => Self::Blocks(1),
            GlweSecret::Ternary => Self::Ternary,
        }
    }
}

impl StrictKind {
    /// The key of this kind with `dimension` coefficients, or the largest number that is estimated.
    pub(super) fn key(self, dimension: usize) -> Option<StrictKey> {
        match self {
            Self::Blocks(0) => None,
            Self::Blocks(size) => {
                let most = LARGEST - LARGEST % size as usize;
                StrictKey::of_blocks(dimension.min(most), size).ok()
            }
            Self::Ternary => StrictKey::ternary(dimension.min(LARGEST)).ok(),
        }
    }
}

/// Prices all attacks of the strict count on a key of dimension `n` (k·N for a GLWE key) with noise of
/// standard deviation 2^`log2_sigma`·q. Keys of more than 4096 coefficients are judged as ones of
/// 4096. `None` if the dimension, the blocks or the noise are out of range.
///
/// It takes about a tenth of a second.
pub fn strict_level(n: usize, log2_sigma: f64, kind: StrictKind) -> Option<StrictEstimate> {
    strict_estimate(&kind.key(n)?, log2_sigma).ok()
}
