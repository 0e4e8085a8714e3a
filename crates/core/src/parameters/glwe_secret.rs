//! What coefficients GLWE keys have, and how many bits each is packed in.

/// How the coefficients of a GLWE secret key are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum GlweSecret {
    /// Uniform over {0, 1}: the keys of tfhe-sbc and TFHE-rs.
    Binary = 0,
    /// Uniform over {-1, 0, 1}: TFHEpp's.
    Ternary = 1,
}

impl GlweSecret {
    /// Bits of a packed coefficient, which is its value in two's complement: 1, or 2.
    pub const fn packed_bits(self) -> u32 {
        match self {
            Self::Binary => 1,
            Self::Ternary => 2,
        }
    }

    /// Whether a coefficient is one of such a key.
    pub const fn holds(self, coefficient: i8) -> bool {
        match self {
            Self::Binary => coefficient & !1 == 0,
            Self::Ternary => coefficient.wrapping_add(1) as u8 <= 2,
        }
    }

    /// E\[s²\] of a coefficient.
    pub const fn mean_square(self) -> f64 {
        match self {
            Self::Binary => 0.5,
            Self::Ternary => 2.0 / 3.0,
        }
    }

    /// Var(s) of a coefficient.
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
