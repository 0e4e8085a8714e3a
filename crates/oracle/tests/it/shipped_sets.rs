//! The statements of the shipped parameter sets about themselves, recomputed.

use tfhe_sbc_core::parameter_sets::{
    ALL, FOR_COMPARISON, GATES, KeyBodyBits, LOOSER, MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2,
    MESSAGE_3_CARRY_3, by_fingerprint, by_name, key_body_bits, superseded,
};
use tfhe_sbc_core::parameters::{ParameterSet, Parameters};
use tfhe_sbc_oracle::blind_rotation::KeyRounding;
use tfhe_sbc_oracle::failure::{
    DecisionHalfWidth, log2_p_fail, log2_p_fail_with_rounding, max_noise_level,
};
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::noise_budget::{BootstrapOrder, NoiseBudget, NormSquared, PbsParameters};
use tfhe_sbc_oracle::prediction::{Prediction, StrictSecurity, worst_norm_squared};
use tfhe_sbc_oracle::search::KeyLevels;
use tfhe_sbc_oracle::security::block_key_entropy;
use tfhe_sbc_oracle::upload::{
    TARGET_LOG2_P_FAIL, UploadBits, UploadKind, UploadNoise, UploadPrediction,
};

fn shipped() -> Vec<Parameters> {
    ALL.iter()
        .chain(&LOOSER)
        .chain(&FOR_COMPARISON)
        .map(|set| set.validate().unwrap())
        .collect()
}

/// The failure probability that all uses of a set stay below.
fn target(set: &ParameterSet) -> f64 {
    if LOOSER.contains(set) {
        -40.0
    } else {
        TARGET_LOG2_P_FAIL
    }
}

/// Rounds to a tenth, on the safe side.
fn stated(log2_p: f64) -> f64 {
    (log2_p * 10.0).ceil() / 10.0
}

#[test]
fn the_stated_numbers_are_the_predicted_ones() {
    for set in shipped() {
        let prediction = Prediction::new(&set);
        let uploads = UploadKind::ALL.map(|kind| UploadPrediction::new(&set, kind));
        let bits = KeyLevels::of_set(&set).unwrap().bits();
        println!(
            "{}: {bits:.2} bits, {prediction:?}, {uploads:?}",
            set.name()
        );
        let worst = uploads
            .iter()
            .map(|upload| upload.log2_p_fail)
            .fold(prediction.log2_p_fail, f64::max);
        assert_eq!(set.log2_p_fail(), stated(worst), "{}", set.name());
        assert!(set.log2_p_fail() <= target(set.as_set()));
        assert_eq!(
            set.security_bits(),
            (bits * 10.0).floor() / 10.0,
            "{}",
            set.name()
        );
    }
    assert!(
        ALL.iter()
            .chain(&LOOSER)
            .all(|set| set.security_bits >= 128.0)
    );
    assert!(FOR_COMPARISON.iter().all(|set| set.security_bits < 128.0));
}

/// The bits of bootstrapping keys are those of the shortest key whose rounding adds at most a hundredth to the variance of
/// a blind rotation, or a sixth in the default set, and which leaves the stated failure probability as it is, its rounding
/// in memory included; or those that the set implies. Of keys of equal length it is the one with the least noise.
#[test]
fn keys_have_the_fewest_body_bits() {
    for set in ALL.iter().chain(&LOOSER) {
        let parameters = set.validate().unwrap();
        let rounded = |rounding| {
            NoiseBudget::new(&PbsParameters {
                key_rounding: rounding,
                ..PbsParameters::from(&parameters)
            })
        };
        let exact = rounded(KeyRounding::ZERO).pbs.0;
        let most = match *set == MESSAGE_2_CARRY_2 {
            true => (7.0 / 6.0) * exact,
            false => 1.01 * exact,
        };
        let allowed = |bits: KeyBodyBits| {
            let budget = rounded(KeyRounding::of(&parameters, bits));
            let total = budget.total(
                BootstrapOrder::KeySwitchFirst,
                worst_norm_squared(&parameters),
            );
            let p_fail = log2_p_fail(DecisionHalfWidth::of_worst_look_up(&parameters), total);
            rounded(bits.into()).pbs.0 <= most && stated(p_fail) <= set.log2_p_fail
        };
        let implied = parameters.implied_key_body_bits();
        let pairs = (1..=implied).flat_map(|mask_rows| {
            (1..=implied).map(move |body_rows| KeyBodyBits {
                mask_rows,
                body_rows,
            })
        });
        let shortest = pairs
            .filter(|&bits| allowed(bits) || bits == KeyBodyBits::same(implied))
            .min_by_key(|bits| {
                let mask_rows = set.glwe_dimension.0 * set.pbs.level_count.0;
                let body_rows = set.pbs_body.level_count.0;
                let length = mask_rows as u32 * bits.mask_rows + body_rows as u32 * bits.body_rows;
                // Positive numbers are in the order of their bits.
                (length, rounded((*bits).into()).pbs.0.to_bits())
            });
        let share = |bits: KeyBodyBits| rounded(bits.into()).pbs.0 / exact - 1.0;
        println!("{}: {shortest:?}, {:?}", set.name, shortest.map(share));
        assert_eq!(Some(key_body_bits(&parameters)), shortest, "{}", set.name);
    }
    let own = ParameterSet {
        max_noise_level: 4,
        ..MESSAGE_2_CARRY_2
    };
    let own = own.validate().unwrap();
    assert_eq!(key_body_bits(&own), KeyBodyBits::same(51));
    assert_eq!(own.implied_key_body_bits(), 51);
}

