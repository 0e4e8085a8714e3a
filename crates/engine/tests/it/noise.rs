//! The noise of uploads, of switches between device keys and of modulus switches under keys of all
//! block sizes, compared with the oracle's formulas. (The crate `measure` checks that of every
//! step of a bootstrap.) Seeds are fixed, so that a failure is due to a change, not to chance.

use tfhe_sbc_core::dimensions::{LweDimension, PolynomialSize};
use tfhe_sbc_core::glwe::{GlweCiphertext, GlweSecretKey};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::{LweCiphertext, LweSecretKey};
use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{Decomposition, ModulusSwitch, ParameterSet};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, Seed, SeedSequence, fill_uniform};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::modulus_switch::modulus_switch_into;
use tfhe_sbc_oracle::noise::{
    KeyBlocks, Variance, centred_modulus_switch_variance, truncation_variance,
};
use tfhe_sbc_oracle::noise_budget::PbsParameters;
use tfhe_sbc_oracle::statistics::{mean, shapiro_francia, variance_within};
use tfhe_sbc_oracle::upload::{
    UploadKind, UploadNoise, device_switch_variance, glwe_key_switch_variance,
};

use crate::common::{self, Keys};

/// The relative difference that a measured variance may have from the predicted one.
const TOLERANCE: f64 = 0.1;
/// Level of a test of normality, and how many this file makes.
const NORMALITY_LEVEL: f64 = 0.01 / 60.0;

/// A phase difference on the circle, in (-1/2, 1/2].
fn centred(x: f64) -> f64 {
    x - x.round()
}

fn check_variance(what: &str, errors: &[f64], predicted: Variance) {
    let check = variance_within(errors, predicted, TOLERANCE);
    println!(
        "{what}: predicted 2^{:.3}, measured/predicted {:.4}, mean {:.4} standard deviations",
        predicted.log2() / 2.0,
        check.ratio,
        mean(errors) / predicted.standard_deviation()
    );
    // The tolerance is wide enough for chance and no wider than it need be.
    let spread = (2.0 / errors.len() as f64).sqrt();
    assert!((2.5 * spread..20.0 * spread).contains(&TOLERANCE), "{what}");
    assert!(check.within, "{what}: {check:?}");
}

/// The mean is `expected` up to chance: four standard deviations of the mean, with
/// `per_key` the variance that a constant of the key adds to it.
fn check_mean(what: &str, errors: &[f64], expected: f64, predicted: Variance, per_key: Variance) {
    let spread = (predicted.0 / errors.len() as f64 + per_key.0).sqrt();
    let off = (mean(errors) - expected) / spread;
    assert!(
        off.abs() < 4.0,
        "{what}: the mean is off by {off} standard deviations"
    );
}

fn check_normality(what: &str, errors: &[f64]) {
    let result = shapiro_francia(&errors[..errors.len().min(5000)]).unwrap();
    assert!(result.p_value > NORMALITY_LEVEL, "{what}: {result:?}");
}

/// Fresh GLWE encryptions, and what truncation to the upload's bits makes of them.
fn fresh_and_truncated<T: ProductTorus>(set: ParameterSet) {
    const CIPHERTEXTS: usize = 12;
    let (_, keys) = Keys::seeded::<T>(
        ParameterSet {
            lwe_dimension: common::FEW,
            ..set
        },
        30,
    );
    let parameters = set.validate().unwrap();
    let prepared = keys.secret.glwe().prepare();
    let size = parameters.polynomial_size();
    let mut seeds = SeedSequence::new(Seed::from_bytes([31; 32]));
    let mut scratch = vec![0.0; prepared.scratch_len::<T>()];
    let (mut fresh, mut truncated) = (Vec::new(), Vec::new());
    for _ in 0..CIPHERTEXTS {
        let (mask_seed, noise_seed) = seeds.next_pair().unwrap();
        let mut mask = vec![T::ZERO; parameters.big_lwe_dimension().0];
        fill_uniform(
            &mut ExpanderKind::ChaCha20.mask_stream(&mask_seed, 0),
            &mut mask,
        );
        let plaintext = T::ONE << (T::BITS - 3);
        let mut body = vec![plaintext; size.get()];
        prepared.encrypt_body_into(
            &mut body,
            &mask,
            parameters.glwe_noise(),
            &mut ExpanderKind::ChaCha20.noise_stream(&noise_seed, 0),
            &mut scratch,
        );
        let errors = |body: &[T]| {
            let glwe = GlweCiphertext::from_vec([&mask, body].concat(), size).unwrap();
            let phases = prepared.phase(&glwe);
            phases
                .iter()
                .map(|phase| phase.sub(plaintext).to_signed_fraction())
                .collect::<Vec<_>>()
        };
        fresh.extend(errors(&body));
        let bits = parameters.body_bits();
        for b in &mut body {
            *b = T::from_top_bits(b.round_to_bits(bits), bits);
        }
        truncated.extend(errors(&body));
    }
    let predicted = PbsParameters::from(&parameters).glwe_variance;
    check_variance("fresh encryption", &fresh, predicted);
    check_mean("fresh encryption", &fresh, 0.0, predicted, Variance::ZERO);
    // Spread over the step of the torus: a deviation of four steps has too many ties.
    let step = 2f64.powi(-(T::BITS as i32));
    for (i, error) in fresh.iter_mut().enumerate() {
        *error += step * centred(i as f64 * 0.618_033_988_749_895);
    }
    check_normality("fresh encryption", &fresh);
    let predicted = UploadNoise::new(&parameters, UploadKind::Symmetric).variance();
    check_variance("upload", &truncated, predicted);
    check_mean("upload", &truncated, 0.0, predicted, Variance::ZERO);
}

