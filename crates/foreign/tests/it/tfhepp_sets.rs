//! Tests that the parameter sets of TFHEpp's keys state what the oracle finds.

use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_foreign::tfhepp::{LVL1_BINARY, LVL1_TERNARY};
use tfhe_sbc_oracle::parameter_file::worst_log2_p_fail;
use tfhe_sbc_oracle::prediction::Prediction;
use tfhe_sbc_oracle::search::KeyLevels;
use tfhe_sbc_oracle::upload::UploadBits;

fn tenths_below(value: f64) -> f64 {
    (value * 10.0).floor() / 10.0
}

#[test]
fn security_failures_and_bits_are_the_oracles() {
    for set in [LVL1_BINARY, LVL1_TERNARY] {
        let parameters = set.validate().unwrap();
        let levels = KeyLevels::of_set(&parameters).unwrap();
        let stated = parameters.security_bits();
        assert_eq!(tenths_below(levels.bits()), stated, "{}", set.name);
        // The name says what is weak about it.
        assert!(set.name.as_str().contains("_lambda_"));

        let on_gates = Prediction::new(&parameters).log2_p_fail;
        let bits = UploadBits::fewest(&parameters, on_gates).unwrap();
        let kept = (set.body_bits, set.public_key_mask_bits);
        assert_eq!((bits.body, bits.public_key_mask), kept, "{}", set.name);
        let worst = worst_log2_p_fail(&parameters);
        assert_eq!(-tenths_below(-worst), set.log2_p_fail, "{}", set.name);
    }
}

#[test]
fn sets_survive_their_bytes() {
    for set in [LVL1_BINARY, LVL1_TERNARY] {
        let parameters = set.validate().unwrap();
        assert_eq!(
            Parameters::from_bytes(&parameters.to_bytes()),
            Ok(parameters)
        );
    }
}
