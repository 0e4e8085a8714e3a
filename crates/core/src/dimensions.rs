//! Newtypes for the dimensions and logarithms of the schemes, so that none can be passed in the
//! place of another.

use thiserror::Error;

macro_rules! newtype {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

newtype!(
    /// The number of mask elements of an LWE ciphertext (the paper's `n`).
    LweDimension,
    usize
);
newtype!(
    /// The number of mask polynomials of a GLWE ciphertext (the paper's `k`).
    GlweDimension,
    usize
);
newtype!(
    /// log2 of the base of a gadget decomposition (the paper's `log2 B`).
    DecompositionBaseLog,
    u32
);
newtype!(
    /// The number of levels of a gadget decomposition (the paper's `l`).
    DecompositionLevelCount,
    usize
);
newtype!(
    /// The number of plaintext bits of a radix block: `message_modulus = 2^bits`.
    MessageBits,
    u32
);
newtype!(
    /// The number of carry bits of a radix block: `carry_modulus = 2^bits`.
    CarryBits,
    u32
);

impl MessageBits {
    /// Returns `message_modulus`.
    pub const fn modulus(self) -> u64 {
        1 << self.0
    }
}

impl CarryBits {
    /// Returns `carry_modulus`.
    pub const fn modulus(self) -> u64 {
        1 << self.0
    }
}

/// The number of coefficients of a polynomial mod `X^N + 1` (the paper's `N`): a power
/// of two in `[256, 65536]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolynomialSize(usize);

/// A polynomial size that the transforms do not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("polynomial size {0} is not a power of two between 256 and 65536")]
pub struct PolynomialSizeError(pub usize);

impl PolynomialSize {
    /// Checks that `size` is a power of two in `[256, 65536]`.
    pub const fn new(size: usize) -> Result<Self, PolynomialSizeError> {
        if size.is_power_of_two() && size >= 256 && size <= 65536 {
            Ok(Self(size))
        } else {
            Err(PolynomialSizeError(size))
        }
    }

    /// The number of coefficients.
    pub const fn get(self) -> usize {
        self.0
    }

    /// log2 of the number of coefficients.
    pub const fn log2(self) -> u32 {
        self.0.trailing_zeros()
    }
}

impl core::fmt::Display for PolynomialSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

impl GlweDimension {
    /// Returns the dimension of the LWE ciphertexts that sample extraction yields: `k·N`.
    pub const fn extracted_lwe_dimension(self, size: PolynomialSize) -> LweDimension {
        LweDimension(self.0 * size.get())
    }
}