#[test]
fn fresh_encryptions_and_uploads() {
    fresh_and_truncated::<u64>(MESSAGE_2_CARRY_2);
    fresh_and_truncated::<u64>(GATES);
    fresh_and_truncated::<u32>(BOOLEAN_1024);
}

/// A switch from a device's own key to the evaluation key.
fn device_switch<T: ProductTorus>(set: ParameterSet, decomposition: Decomposition) {
    const CIPHERTEXTS: usize = 24;
    let (secret, device, key) = common::device_switch_with::<T>(set, 34, decomposition);
    let parameters = secret.parameters();
    let mut ciphertexts = common::uniform_glwes::<T>(parameters, CIPHERTEXTS);
    let phases = |key: &GlweSecretKey, ciphertexts: &[GlweCiphertext<T>]| {
        let prepared = key.prepare();
        let phases = ciphertexts.iter().flat_map(|glwe| prepared.phase(glwe));
        phases.collect::<Vec<_>>()
    };
    let before = phases(device.glwe(), &ciphertexts);
    key.prepare().switch_batch(&mut ciphertexts);
    let after = phases(secret.glwe(), &ciphertexts);
    let errors: Vec<f64> = after
        .iter()
        .zip(&before)
        .map(|(after, before)| after.sub(*before).to_signed_fraction())
        .collect();
    let glwe = PbsParameters::from(parameters).fresh();
    let predicted = device_switch_variance(&glwe, decomposition);
    let check = variance_within(&errors, predicted, TOLERANCE);
    println!(
        "device switch: {decomposition:?} 2^{:.3} {check:?}",
        predicted.log2() / 2.0
    );
    // Where the error of the transform decides, its model is above this product, because it was fitted to
    // products that decompose the body too: by 10 % with the kernels for AVX-512, by 15 % with those for AVX2.
    let without = glwe_key_switch_variance(&glwe, decomposition);
    let least = match without.0 < 0.5 * predicted.0 {
        true => 0.8,
        false => 1.0 - TOLERANCE,
    };
    assert!((least..1.0 + TOLERANCE).contains(&check.ratio), "{check:?}");
    // All coefficients of a ciphertext have the same rounding errors, multiplied by rotations of
    // the key. Their mean gives error j the weight 1/2 - j/N, not the root of 1/2N.
    let shared = Variance(predicted.0 / 6.0 / CIPHERTEXTS as f64);
    check_mean("device switch", &errors, 0.0, predicted, shared);
    // Far enough from each other to be close to independent.
    let few: Vec<f64> = errors.iter().step_by(61).copied().collect();
    check_normality("device switch", &few);
}

#[test]
fn device_switches() {
    for set in [MESSAGE_2_CARRY_2, GATES] {
        for &decomposition in set.validate().unwrap().device_switches() {
            device_switch::<u64>(set, decomposition);
        }
    }
}

fn key_weight(key: &LweSecretKey) -> f64 {
    key.coefficients().iter().map(|&s| f64::from(s)).sum()
}

/// Keys of blocks, each of its own weight: the compensation is by the mean of a coefficient.
#[test]
fn modulus_switches_under_keys_of_blocks() {
    let size = PolynomialSize::new(1024).unwrap();
    for (stream, (block_size, kind)) in [
        (1, ModulusSwitch::Plain),
        (1, ModulusSwitch::MeanCompensated),
        (2, ModulusSwitch::MeanCompensated),
        (3, ModulusSwitch::MeanCompensated),
    ]
    .into_iter()
    .enumerate()
    {
        let shape = KeyBlocks {
            dimension: 600,
            block_size,
        };
        let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([9; 32]), stream as u32);
        let key = LweSecretKey::generate(LweDimension(600), block_size, &mut stream);
        let errors: Vec<f64> = (0..2500)
            .map(|_| {
                let mut lwe = vec![0u32; 601];
                fill_uniform(&mut stream, &mut lwe);
                let mut exponents = vec![0; 601];
                modulus_switch_into(&mut exponents, &lwe, size, kind, block_size);
                let (&body, mask) = exponents.split_last().unwrap();
                let after = f64::from(body) - f64::from(key.mask_product(mask));
                let before = key.phase(&LweCiphertext::from_vec(lwe).unwrap());
                centred(after / 2048.0 - before.to_signed_fraction())
            })
            .collect();
        let weight = key_weight(&key);
        // Rounding the body down is not noise for the table's boxes, but is here: uniform over the
        // step below, as to nearest.
        let body = truncation_variance(11);
        let (mask, expected_mean) = match kind {
            ModulusSwitch::Plain => (body * weight, 0.0),
            ModulusSwitch::MeanCompensated => (
                centred_modulus_switch_variance(shape, weight, 1024, 32),
                -0.5 / 2048.0,
            ),
        };
        let predicted = mask + body;
        let what = format!("modulus switch, {kind:?}, blocks of {block_size}");
        check_variance(&what, &errors, predicted);
        check_mean(&what, &errors, expected_mean, predicted, Variance::ZERO);
        check_normality(&what, &errors);
        assert!(block_size == 1 || weight <= shape.mean_weight());
        // Compensation by a half would leave more than the tolerance for larger blocks.
        let by_half = 600.0 / (4.0 * 12.0 * 2048.0 * 2048.0);
        assert!(block_size < 3 || by_half > 1.2 * mask.0);
    }
}
