//! The check of a parameter set's noise: the engine runs under the set, its noise is measured step
//! by step, and the measurements are compared with the oracle's predictions for a parameter set,
//! which is the same one except in tests.
//!
//! [`measure`] runs the engine under throw-away keys (`keys`): it samples the error of every step
//! (`sample`), of lookups on compact values and of their sums (`compact`), and of packed answers (`packing`),
//! and simulates the look-up with the samples (`look_up`). [`Measured::judge`]
//! predicts (`predict`) and compares (`verdict`). [`count_failures`] counts real failures of
//! blocks with more bits than the set has (`direct`).
//!
//! The predictions are for the keys of the measurement: where a formula is an average over keys,
//! it is evaluated with the weights of the key, and the offset of the key switch, which is the
//! same for all ciphertexts under a key, is part of the mean instead of the variance.

mod compact;
mod direct;
mod keys;
mod look_up;
mod packing;
mod place;
mod predict;
mod sample;
mod steps;
mod verdict;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::server_key::ServerKey;

pub use direct::{DirectCount, count_failures, direct_steps};
pub use place::PlaceReport;
pub use steps::{CheckError, Effort, Progress, Step};
pub use verdict::{FailureReport, Measured, Report, StepReport, Verdict};

use keys::Keys;
use verdict::KeyMeasurements;

/// Runs the engine under `parameters`, with keys and noise drawn from `seed`, on all threads of
/// the current rayon pool. The same seed gives the same measurements.
///
/// # Errors
/// If failures under the parameter set cannot be simulated, or the engine refuses it.
pub fn measure(
    parameters: &Parameters,
    effort: Effort,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Measured, CheckError> {
    let key = |number: usize| {
        let seed = (seed, number as u64);
        match parameters.torus_bits() {
            64 => measure_key::<u64>(parameters, effort, seed, progress, compact::sample),
            _ => measure_key::<u32>(parameters, effort, seed, progress, |_, _, _, _| {
                Ok(Vec::new())
            }),
        }
    };
    Ok(Measured {
        parameters: *parameters,
        keys: (0..effort.keys.max(1)).map(key).collect::<Result<_, _>>()?,
    })
}

/// Samples the noise of compact values, which only sets over 64 bits carry.
type SampleCompact<T> = fn(
    &mut Keys,
    &ServerKey<T>,
    &Effort,
    Progress<'_>,
) -> Result<Vec<compact::CompactSample>, CheckError>;

fn measure_key<T: ProductTorus>(
    parameters: &Parameters,
    effort: Effort,
    seed: (u64, u64),
    progress: Progress<'_>,
    sample_compact: SampleCompact<T>,
) -> Result<KeyMeasurements, CheckError> {
    let mut keys = Keys::generate(parameters, seed)?;
    let server = keys.server::<T>(progress)?;
    let samples = sample::all(&mut keys, &server, &effort, progress)?;
    let look_up = look_up::simulate(&keys, &samples, &effort, seed, progress)?;
    let compact = sample_compact(&mut keys, &server, &effort, progress)?;
    let packing = packing::sample(&mut keys)?;
    Ok(KeyMeasurements {
        samples,
        look_up,
        compact,
        packing,
    })
}