/// The level that sets for readings that matter have, in bits.
const LEVEL: f64 = 128.0;

#[test]
fn every_set_has_its_level_in_both_counts_of_attacks() {
    for set in ALL.iter().chain(&LOOSER) {
        let parameters = set.validate().unwrap();
        let customary = KeyLevels::of_set(&parameters).unwrap().bits();
        let strict = StrictSecurity::new(&parameters).unwrap().bits();
        assert!(customary >= LEVEL, "{}: {customary}", set.name);
        assert!(strict >= LEVEL, "{}: {strict}", set.name);
    }
    assert!(ALL.iter().all(|set| set.log2_p_fail <= TARGET_LOG2_P_FAIL));
}

/// The sets of former times have the names of today's, and the customary level. The levels of those of release 0.1 in the
/// strict count are the reason why they were replaced; the others were replaced by faster ones.
#[test]
fn superseded_sets_are_known_and_not_offered() {
    let today = || ALL.iter().chain(&LOOSER);
    for (new, old) in today().cycle().zip(&superseded::ALL) {
        assert_eq!(new.name, old.name);
        assert_ne!(new, old);
        let parameters = old.validate().unwrap();
        assert_eq!(by_fingerprint(parameters.fingerprint()), Some(parameters));
        let by_name = by_name(old.name.as_str()).unwrap().unwrap();
        assert_eq!(by_name.as_set(), new);
        assert!(KeyLevels::of_set(&parameters).unwrap().bits() >= LEVEL);
        let strict = StrictSecurity::new(&parameters).unwrap().bits();
        let levels = match superseded::generation_of(old) {
            Some("release 0.1") => 124.0..LEVEL,
            _ => LEVEL..LEVEL + 1.0,
        };
        assert!(levels.contains(&strict), "{}: {strict}", old.name);
    }
    assert_eq!(superseded::ALL.len(), 3 * today().count());
    // Their keys state these bits, and are not refused.
    let november = superseded::november_2026::MESSAGE_2_CARRY_2;
    let bits = key_body_bits(&november.validate().unwrap());
    assert_eq!(bits, KeyBodyBits::same(49));
    let late = superseded::late_november_2026::MESSAGE_2_CARRY_2;
    let bits = key_body_bits(&late.validate().unwrap());
    assert_eq!((bits.mask_rows, bits.body_rows), (47, 46));
    assert!(today().all(|set| superseded::generation_of(set).is_none()));
}

#[test]
fn what_uploads_cost() {
    // The probabilities on bootstrap outputs, symmetric uploads and public-key uploads.
    let expected = [
        ("message_2_carry_2", -149.2, -144.7, -141.1),
        ("message_1_carry_1", -145.4, -136.6, -132.1),
        ("message_3_carry_3", -145.0, -154.7, -141.7),
        ("message_2_carry_2_p_fail_2m40", -50.1, -46.4, -46.0),
        ("message_1_carry_1_p_fail_2m40", -47.7, -51.2, -49.4),
        ("gates", -249.3, -188.2, -134.8),
        ("boolean_1024", -133.7, -161.4, -131.8),
        ("boolean_1024_tuniform", -147.8, -222.0, -131.3),
        ("paper_n1024_lambda_122", -161.3, -167.8, -135.9),
        ("paper_n1024_tuniform_lambda_122", -150.1, -167.7, -135.9),
    ];
    for set in shipped() {
        let outputs = stated(Prediction::new(&set).log2_p_fail);
        let [symmetric, public_key] =
            UploadKind::ALL.map(|kind| stated(UploadPrediction::new(&set, kind).log2_p_fail));
        let name = set.name();
        let found = (name.as_str(), outputs, symmetric, public_key);
        assert!(expected.contains(&found), "{found:?}");
    }
}

