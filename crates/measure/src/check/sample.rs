//! The samples of the error of every step under one key set.

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::{LweCiphertext, LweSecretKey};
use tfhe_sbc_core::parameters::ModulusSwitch;
use tfhe_sbc_core::random::fill_uniform;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_engine::modulus_switch::modulus_switch_into;
use tfhe_sbc_engine::server_key::ServerKey;

use super::keys::Keys;
use super::steps::{CheckError, Effort, Progress, Step, linear_weights, worst_weights};

/// The number of ciphertexts that are in memory at a time; it is even.
const AT_A_TIME: usize = 1000;

/// Errors as fractions of the torus, and the weights of the key that the predictions depend on.
pub(super) struct Samples {
    errors: [Vec<f64>; Step::ALL.len()],
    /// The number of ones of the small key, relative to the mean.
    pub(super) small_weight: f64,
    /// The number of ones of the GLWE key, relative to the mean.
    pub(super) big_weight: f64,
}

impl Samples {
    /// Returns the weights of a key without samples.
    #[cfg(test)]
    pub(super) fn of_weights(small_weight: f64, big_weight: f64) -> Self {
        Self {
            errors: Default::default(),
            small_weight,
            big_weight,
        }
    }

    pub(super) fn errors(&self, step: Step) -> &[f64] {
        &self.errors[step as usize]
    }
}

/// A phase difference on the circle, in [-1/2, 1/2].
fn centred(x: f64) -> f64 {
    x - x.round()
}

fn squares(key: &LweSecretKey) -> f64 {
    key.coefficients().iter().map(|&s| f64::from(s * s)).sum()
}

pub(super) fn all<T: ProductTorus>(
    keys: &mut Keys,
    server: &ServerKey<T>,
    effort: &Effort,
    progress: Progress<'_>,
) -> Result<Samples, CheckError> {
    let parameters = *keys.parameters();
    let observe = |n| progress(n);
    let evaluator = Evaluator::with_observer(server, &observe);
    let [rotated, combined, looked_up] = bootstraps(keys, &evaluator, effort.bootstraps)?;
    let (key_switch, modulus_switch) = switches(keys, &evaluator, effort.switches)?;
    let blocks = f64::from(parameters.lwe_block_size() + 1);
    Ok(Samples {
        small_weight: squares(keys.secret.lwe()) * blocks / parameters.lwe_dimension().0 as f64,
        big_weight: squares(&keys.big)
            / (parameters.glwe_secret().mean_square() * parameters.big_lwe_dimension().0 as f64),
        errors: [
            lwe_encryptions(keys, effort.encryptions)?,
            glwe_encryptions::<T>(keys, effort.encryptions)?,
            rotated,
            combined,
            key_switch,
            modulus_switch,
            looked_up,
        ],
    })
}

fn lwe_encryptions(keys: &mut Keys, count: usize) -> Result<Vec<f64>, CheckError> {
    let (mut mask, mut noise) = keys.streams()?;
    let (key, distribution) = (keys.secret.lwe(), keys.parameters().lwe_noise());
    let plaintext = 1u32 << 29;
    let error = |_| {
        let lwe = key.encrypt(plaintext, distribution, &mut mask, &mut noise);
        key.phase(&lwe).sub(plaintext).to_signed_fraction()
    };
    Ok((0..count).map(error).collect())
}

fn glwe_encryptions<T: ProductTorus>(
    keys: &mut Keys,
    count: usize,
) -> Result<Vec<f64>, CheckError> {
    let (mut mask_stream, mut noise_stream) = keys.streams()?;
    let parameters = keys.parameters();
    let size = parameters.polynomial_size();
    let prepared = keys.secret.glwe().prepare();
    let mut scratch = vec![0.0; prepared.scratch_len::<T>()];
    let plaintext = T::ONE << (T::BITS - 3);
    let mut errors = Vec::with_capacity(count + size.get());
    while errors.len() < count {
        let mut data = vec![T::ZERO; parameters.big_lwe_dimension().0];
        fill_uniform(&mut mask_stream, &mut data);
        let mut body = vec![plaintext; size.get()];
        prepared.encrypt_body_into(
            &mut body,
            &data,
            parameters.glwe_noise(),
            &mut noise_stream,
            &mut scratch,
        );
        data.append(&mut body);
        if let Some(glwe) = GlweCiphertext::from_vec(data, size) {
            let phases = prepared.phase(&glwe);
            errors.extend(phases.iter().map(|p| p.sub(plaintext).to_signed_fraction()));
        }
    }
    Ok(errors)
}

