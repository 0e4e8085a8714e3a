//! Sets that others published, judged: known answers for the search's formulas and both counts of attacks.

use tfhe_sbc_core::parameter_sets::NIST_SUBMISSION_2_2;
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_oracle::prediction::{Prediction, StrictSecurity};
use tfhe_sbc_oracle::search::KeyLevels;
use tfhe_sbc_oracle::upload::{UploadKind, UploadPrediction};

/// The numbers of `NIST_PARAM_2_CARRY_2_KS_PBS_TUNIFORM_2M128` of TFHE-rs 1.8. `interop/tfhe-rs` imports a key of that
/// set itself.
#[test]
fn the_set_of_the_nist_submission_has_its_numbers() {
    let set = NIST_SUBMISSION_2_2;
    assert_eq!((set.lwe_dimension.0, set.lwe_block_size), (886, 1));
    assert_eq!((set.glwe_dimension.0, set.polynomial_size), (1, 2048));
    assert_eq!(set.pbs_body, set.pbs);
    let [pbs, key_switch] =
        [set.pbs, set.key_switch].map(|levels| (levels.base_log.0, levels.level_count.0));
    assert_eq!((pbs, key_switch), ((23, 1), (4, 4)));
    // Small ciphertexts have 32 bits here and 64 there.
    let tuniform = |bound_log2| NoiseDistribution::TUniform { bound_log2 };
    assert_eq!(
        (set.lwe_noise, set.glwe_noise),
        (tuniform(45 - 32), tuniform(16))
    );
    assert_eq!((set.message_bits.0, set.carry_bits.0), (2, 2));
    assert_eq!(set.max_noise_level, 5);
}

#[test]
fn the_set_of_the_nist_submission_is_judged() {
    let set = NIST_SUBMISSION_2_2.validate().unwrap();
    let tenths = |number: f64| (number * 10.0).floor() as i32;
    // log2 of the failure probability on bootstrap outputs, uploads and public-key uploads.
    let outputs = Prediction::new(&set).log2_p_fail;
    let [symmetric, public_key] =
        UploadKind::ALL.map(|kind| UploadPrediction::new(&set, kind).log2_p_fail);
    let above = |log2_p: f64| -tenths(-log2_p);
    assert_eq!(
        [outputs, symmetric, public_key].map(above),
        [-1315, -1297, -1295]
    );
    let customary = KeyLevels::of_set(&set).unwrap();
    assert_eq!(
        [customary.lwe.lambda, customary.glwe.lambda].map(tenths),
        [1295, 1318]
    );
    let strict = StrictSecurity::new(&set).unwrap();
    assert_eq!(
        [strict.lwe.lambda(), strict.glwe.lambda()].map(tenths),
        [1278, 1308]
    );
}
