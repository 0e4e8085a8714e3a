//! The program that `cargo xtask arm` runs to count instructions and compare messages: encryptions
//! of 1024 bits with a fixed key and fixed seeds, whole and by stage, one as in the TFHE-SBC paper,
//! and CKKS.
//!
//! It prints `digest NAME HEX` for every message, the BLAKE3 hash of its bytes, which is
//! the same on every target, and `region ID NAME` for every region of the counter.

mod ckks;
#[path = "../../../crates/research/src/paper/configuration.rs"]
#[expect(dead_code, reason = "the benchmarks use the rest of it")]
mod configuration;
mod marker;
mod paper;
#[path = "../../../crates/research/src/samplers.rs"]
mod samplers;
mod stages;
mod whole;

use tfhe_sbc_core::dimensions::GlweDimension;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::BOOLEAN_1024;
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::random::{NoiseDistribution, Seed, SeedSequence};
use tfhe_sbc_core::workspace::HeapWorkspace;

/// The number of bits of one encryption, as many as a polynomial has coefficients.
const BITS: usize = 1024;

/// The number of runs of every region. The first run also resolves symbols and detects processor
/// features, and the counter keeps the minimum.
const RUNS: usize = 3;

/// The noise of the TFHE-SBC paper, sigma = 2^-25 of the torus.
const GAUSSIAN: NoiseDistribution = NoiseDistribution::Gaussian {
    standard_deviation: 1.0 / 33_554_432.0,
};

/// Uniform noise in [-2^8, 2^8] of 2^32, with halved ends.
const TUNIFORM: NoiseDistribution = NoiseDistribution::TUniform { bound_log2: 8 };

/// The dimensions of the TFHE-SBC paper.
const fn parameter_set(noise: NoiseDistribution) -> ParameterSet {
    ParameterSet {
        glwe_dimension: GlweDimension(1),
        polynomial_size: BITS,
        glwe_noise: noise,
        body_bits: 9,
        ..BOOLEAN_1024
    }
}

fn seeds(byte: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes(core::array::from_fn(|i| byte ^ i as u8)))
}

fn secret_key(noise: NoiseDistribution) -> SecretKey {
    let parameters = parameter_set(noise).validate().expect("a usable set");
    SecretKey::generate(parameters, &mut seeds(1)).expect("fresh seeds")
}

/// Returns bits without a period.
fn readings() -> [u8; BITS] {
    core::array::from_fn(|i| (((i * i) >> 3) & 1) as u8)
}

fn main() {
    whole::run::<0>("gaussian", GAUSSIAN);
    whole::run::<1>("tuniform", TUNIFORM);
    paper::run::<7>("paper");
    stages::run();
    let mut workspace = HeapWorkspace::new(ckks::WORKSPACE_BYTES);
    ckks::run(workspace.as_mut_slice(), &mut |line| println!("{line}")).expect("known keys");
}
