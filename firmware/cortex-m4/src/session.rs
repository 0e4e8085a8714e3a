//! The session: key, bits and randomness. The build script includes this file too, and computes the
//! same message on the machine that builds.

use tfhe_sbc_core::random::{Seed, SeedSequence};

/// The number of bits.
pub const BITS: usize = 1024;

/// Returns the bits, one in each byte.
pub static READINGS: [u8; BITS] = {
    let mut bits = [0; BITS];
    let mut i = 0;
    while i < BITS {
        bits[i] = (i * i / 5 % 2) as u8;
        i += 1;
    }
    bits
};

#[cfg(all(feature = "gaussian", not(feature = "paper")))]
pub use tfhe_sbc_core::parameter_sets::BOOLEAN_1024 as PARAMETERS;
/// The parameter set: one polynomial of 1024 bits over the 32-bit torus.
#[cfg(not(any(feature = "gaussian", feature = "paper")))]
pub use tfhe_sbc_core::parameter_sets::BOOLEAN_1024_TUNIFORM as PARAMETERS;
#[cfg(all(feature = "gaussian", feature = "paper"))]
pub use tfhe_sbc_core::parameter_sets::PAPER_N1024 as PARAMETERS;
#[cfg(all(feature = "paper", not(feature = "gaussian")))]
pub use tfhe_sbc_core::parameter_sets::PAPER_N1024_TUNIFORM as PARAMETERS;

/// The randomness of the session. It is the same in every run, so that runs can be
/// compared: a real board calls `SeedSequence::from_entropy` with its TRNG.
pub fn seeds() -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([0x5e; 32]))
}
