use tfhe_sbc_core::dimensions::{GlweDimension, LweDimension};
use tfhe_sbc_core::parameter_sets::{
    ALL, GATES, MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3,
};
use tfhe_sbc_core::parameters::{Decomposition, ParameterSet};

use super::*;

#[test]
fn the_parts_add_up_and_are_all_there() {
    let model = CostModel::built_in();
    for set in &ALL {
        for (batch, threads) in [(1, 1), (1, 2), (8, 1), (32, 2), (5, 3)] {
            let parts = model.breakdown(set, batch, threads);
            let each = [
                parts.transforms,
                parts.products,
                parts.key_streaming,
                parts.key_switch,
                parts.rest,
            ];
            assert!(each.iter().all(|&part| part > 0.0), "{parts:?}");
            let total: f64 = each.iter().sum();
            assert!((model.bootstrap(set, batch, threads) / total - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn more_of_anything_takes_longer() {
    let grown: [fn(&mut ParameterSet); 7] = [
        |set| set.lwe_dimension = LweDimension(set.lwe_dimension.0 + 63),
        |set| set.glwe_dimension = GlweDimension(set.glwe_dimension.0 + 1),
        |set| set.polynomial_size *= 2,
        |set| set.pbs = Decomposition::new(10, set.pbs.level_count.0 + 1),
        |set| set.pbs_body = Decomposition::new(10, set.pbs_body.level_count.0 + 1),
        |set| set.key_switch = Decomposition::new(2, set.key_switch.level_count.0 + 1),
        // More steps.
        |set| set.lwe_block_size = 1,
    ];
    let model = CostModel::built_in();
    for set in ALL {
        for (change, grow) in grown.iter().enumerate() {
            let mut larger = set;
            grow(&mut larger);
            for (batch, threads) in [(1, 1), (2, 1), (8, 1), (32, 2)] {
                let [less, more] = [set, larger].map(|set| model.bootstrap(&set, batch, threads));
                assert!(
                    more > less,
                    "change {change} of {:?}: {less} {more}",
                    set.name
                );
            }
        }
    }
}

#[test]
fn batches_and_threads_make_a_bootstrap_cheaper() {
    let model = CostModel::built_in();
    for set in &ALL {
        let of = |batch, threads| model.bootstrap(set, batch, threads);
        assert!(of(8, 1) < of(2, 1) && of(2, 1) < of(1, 1));
        assert!(of(1, 2) < of(1, 1) && of(16, 2) < 0.6 * of(8, 1));
    }
}

#[test]
fn shipped_sets_keep_their_order() {
    let model = CostModel::built_in();
    let of = |set: &ParameterSet| model.bootstrap(set, 1, 1);
    let order = [
        GATES,
        MESSAGE_1_CARRY_1,
        MESSAGE_2_CARRY_2,
        MESSAGE_3_CARRY_3,
    ];
    assert!(order.windows(2).all(|pair| of(&pair[0]) < of(&pair[1])));
    // As measured: half to twice as long elsewhere, but no millisecond is a second.
    assert!((1e-3..2e-2).contains(&of(&MESSAGE_2_CARRY_2)));
}

#[test]
fn terms_are_counted_as_by_hand() {
    // 174 steps of 5 bits, 2 rows and 2 outputs, N = 2048.
    let model = CostModel::built_in();
    let terms = model.counts(&MESSAGE_2_CARRY_2, 1, 1);
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    close(terms.transform, 174.0 * 4.0 * model.transforms[3]);
    // The keys of 5 bits, and their sum, for 2 rows and 2 outputs.
    close(terms.multiply_add, 174.0 * 2048.0 * 6.0 * 2.0 * 2.0);
    close(terms.factor, 174.0 * 5.0 * 2048.0);
    close(terms.key_byte.iter().sum(), 870.0 * 4.0 * 2048.0 * 8.0);
    // 8 digits, and the sums of mask and body.
    close(terms.switch_transform, 10.0 * model.transforms[3]);
    assert_eq!((terms.meeting, terms.exchange), (0.0, 0.0));
    // Two threads: a component each, and the other's digit.
    let terms = model.counts(&MESSAGE_2_CARRY_2, 1, 2);
    close(terms.transform, 174.0 * 2.0 * model.transforms[3]);
    close(terms.exchange, 174.0 * 2048.0);
    close(terms.meeting, 174.0);
    close(terms.key_byte.iter().sum(), 870.0 * 2.0 * 2048.0 * 8.0);
    // Eight in lockstep read the key once.
    let terms = model.counts(&MESSAGE_2_CARRY_2, 8, 1);
    close(terms.key_byte.iter().sum(), 870.0 * 4.0 * 2048.0);
    close(terms.switch_transform, 10.0 * model.transforms[3]);
    // Three on two threads are two and one.
    let terms = model.counts(&MESSAGE_2_CARRY_2, 3, 2);
    close(
        terms.switch_transform,
        2.0 / 3.0 * 10.0 * model.transforms[3],
    );
}

#[test]
fn factors_are_multiplied_as_the_engine_does_it() {
    let model = CostModel::built_in();
    let products = |set: &ParameterSet| {
        let points = 174.0 * set.polynomial_size as f64;
        model.counts(set, 1, 1).multiply_add / points
    };
    // 3 rows and 2 outputs: the sum of each of 5 bits for 2 outputs, of 3 digits, and times its factor.
    let mut set = MESSAGE_2_CARRY_2;
    set.pbs = Decomposition::new(10, 2);
    assert_eq!(products(&set), 5.0 * 2.0 * 4.0);
    // 3 rows and 3 outputs: each of 3 digits with 5 factors, and with the keys of 5 bits for 3 outputs.
    let mut set = MESSAGE_2_CARRY_2;
    set.glwe_dimension = GlweDimension(2);
    assert_eq!(products(&set), 5.0 * 3.0 * 4.0);
}

#[test]
fn key_switches_of_several_polynomials_are_counted() {
    let mut set = MESSAGE_2_CARRY_2;
    set.glwe_dimension = GlweDimension(4);
    set.polynomial_size = 512;
    set.key_switch = Decomposition::new(5, 3);
    // 4 polynomials of 3 digits; 870 coefficients in 2 polynomials, and the body.
    let doubles = |set: &ParameterSet| key_switch_key_bytes(set) / 8 / 512;
    assert_eq!(doubles(&set), 4 * 3 * 3);
    // A step has room for 64 digits, so that there are two of 3 polynomials.
    set.key_switch = Decomposition::new(1, 20);
    assert_eq!(doubles(&set), 2 * 3 * 20 * 3);
}

#[test]
fn only_what_lies_between_two_uses_of_a_key_has_to_fit_the_last_cache() {
    // A step of 20 polynomials of 16 KiB, and 96 KiB of a ciphertext, fit 512 KiB for any number of ciphertexts, but not 256 KiB.
    let bytes = |cache: usize, batch: usize| -> f64 {
        let mut model = CostModel::built_in();
        model.machine.level_2_bytes = 128 << 10;
        model.machine.last_level_bytes = cache;
        let counts = model.counts(&MESSAGE_2_CARRY_2, batch, 1);
        counts.key_byte.iter().sum::<f64>() * batch as f64
    };
    assert_eq!(bytes(512 << 10, 16), bytes(512 << 10, 1));
    assert!(bytes(256 << 10, 16) > 2.0 * bytes(256 << 10, 1));
    // A machine that does not tell has its second-level cache only.
    assert_eq!(bytes(0, 16), bytes(128 << 10, 16));
}

#[test]
fn prices_of_bytes_are_interpolated() {
    let shares = |mib: f64| seconds::by_working_set(1.0, (mib * f64::from(1 << 20)) as usize);
    assert_eq!(shares(1.0), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(shares(32.0), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(shares(16.0), [0.5, 0.5, 0.0, 0.0]);
    assert_eq!(shares(1e5), [0.0, 0.0, 0.0, 1.0]);
    for (i, place) in WORKING_SETS.iter().enumerate() {
        assert!((shares(*place)[i] - 1.0).abs() < 1e-6);
    }
}

#[test]
fn unsound_prices_are_told() {
    assert!(CostModel::built_in().is_sound());
    let spoilt: [fn(&mut CostModel); 5] = [
        |model| model.transforms[3] = f64::NAN,
        |model| model.transforms[0] = 0.0,
        |model| model.seconds.switch_transform = -1e-12,
        |model| model.crowding = 0.5,
        |model| model.machine.threads = 0,
    ];
    for spoil in spoilt {
        let mut model = CostModel::built_in();
        spoil(&mut model);
        assert!(!model.is_sound());
    }
}
