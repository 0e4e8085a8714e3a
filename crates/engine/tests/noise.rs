//! The noise of every step of the engine, measured under shipped parameter sets,
//! against the oracle's formulas. Seeds are fixed: a failure is a change, not chance.

mod common;

use common::Keys;
use tfhe_sbc_core::dimensions::{LweDimension, PolynomialSize};
use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe::{GlweCiphertext, GlweSecretKey};
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::lwe::{LweCiphertext, LweSecretKey};
use tfhe_sbc_core::parameter_sets::{
    BOOLEAN_1024, BOOLEAN_1024_TUNIFORM, GATES, MESSAGE_1_CARRY_1, MESSAGE_1_CARRY_1_P_FAIL_2M40,
    MESSAGE_2_CARRY_2, MESSAGE_2_CARRY_2_P_FAIL_2M40, MESSAGE_3_CARRY_3,
};
use tfhe_sbc_core::parameters::{ModulusSwitch, ParameterSet};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, Seed, SeedSequence, fill_uniform};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_engine::modulus_switch::modulus_switch_into;
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_oracle::noise::{
    self, KeyBlocks, Variance, centred_modulus_switch_variance, truncation_variance,
};
use tfhe_sbc_oracle::noise_budget::{NoiseBudget, PbsParameters};
use tfhe_sbc_oracle::statistics::{mean, shapiro_francia, variance_within};
use tfhe_sbc_oracle::upload::{UploadKind, UploadNoise};

/// How far a measured variance may be from the predicted one.
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
fn fresh_and_truncated<T: MaskTorus>(set: ParameterSet) {
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
            parameters.glwe_noise,
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
        let bits = parameters.body_bits;
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
fn device_switch<T: MaskTorus>(set: ParameterSet) {
    const CIPHERTEXTS: usize = 24;
    let (secret, device, key) = common::device_switch::<T>(set, 34);
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
    let decomposition = parameters.device_switch();
    let predicted = noise::key_switch_variance(&noise::KeySwitchNoise {
        input_dimension: parameters.big_lwe_dimension().0,
        secret: glwe.secret,
        shared: 0,
        input_torus_log2: T::BITS,
        output_torus_log2: T::BITS,
        key_variance: glwe.variance,
        gadget: noise::Gadget {
            base_log: decomposition.base_log.0,
            level: decomposition.level_count.0,
        },
    });
    check_variance("device switch", &errors, predicted);
    // In all coefficients of a ciphertext the same rounding errors meet the key, turned:
    // their mean gives error j the weight 1/2 - j/N, not the root of 1/2N.
    let shared = Variance(predicted.0 / 6.0 / CIPHERTEXTS as f64);
    check_mean("device switch", &errors, 0.0, predicted, shared);
    // Far enough from each other to be close to independent.
    let few: Vec<f64> = errors.iter().step_by(61).copied().collect();
    check_normality("device switch", &few);
}

#[test]
fn device_switches() {
    device_switch::<u64>(MESSAGE_2_CARRY_2);
    device_switch::<u64>(GATES);
}

/// Ciphertexts with uniform masks under the big key.
fn uniform_ciphertexts<T: MaskTorus>(keys: &Keys, count: usize) -> Vec<LweCiphertext<T>> {
    let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([3; 32]), 0);
    (0..count)
        .map(|_| {
            let mut data = vec![T::ZERO; keys.big.dimension().0 + 1];
            fill_uniform(&mut stream, &mut data);
            LweCiphertext::from_vec(data).unwrap()
        })
        .collect()
}

fn key_switch<T: MaskTorus>(keys: &Keys, server: &ServerKey<T>, count: usize) {
    let inputs = uniform_ciphertexts::<T>(keys, count);
    let outputs = Evaluator::new(server).key_switch_batch(&inputs).unwrap();
    let errors: Vec<f64> = outputs
        .iter()
        .zip(&inputs)
        .map(|(out, input)| {
            let before = keys.big.phase(input).to_signed_fraction();
            centred(keys.secret.lwe().phase(out).to_signed_fraction() - before)
        })
        .collect();
    let parameters = PbsParameters::from(keys.secret.parameters());
    let predicted = noise::key_switch_variance(&parameters.key_switch());
    // The digits' mean of -1/2 meets the key's errors: the part of the predicted second
    // moment that is the same for all ciphertexts of a key.
    let rows = (parameters.key_switch().input_dimension * parameters.ks_level) as f64;
    let per_key = parameters.lwe_variance * (rows / 4.0);
    let spread = Variance(predicted.0 - per_key.0);
    check_variance("key switch", &errors, spread);
    check_mean("key switch", &errors, 0.0, spread, per_key);
    check_normality("key switch", &errors);
}

fn key_weight(key: &LweSecretKey) -> f64 {
    f64::from(key.bits().iter().map(|&bit| u32::from(bit)).sum::<u32>())
}

