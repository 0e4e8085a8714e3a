//! What the shipped parameter sets state about themselves, recomputed.

use tfhe_sbc_core::parameter_sets::{ALL, GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::failure::{DecisionHalfWidth, log2_p_fail, max_noise_level};
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::noise_budget::{BootstrapOrder, NormSquared};
use tfhe_sbc_oracle::prediction::{KeySecurity, Prediction, upload_variance};

fn shipped() -> Vec<Parameters> {
    ALL.iter().map(|set| set.validate().unwrap()).collect()
}

#[test]
fn the_stated_numbers_are_the_predicted_ones() {
    for set in shipped() {
        let prediction = Prediction::new(&set);
        let bits = KeySecurity::new(&set).unwrap().bits().unwrap();
        println!(
            "{}: log2 p_fail {:.3}, security {bits:.2}, {prediction:?}",
            set.name, prediction.log2_p_fail
        );
        // To a tenth, on the safe side.
        assert_eq!(
            set.log2_p_fail,
            (prediction.log2_p_fail * 10.0).ceil() / 10.0,
            "{}",
            set.name
        );
        assert_eq!(
            set.security_bits,
            (bits * 10.0).floor() / 10.0,
            "{}",
            set.name
        );
        assert!(set.log2_p_fail <= -128.0 && set.security_bits >= 128.0);
    }
}

#[test]
fn uploads_are_no_noisier_than_bootstrap_outputs() {
    for set in shipped() {
        let prediction = Prediction::new(&set);
        assert_eq!(set.body_bits, prediction.body_bits, "{}", set.name);
        assert!(upload_variance(&set, set.body_bits) <= prediction.budget.pbs);
        assert!(upload_variance(&set, set.body_bits - 1) > prediction.budget.pbs);
    }
}

#[test]
fn every_gate_of_multiplexer_outputs_is_within_the_stated_probability() {
    let set = GATES.validate().unwrap();
    let Prediction { budget, .. } = Prediction::new(&set);
    let order = BootstrapOrder::KeySwitchFirst;
    let multiplexer = Variance(2.0 * budget.pbs.0);
    // Independent inputs, and twice the same.
    for (nand, xor) in [(2.0, 8.0), (4.0, 16.0)] {
        let nand = budget.total_for_inputs(order, multiplexer * nand);
        let xor = budget.total_for_inputs(order, multiplexer * xor);
        assert!(log2_p_fail(DecisionHalfWidth::GATE, nand) <= set.log2_p_fail);
        assert!(log2_p_fail(DecisionHalfWidth::XOR_GATE, xor) <= set.log2_p_fail);
    }
    // A multiplexer of one ciphertext twice: its two halves may be alike.
    assert_eq!(set.max_noise_level, 4);
}

#[test]
fn the_noise_level_of_blocks_is_the_largest_sum_that_fits() {
    let set = MESSAGE_2_CARRY_2;
    assert_eq!(
        u64::from(set.max_noise_level),
        max_noise_level(set.message_bits.0, set.carry_bits.0)
    );
}

#[test]
fn a_key_as_lopsided_as_one_in_a_thousand_still_reaches_the_target() {
    // Signed digits in [-B/2, B/2) have mean -1/2, so that the errors of the key
    // switching key leave half their sum in every phase: a constant of the key.
    let set = MESSAGE_2_CARRY_2.validate().unwrap();
    let Prediction { budget, .. } = Prediction::new(&set);
    let rows = (set.big_lwe_dimension().0 * set.key_switch.level_count.0) as f64;
    let offset = 3.3 * (rows * set.lwe_noise.variance(32) / 4.0).sqrt();
    let total = budget.total(BootstrapOrder::KeySwitchFirst, NormSquared::of_norm(5.0));
    let t = DecisionHalfWidth::radix(2, 2).0;
    let near = log2_p_fail(DecisionHalfWidth(t - offset), total);
    // One side of two.
    assert!(near - 1.0 <= -128.0, "{near}");
}

#[test]
fn single_outputs_reach_the_target_when_the_bootstrap_comes_first() {
    for (set, t) in [
        (MESSAGE_2_CARRY_2, DecisionHalfWidth::radix(2, 2)),
        (GATES, DecisionHalfWidth::GATE),
    ] {
        let Prediction { budget, .. } = Prediction::new(&set.validate().unwrap());
        let total = |norm| budget.total(BootstrapOrder::BootstrapFirst, NormSquared::of_norm(norm));
        assert!(log2_p_fail(t, total(1.0)) <= -128.0, "{}", set.name);
    }
    // But not the sums that the other order allows: that is why integers use the other.
    let Prediction { budget, .. } = Prediction::new(&MESSAGE_2_CARRY_2.validate().unwrap());
    let summed = budget.total(BootstrapOrder::BootstrapFirst, NormSquared::of_norm(5.0));
    assert!(log2_p_fail(DecisionHalfWidth::radix(2, 2), summed) > -64.0);
}

#[test]
fn results_fail_to_decrypt_less_often_than_bootstraps_fail() {
    // They come back under the small key: a key switch, but no modulus switch.
    let set = MESSAGE_2_CARRY_2.validate().unwrap();
    let Prediction { budget, .. } = Prediction::new(&set);
    let norm = f64::from(set.max_noise_level);
    let result = Variance(budget.pbs.0 * norm * norm + budget.key_switch.0);
    let failure = log2_p_fail(DecisionHalfWidth::radix(2, 2), result);
    assert!(failure < 2.0 * set.log2_p_fail, "{failure}");
}
