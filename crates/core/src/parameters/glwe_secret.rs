//! The coefficients of GLWE keys: their distribution, and the number of bits of a packed one.

/// The distribution of the coefficients of a GLWE secret key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum GlweSecret {
    /// Uniform over {0, 1}, as in tfhe-sbc and TFHE-rs.
    Binary = 0,
    /// Uniform over {-1, 0, 1}, as in TFHEpp.
    Ternary = 1,
}

impl GlweSecret {
    /// The number of bits of a packed coefficient, which is its value in two's complement: 1 or 2.
    pub const fn packed_bits(self) -> u32 {
        match self {
            Self::Binary => 1,
            Self::Ternary => 2,
        }
    }

    /// Returns whether a coefficient is possible in such a key.
    pub const fn holds(self, coefficient: i8) -> bool {
        match self {
            Self::Binary => coefficient & !1 == 0,
            Self::Ternary => coefficient.wrapping_add(1) as u8 <= 2,
        }
    }

    /// The mean square E\[s²\] of a coefficient.
    pub const fn mean_square(self) -> f64 {
        match self {
            Self::Binary => 0.5,
            Self::Ternary => 2.0 / 3.0,
        }
    }

    /// The variance Var(s) of a coefficient.
    pub const fn variance(self) -> f64 {
        match self {
            Self::Binary => 0.25,
            Self::Ternary => 2.0 / 3.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_those_of_the_distribution_and_no_others() {
        for coefficient in i8::MIN..=i8::MAX {
            assert_eq!(
                GlweSecret::Binary.holds(coefficient),
                (0..=1).contains(&coefficient)
            );
            assert_eq!(
                GlweSecret::Ternary.holds(coefficient),
                (-1..=1).contains(&coefficient)
            );
        }
    }
}
