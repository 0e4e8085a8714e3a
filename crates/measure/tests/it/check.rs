//! The noise of the shipped sets is as predicted, and a check notices noise that is not. Seeds are
//! fixed, so that a failure is due to a change, not to chance.

use tfhe_sbc_core::parameter_sets::{
    BOOLEAN_1024, BOOLEAN_1024_TUNIFORM, GATES, MESSAGE_1_CARRY_1, MESSAGE_1_CARRY_1_P_FAIL_2M40,
    MESSAGE_2_CARRY_2, MESSAGE_2_CARRY_2_P_FAIL_2M40, MESSAGE_3_CARRY_3,
};
use tfhe_sbc_core::parameters::{Decomposition, ParameterSet};
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_measure::check::{Effort, Report, Step, Verdict, count_failures, measure};
use tfhe_sbc_oracle::splitting;

/// An effort small enough for a suite of tests.
const EFFORT: Effort = Effort {
    keys: 2,
    encryptions: 10_000,
    bootstraps: 800,
    switches: 2_500,
    runs: 2,
    splitting: splitting::Effort {
        particles: 500,
        moves: 10,
    },
};

fn show(report: &Report) {
    for step in &report.steps {
        println!(
            "{:16} {:6} 2^{:.3} ratio {:.4} [{:.4}, {:.4}] mean {:+.2} p {:?} {:?}",
            step.step.name(),
            step.samples,
            step.predicted.log2(),
            step.ratio(),
            step.ratio_interval().low,
            step.ratio_interval().high,
            step.mean_off,
            step.normality.map(|n| n.p_value),
            step.verdict
        );
    }
    for place in report.compact.iter().chain(&report.packing) {
        println!(
            "{:24} {:6} 2^{:.3} ratio {:.4} {:?}",
            place.name,
            place.samples,
            place.predicted.log2(),
            place.measured.0 / place.predicted.0,
            place.verdict
        );
    }
    println!("{:?}", report.failure);
}

fn obeys(set: ParameterSet) {
    let parameters = set.validate().unwrap();
    let effort = Effort {
        bootstraps: 600,
        ..EFFORT
    };
    let report = measure(&parameters, effort, 0, &|_| ())
        .unwrap()
        .judge(&parameters);
    show(&report);
    assert!(report.passes(), "{}", set.name);
    let failure = &report.failure;
    // The result of splitting is that of the convolution for the same variances.
    let off = failure.splitting - failure.convolution_of_measured;
    assert!(off.abs() < 4.0 * failure.standard_error, "{failure:?}");
    assert!(failure.acceptance.iter().all(|&share| share > 0.25));
    assert!(failure.confirmed > 0.98, "{failure:?}");
}

#[test]
#[ignore = "half a minute or more of statistics"]
fn the_noise_of_integers_obeys() {
    obeys(MESSAGE_2_CARRY_2);
    obeys(MESSAGE_1_CARRY_1);
}

#[test]
#[ignore = "minutes of statistics"]
fn the_noise_of_looser_integers_obeys() {
    obeys(MESSAGE_2_CARRY_2_P_FAIL_2M40);
}

#[test]
#[ignore = "half a minute or more of statistics"]
fn the_noise_of_booleans_obeys() {
    obeys(GATES);
    obeys(BOOLEAN_1024);
    obeys(BOOLEAN_1024_TUNIFORM);
}

#[test]
#[ignore = "over a thousand bootstraps of N = 8192: a minute"]
fn the_noise_of_large_blocks_obeys() {
    obeys(MESSAGE_3_CARRY_3);
}

