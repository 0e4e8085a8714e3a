//! What is encrypted and how: shared with the build script, which computes the same
//! message on the machine that builds.

use tfhe_sbc_core::dimensions::{CarryBits, GlweDimension, LweDimension, MessageBits};
use tfhe_sbc_core::parameters::{
    Decomposition, ModulusSwitch, ParameterName, ParameterSet, PlaintextKind,
};
use tfhe_sbc_core::random::{NoiseDistribution, Seed, SeedSequence};

/// How many bits.
pub const BITS: usize = 1024;

/// The bits, one a byte.
pub static READINGS: [u8; BITS] = {
    let mut bits = [0; BITS];
    let mut i = 0;
    while i < BITS {
        bits[i] = (i * i / 5 % 2) as u8;
        i += 1;
    }
    bits
};

/// One polynomial of 1024 bits over the 32-bit torus: the paper's size.
pub const PARAMETERS: ParameterSet = ParameterSet {
    name: ParameterName::new("board_1024"),
    torus_bits: 32,
    lwe_dimension: LweDimension(630),
    lwe_noise: NoiseDistribution::TUniform { bound_log2: 17 },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 1024,
    glwe_noise: NOISE,
    pbs: Decomposition::new(8, 2),
    key_switch: Decomposition::new(2, 8),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 9,
    log2_p_fail: -40.0,
    security_bits: 120.0,
};

#[cfg(not(feature = "gaussian"))]
const NOISE: NoiseDistribution = NoiseDistribution::TUniform { bound_log2: 8 };
#[cfg(feature = "gaussian")]
const NOISE: NoiseDistribution = NoiseDistribution::Gaussian {
    standard_deviation: 1.0 / (1 << 25) as f64,
};

/// The randomness of the session. It is the same in every run, so that runs can be
/// compared: a real board calls `SeedSequence::from_entropy` with its TRNG.
pub fn seeds() -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([0x5e; 32]))
}