#[test]
fn uploads_have_as_few_bits_as_the_target_allows() {
    for set in shipped() {
        let fewest = UploadBits::fewest(&set, target(set.as_set())).unwrap();
        let stated = UploadBits {
            body: set.body_bits(),
            public_key_mask: set.public_key_mask_bits(),
        };
        assert_eq!(stated, fewest, "{}", set.name());
        for kind in UploadKind::ALL {
            assert!(UploadPrediction::new(&set, kind).meets(target(set.as_set())));
        }
        // The same test for sets with other numbers of bits.
        let fewer_body = ParameterSet {
            body_bits: set.body_bits() - 1,
            ..*set.as_set()
        };
        let fewer_mask = ParameterSet {
            public_key_mask_bits: set.public_key_mask_bits() - 1,
            ..*set.as_set()
        };
        for (fewer, kind) in [
            (fewer_body, UploadKind::Symmetric),
            (fewer_mask, UploadKind::PublicKey),
        ] {
            // The set may refuse that few bits by itself.
            let Ok(fewer) = fewer.validate() else {
                continue;
            };
            assert!(!UploadPrediction::new(&fewer, kind).meets(target(set.as_set())));
        }
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
        assert!(log2_p_fail(DecisionHalfWidth::GATE, nand) <= set.log2_p_fail());
        assert!(log2_p_fail(DecisionHalfWidth::XOR_GATE, xor) <= set.log2_p_fail());
    }
    // The set states this probability, unless uploads are worse.
    assert_eq!(worst_norm_squared(&set), NormSquared(2.0 * 4.0));
}

#[test]
fn the_noise_level_of_blocks_is_the_largest_sum_that_fits() {
    for set in [MESSAGE_2_CARRY_2, MESSAGE_1_CARRY_1, MESSAGE_3_CARRY_3]
        .iter()
        .chain(&LOOSER)
    {
        assert_eq!(
            u64::from(set.max_noise_level),
            max_noise_level(set.message_bits.0, set.carry_bits.0)
        );
    }
}

#[test]
fn a_key_as_lopsided_as_one_in_a_thousand_still_reaches_the_target() {
    // Signed digits in [-B/2, B/2) have mean -1/2, so that the errors of the key
    // switching key leave half their sum in every phase: a constant of the key.
    for set in shipped() {
        let prediction = Prediction::new(&set);
        let rows = (set.big_lwe_dimension().0 * set.key_switch().level_count.0) as f64;
        let constant = rows * set.lwe_noise().variance(32) / 4.0;
        let rest = Variance(prediction.worst_total.0 - constant);
        let offset = 3.3 * constant.sqrt();
        let failure =
            log2_p_fail_with_rounding(DecisionHalfWidth::of_worst_look_up(&set), rest, 0.0, offset);
        assert!((failure - prediction.log2_p_fail_lopsided).abs() < 1e-9);
        assert!(failure <= target(set.as_set()), "{}: {failure}", set.name());
    }
}

#[test]
fn a_switch_from_a_device_key_is_next_to_free() {
    for set in shipped() {
        for kind in UploadKind::ALL {
            let noise = UploadNoise::new(&set, kind);
            let switched = noise.switched(&set);
            let step = switched.variance().0 / noise.variance().0 - 1.0;
            assert!(step > 0.0 && step < 1e-2, "{}: {step}", set.name());
        }
    }
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
    // The sums that the other order allows do not stay below the target, so integers use that
    // order.
    let Prediction { budget, .. } = Prediction::new(&MESSAGE_2_CARRY_2.validate().unwrap());
    let summed = budget.total(BootstrapOrder::BootstrapFirst, NormSquared::of_norm(5.0));
    assert!(log2_p_fail(DecisionHalfWidth::radix(2, 2), summed) > -64.0);
}

#[test]
fn results_fail_to_decrypt_less_often_than_bootstraps_fail() {
    // Results come back under the small key, after a key switch but no modulus switch.
    let set = MESSAGE_2_CARRY_2.validate().unwrap();
    let Prediction { budget, .. } = Prediction::new(&set);
    let norm = f64::from(set.max_noise_level());
    let result = Variance(budget.pbs.0 * norm * norm + budget.key_switch.0);
    let failure = log2_p_fail(DecisionHalfWidth::radix(2, 2), result);
    assert!(failure < 2.0 * set.log2_p_fail(), "{failure}");
}

#[test]
fn a_small_key_has_more_entropy_than_a_search_by_collision_takes() {
    for set in shipped() {
        let entropy = block_key_entropy(PbsParameters::from(&set).small_key);
        assert!(entropy > 2.9 * 128.0, "{}: {entropy}", set.name());
    }
}