fn modulus_switch(keys: &mut Keys, count: usize) {
    let parameters = *keys.secret.parameters();
    let size = parameters.polynomial_size();
    let log2_steps = size.log2() + 1;
    let steps = f64::from(1 << log2_steps);
    let key = PbsParameters::from(&parameters).small_key;
    let weight = key_weight(keys.secret.lwe());
    // Plaintexts all over the step, or the errors would be multiples of it.
    let inputs: Vec<_> = (0..count as u32)
        .map(|i| keys.encrypt_small(i.wrapping_mul(0x9e37_79b9)))
        .collect();
    for kind in [ModulusSwitch::Plain, ModulusSwitch::MeanCompensated] {
        let errors: Vec<f64> = inputs
            .iter()
            .map(|input| {
                let mut exponents = vec![0; input.as_slice().len()];
                modulus_switch_into(
                    &mut exponents,
                    input.as_slice(),
                    size,
                    kind,
                    parameters.lwe_block_size,
                );
                let (&body, mask) = exponents.split_last().unwrap();
                let phase = f64::from(body) - f64::from(keys.secret.lwe().mask_product(mask));
                let before = keys.secret.lwe().phase(input).to_signed_fraction();
                centred(phase / steps - before)
            })
            .collect();
        // Rounding the compensated body down is not noise for the table's boxes, but is
        // here: uniform over the step below, as to nearest.
        let body = truncation_variance(log2_steps);
        let (mask, expected_mean) = match kind {
            ModulusSwitch::Plain => (body * weight, 0.0),
            ModulusSwitch::MeanCompensated => (
                centred_modulus_switch_variance(key, weight, size.get(), 32),
                -0.5 / steps,
            ),
        };
        let variance = mask + body;
        let what = format!("modulus switch, {kind:?}");
        check_variance(&what, &errors, variance);
        check_mean(&what, &errors, expected_mean, variance, Variance::ZERO);
        check_normality(&what, &errors);
    }
}

/// Keys of blocks, each of its own weight: the compensation is by the mean of a coefficient.
#[test]
fn modulus_switches_under_keys_of_blocks() {
    let size = PolynomialSize::new(1024).unwrap();
    for (stream, block_size) in (1..=3).enumerate() {
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
                let kind = ModulusSwitch::MeanCompensated;
                modulus_switch_into(&mut exponents, &lwe, size, kind, block_size);
                let (&body, mask) = exponents.split_last().unwrap();
                let after = f64::from(body) - f64::from(key.mask_product(mask));
                let before = key.phase(&LweCiphertext::from_vec(lwe).unwrap());
                centred(after / 2048.0 - before.to_signed_fraction())
            })
            .collect();
        let weight = key_weight(&key);
        // Rounding the body down is not noise for the table's boxes, but is here.
        let mask = centred_modulus_switch_variance(shape, weight, 1024, 32);
        let predicted = mask + truncation_variance(11);
        let what = format!("modulus switch, blocks of {block_size}");
        check_variance(&what, &errors, predicted);
        check_mean(&what, &errors, -0.5 / 2048.0, predicted, Variance::ZERO);
        assert!(block_size == 1 || weight <= shape.mean_weight());
        // Compensation by a half would leave more than the tolerance for larger blocks.
        let by_half = 600.0 / (4.0 * 12.0 * 2048.0 * 2048.0);
        assert!(block_size < 3 || by_half > 1.2 * mask.0);
    }
}

fn bootstraps<T: MaskTorus>(keys: &mut Keys, server: &ServerKey<T>, count: usize) -> Vec<f64> {
    let value: T = boolean::encode(true);
    let table = LookupTable::sign(server.parameters().polynomial_size(), value);
    let jobs: Vec<_> = (0..count)
        .map(|_| Job {
            input: keys.encrypt(T::ONE << (T::BITS - 2)),
            table: &table,
        })
        .collect();
    Evaluator::new(server)
        .bootstrap_batch(&jobs)
        .unwrap()
        .iter()
        .map(|out| keys.big.phase(out).sub(value).to_signed_fraction())
        .collect()
}

/// Key switch, modulus switch and `count` bootstraps under each of two keys.
fn evaluation<T: MaskTorus>(set: ParameterSet, count: usize) {
    let mut errors = Vec::new();
    for seed in [32, 33] {
        let (mut keys, server) = Keys::generate::<T>(set, seed);
        key_switch(&keys, &server, 2500);
        modulus_switch(&mut keys, 2500);
        errors.extend(bootstraps(&mut keys, &server, count));
    }
    let predicted = NoiseBudget::new(&PbsParameters::from(&set.validate().unwrap())).pbs;
    check_variance("bootstrap", &errors, predicted);
    check_mean("bootstrap", &errors, 0.0, predicted, Variance::ZERO);
    check_normality("bootstrap", &errors);
}

#[test]
fn evaluation_of_integers() {
    evaluation::<u64>(MESSAGE_2_CARRY_2, 1000);
}

#[test]
fn evaluation_of_booleans() {
    evaluation::<u64>(GATES, 1000);
}

#[test]
fn evaluation_of_booleans_in_large_polynomials() {
    evaluation::<u32>(BOOLEAN_1024, 1000);
}

#[test]
fn evaluation_of_looser_integers() {
    evaluation::<u64>(MESSAGE_2_CARRY_2_P_FAIL_2M40, 1000);
}

#[test]
fn evaluation_of_small_blocks() {
    evaluation::<u64>(MESSAGE_1_CARRY_1, 1000);
    evaluation::<u64>(MESSAGE_1_CARRY_1_P_FAIL_2M40, 1000);
}

#[test]
#[ignore = "over a thousand bootstraps of N = 8192: a minute"]
fn evaluation_of_large_blocks() {
    evaluation::<u64>(MESSAGE_3_CARRY_3, 640);
}

#[test]
fn evaluation_of_booleans_under_bounded_noise() {
    evaluation::<u32>(BOOLEAN_1024_TUNIFORM, 1000);
}