/// A set as it is said to be, and where a check is to notice that it is not.
type Wrong = (&'static str, fn(&mut ParameterSet), Step);

fn scale(noise: &mut NoiseDistribution, factor: f64) {
    if let NoiseDistribution::Gaussian { standard_deviation } = noise {
        *standard_deviation *= factor;
    }
}

fn change(decomposition: &mut Decomposition, base_log: i32, levels: i32) {
    let base_log = decomposition.base_log.0 as i32 + base_log;
    let levels = decomposition.level_count.0 as i32 + levels;
    *decomposition = Decomposition::new(base_log as u32, levels as usize);
}

/// Deviations off by a twentieth, bases by one bit, levels by one.
const WRONG: [Wrong; 14] = [
    (
        "more LWE noise",
        |s| scale(&mut s.lwe_noise, 1.05),
        Step::LweEncryption,
    ),
    (
        "less LWE noise",
        |s| scale(&mut s.lwe_noise, 0.95),
        Step::LweEncryption,
    ),
    (
        "more GLWE noise",
        |s| scale(&mut s.glwe_noise, 1.05),
        Step::GlweEncryption,
    ),
    (
        "less GLWE noise",
        |s| scale(&mut s.glwe_noise, 0.95),
        Step::GlweEncryption,
    ),
    (
        "larger base",
        |s| change(&mut s.pbs, 1, 0),
        Step::BlindRotation,
    ),
    (
        // One bit less has as much noise.
        "smaller base",
        |s| change(&mut s.pbs, -2, 0),
        Step::BlindRotation,
    ),
    (
        "more levels",
        |s| change(&mut s.pbs, 0, 1),
        Step::BlindRotation,
    ),
    (
        "larger body base",
        |s| change(&mut s.pbs_body, 3, 0),
        Step::BlindRotation,
    ),
    (
        "smaller body base",
        |s| change(&mut s.pbs_body, -4, 0),
        Step::BlindRotation,
    ),
    (
        "more body levels",
        |s| change(&mut s.pbs_body, 2, 1),
        Step::BlindRotation,
    ),
    (
        "larger key switch base",
        |s| change(&mut s.key_switch, 1, 0),
        Step::KeySwitch,
    ),
    (
        "smaller key switch base",
        |s| change(&mut s.key_switch, -1, 0),
        Step::KeySwitch,
    ),
    (
        "more key switch levels",
        |s| change(&mut s.key_switch, 0, 1),
        Step::KeySwitch,
    ),
    (
        "fewer key switch levels",
        |s| change(&mut s.key_switch, 0, -1),
        Step::KeySwitch,
    ),
];

#[test]
#[ignore = "half a minute of statistics"]
fn a_set_that_is_not_what_it_is_said_to_be_fails() {
    let set = MESSAGE_1_CARRY_1_P_FAIL_2M40;
    let parameters = set.validate().unwrap();
    let measured = measure(&parameters, EFFORT, 0, &|_| ()).unwrap();
    let right = measured.judge(&parameters);
    show(&right);
    assert!(right.passes());
    for (what, spoil, where_) in WRONG {
        let mut claimed = set;
        spoil(&mut claimed);
        let report = measured.judge(&claimed.validate().unwrap());
        let step = &report.steps[where_ as usize];
        println!(
            "{what}: {:.3} {:?}, {:?}",
            step.ratio(),
            step.verdict,
            report.failure.verdict
        );
        assert!(!report.passes() && !step.verdict.passes(), "{what}");
    }
}

/// The same with an engine whose noise is not the one that its set states.
#[test]
#[ignore = "half a minute of statistics"]
fn an_engine_with_other_noise_fails() {
    let set = MESSAGE_1_CARRY_1_P_FAIL_2M40;
    let mut noisy = set;
    scale(&mut noisy.lwe_noise, 1.5);
    let effort = Effort {
        bootstraps: 300,
        ..EFFORT
    };
    let measured = measure(&noisy.validate().unwrap(), effort, 0, &|_| ()).unwrap();
    let report = measured.judge(&set.validate().unwrap());
    show(&report);
    for step in [Step::LweEncryption, Step::KeySwitch, Step::LookUp] {
        assert_eq!(report.steps[step as usize].verdict, Verdict::TooHigh);
    }
    assert!(report.steps[Step::GlweEncryption as usize].verdict.passes());
    // More noise makes more failures, and splitting finds them.
    assert_eq!(report.failure.verdict, Verdict::TooHigh);
    assert!(report.failure.splitting > report.failure.formula + 5.0);
}

fn fails_as_often_as_predicted(set: ParameterSet, trials: u64) {
    let parameters = set.validate().unwrap();
    let counted = count_failures(&parameters, &parameters, trials, 0, &|_| ()).unwrap();
    println!("{counted:?}");
    assert!(
        counted.predicted * counted.trials as f64 > 10.0,
        "too few trials to tell"
    );
    assert!(counted.consistent, "{counted:?}");
}

#[test]
#[ignore = "minutes of statistics"]
fn small_blocks_fail_as_often_as_predicted() {
    fails_as_often_as_predicted(MESSAGE_1_CARRY_1_P_FAIL_2M40, 2_000);
}

#[test]
#[ignore = "a hundred thousand bootstraps: minutes"]
fn integers_fail_as_often_as_predicted() {
    fails_as_often_as_predicted(MESSAGE_2_CARRY_2, 100_000);
}

#[test]
#[ignore = "a hundred thousand bootstraps: minutes"]
fn gates_fail_as_often_as_predicted() {
    fails_as_often_as_predicted(GATES, 100_000);
}
