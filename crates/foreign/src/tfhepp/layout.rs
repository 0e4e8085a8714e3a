//! The layouts of TFHEpp's secret keys.

use super::LVL1_N;

/// The bytes of `u32 lvlhalf[760]`.
const LVL_HALF_BYTES: usize = 4 * 760;
/// The bytes of `u64 lvl2[2048]`, then `u64 lvl3[8192]` or `u128 lvl3[4096]`.
const HIGHER_LEVELS_BYTES: usize = 8 * 2048 + 65_536;
/// The bytes of the parameters: `n` and the noise of lvl0, then those of the other levels.
pub(super) const PARAMETERS_BYTES: usize = 112;

/// The version of TFHEpp that a secret key of the default 128-bit set comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// v9 (July 2024): lvl0 has 636 coefficients.
    V9,
    /// 2026: lvl0 has 630.
    Y2026,
}

impl Layout {
    /// Both layouts.
    pub const ALL: [Self; 2] = [Self::V9, Self::Y2026];

    /// The name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::V9 => "v9",
            Self::Y2026 => "2026",
        }
    }

    /// The dimension of lvl0.
    pub(super) fn lvl0_dimension(self) -> usize {
        match self {
            Self::V9 => 636,
            Self::Y2026 => 630,
        }
    }

    /// The number of bytes of the object: `u16 lvl0[n]`, `u32 lvlhalf[760]`, `u32 lvl1[1024]` and the rest.
    pub(super) fn object_bytes(self) -> usize {
        self.lvl1_at() + 4 * LVL1_N + HIGHER_LEVELS_BYTES + PARAMETERS_BYTES
    }

    /// The offset of lvl1 in the object.
    pub(super) fn lvl1_at(self) -> usize {
        2 * self.lvl0_dimension() + LVL_HALF_BYTES
    }

    /// Returns the layout of an object of `len` bytes.
    pub(super) fn of_len(len: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|l| l.object_bytes() == len)
    }
}