/// Samples bootstraps of fresh ciphertexts: the errors of their outputs, of linear combinations of
/// these, and at the worst look-up.
fn bootstraps<T: ProductTorus>(
    keys: &mut Keys,
    evaluator: &Evaluator<'_, T>,
    count: usize,
) -> Result<[Vec<f64>; 3], CheckError> {
    let (mut mask, mut noise) = keys.streams()?;
    let parameters = *keys.parameters();
    let value: T = boolean::encode(true);
    let table = LookupTable::sign(parameters.polynomial_size(), value);
    let of_sum = |weights: &[i64]| value.mul(T::from_i64(weights.iter().sum()));
    let errors = |ciphertexts: &[LweCiphertext<T>], weights: &[i64]| {
        let phases = ciphertexts.iter().map(|lwe| keys.big.phase(lwe));
        let errors = phases.map(|phase| phase.sub(of_sum(weights)).to_signed_fraction());
        errors.collect::<Vec<_>>()
    };
    let (mut rotated, mut combined, mut looked_up) = (Vec::new(), Vec::new(), Vec::new());
    while rotated.len() < count {
        let jobs: Vec<_> = (rotated.len()..count)
            .take(AT_A_TIME)
            .map(|_| Job {
                input: keys.big.encrypt(
                    T::ONE << (T::BITS - 2),
                    parameters.glwe_noise(),
                    &mut mask,
                    &mut noise,
                ),
                table: &table,
            })
            .collect();
        let outputs = evaluator.bootstrap_batch(&jobs)?;
        rotated.extend(errors(&outputs, &[1]));
        let weights = linear_weights(&parameters);
        combined.extend(errors(&combinations(&outputs, &weights), &weights));
        let weights = worst_weights(&parameters);
        let expected = of_sum(&weights).to_signed_fraction();
        let switched = evaluator.key_switch_batch(&combinations(&outputs, &weights))?;
        let phases = switched
            .iter()
            .map(|lwe| switched_phase(keys, lwe.as_slice()));
        looked_up.extend(phases.map(|phase| centred(phase - expected)));
    }
    Ok([rotated, combined, looked_up])
}

/// Linear combinations of neighbouring ciphertexts, with every ciphertext in one combination.
fn combinations<T: ProductTorus>(
    ciphertexts: &[LweCiphertext<T>],
    weights: &[i64],
) -> Vec<LweCiphertext<T>> {
    let combine = |terms: &[LweCiphertext<T>]| {
        let mut sum = LweCiphertext::trivial(terms[0].dimension(), T::ZERO);
        for (term, &weight) in terms.iter().zip(weights) {
            sum.add_scaled(term, weight);
        }
        sum
    };
    ciphertexts
        .chunks_exact(weights.len())
        .map(combine)
        .collect()
}

/// Samples key switches of uniform ciphertexts, and modulus switches of their outputs.
fn switches<T: ProductTorus>(
    keys: &mut Keys,
    evaluator: &Evaluator<'_, T>,
    count: usize,
) -> Result<(Vec<f64>, Vec<f64>), CheckError> {
    let (mut mask, _) = keys.streams()?;
    let (mut by_key, mut by_modulus) = (Vec::with_capacity(count), Vec::with_capacity(count));
    while by_key.len() < count {
        let inputs: Vec<_> = (by_key.len()..count)
            .take(AT_A_TIME)
            .filter_map(|_| {
                let mut data = vec![T::ZERO; keys.big.dimension().0 + 1];
                fill_uniform(&mut mask, &mut data);
                LweCiphertext::from_vec(data)
            })
            .collect();
        let outputs = evaluator.key_switch_batch(&inputs)?;
        for (input, output) in inputs.iter().zip(&outputs) {
            let before = keys.big.phase(input).to_signed_fraction();
            let between = keys.secret.lwe().phase(output).to_signed_fraction();
            by_key.push(centred(between - before));
            by_modulus.push(centred(switched_phase(keys, output.as_slice()) - between));
        }
    }
    Ok((by_key, by_modulus))
}

/// The phase after the engine's modulus switch. If the switch rounds the body down, half a step is
/// added, the mean of the rounding error.
fn switched_phase(keys: &Keys, lwe: &[u32]) -> f64 {
    let parameters = keys.parameters();
    let half = match parameters.modulus_switch() {
        ModulusSwitch::Plain => 0.0,
        ModulusSwitch::MeanCompensated => 0.5,
    };
    let steps = f64::from(2 << parameters.polynomial_size().log2());
    (f64::from(switched_steps(keys, lwe)) + half) / steps
}

/// The phase after the engine's modulus switch, in steps of 1/2N: in `[0, 2N)`.
pub(super) fn switched_steps(keys: &Keys, lwe: &[u32]) -> u32 {
    let parameters = keys.parameters();
    let mut exponents = vec![0; lwe.len()];
    modulus_switch_into(
        &mut exponents,
        lwe,
        parameters.polynomial_size(),
        parameters.modulus_switch(),
        parameters.lwe_block_size(),
    );
    let mask = &exponents[..lwe.len() - 1];
    let body = exponents[lwe.len() - 1];
    let steps = 2u32 << parameters.polynomial_size().log2();
    body.wrapping_sub(keys.secret.lwe().mask_product(mask)) & (steps - 1)
}
