//! The failure rate of look-ups of uploads, counted at decisions that are narrow enough for
//! counting, compared with the oracle's convolution of rounding and Gaussian noise.

use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::modulus_switch::modulus_switch_into;
use tfhe_sbc_oracle::failure::{DecisionHalfWidth, log2_p_fail, log2_p_fail_with_rounding};
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::noise_budget::PbsParameters;
use tfhe_sbc_oracle::prediction::Prediction;
use tfhe_sbc_oracle::statistics::{clopper_pearson, mean};
use tfhe_sbc_oracle::upload::key_switch_offset_variance;

use crate::common::Keys;

const COUNT: usize = 8_000;
/// With this few bits the rounding error is most of the noise.
const BODY_BITS: u32 = 10;

/// Errors at the look-up, in steps of the modulus switch, of uploads of zero times the
/// largest weight, rounded down as the table sees them; and the mean of the key switch's.
fn look_up_errors(seed: u8) -> (Vec<i32>, f64) {
    let (mut keys, server) = Keys::generate::<u64>(MESSAGE_2_CARRY_2, seed);
    let parameters = *keys.secret.parameters();
    let size = parameters.polynomial_size();
    let weighted: Vec<_> = (0..COUNT)
        .map(|_| {
            let mut upload = keys.encrypt(0u64);
            if let Some(body) = upload.as_mut_slice().last_mut() {
                *body = u64::from_top_bits(body.round_to_bits(BODY_BITS), BODY_BITS);
            }
            upload.mul_assign(i64::from(parameters.max_noise_level()));
            upload
        })
        .collect();
    let switched = Evaluator::new(&server).key_switch_batch(&weighted).unwrap();
    let offsets: Vec<f64> = switched
        .iter()
        .zip(&weighted)
        .map(|(after, before)| {
            keys.secret.lwe().phase(after).to_signed_fraction()
                - keys.big.phase(before).to_signed_fraction()
        })
        .collect();
    let errors = switched.iter().map(|ciphertext| {
        let mut exponents = vec![0; ciphertext.as_slice().len()];
        modulus_switch_into(
            &mut exponents,
            ciphertext.as_slice(),
            size,
            parameters.modulus_switch(),
            parameters.lwe_block_size(),
        );
        let (&body, mask) = exponents.split_last().unwrap();
        let steps = 2 * size.get() as i64;
        let phase = i64::from(body) - i64::from(keys.secret.lwe().mask_product(mask));
        ((phase + steps / 2).rem_euclid(steps) - steps / 2) as i32
    });
    (errors.collect(), mean(&offsets))
}

#[test]
#[ignore = "half a minute of statistics"]
fn look_ups_of_uploads_fail_as_often_as_predicted() {
    let set = MESSAGE_2_CARRY_2.validate().unwrap();
    let Prediction { budget, .. } = Prediction::new(&set);
    let weight = f64::from(set.max_noise_level());
    let fresh = set.glwe_noise().variance(64);
    let constant = key_switch_offset_variance(&PbsParameters::from(&set));
    // Under one key the constant is no noise but a shift, measured here.
    let gaussian = Variance(
        weight * weight * fresh + budget.key_switch.0 + budget.modulus_switch.0 - constant.0,
    );
    let rounding = weight * f64::exp2(-f64::from(BODY_BITS) - 1.0);
    for seed in [71, 72] {
        let (errors, offset) = look_up_errors(seed);
        assert!(offset.abs() < 4.0 * constant.standard_deviation());
        for steps in [12, 16, 20] {
            let wrong = errors.iter().filter(|e| !(-steps..steps).contains(*e));
            let interval = clopper_pearson(wrong.count() as u64, COUNT as u64, 0.999);
            let t = DecisionHalfWidth(f64::from(steps) / 4096.0);
            let predicted = log2_p_fail_with_rounding(t, gaussian, rounding, offset).exp2();
            println!("{steps}: {interval:?}, predicted {predicted:e}");
            assert!(interval.contains(predicted), "{steps}");
            if steps == 20 {
                // A Gaussian of the same variance would have it wrong.
                let alike = Variance(gaussian.0 + rounding * rounding / 3.0);
                assert!(!interval.contains(log2_p_fail(t, alike).exp2()));
            }
        }
    }
}
