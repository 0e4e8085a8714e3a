//! The shipped sets are the cheapest of their GLWE keys by the search's model.

use tfhe_sbc_core::dimensions::{GlweDimension, LweDimension};
use tfhe_sbc_core::parameter_sets::{
    BOOLEAN_1024, GATES, MESSAGE_1_CARRY_1, MESSAGE_1_CARRY_1_P_FAIL_2M40, MESSAGE_2_CARRY_2,
    MESSAGE_2_CARRY_2_P_FAIL_2M40, MESSAGE_3_CARRY_3,
};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_oracle::search::{Cost, Goal, cheapest, smallest_noise};
use tfhe_sbc_oracle::security::SecretKind;
use tfhe_sbc_oracle::upload::UploadBits;

/// 128 bits, 2^`log2_p_fail`, and no more bits of uploads than the set has.
fn goal(set: &ParameterSet, log2_p_fail: f64) -> Goal {
    Goal {
        log2_p_fail,
        lambda: 128.0,
        upload: UploadBits {
            body: set.body_bits,
            public_key_mask: set.public_key_mask_bits,
        },
    }
}

fn deviation(noise: NoiseDistribution) -> f64 {
    match noise {
        NoiseDistribution::Gaussian { standard_deviation } => standard_deviation,
        other => panic!("{other:?} is not Gaussian"),
    }
}

#[test]
fn shipped_sets_are_what_the_search_finds() {
    for (set, log2_p_fail) in [
        (MESSAGE_2_CARRY_2, -128.0),
        (MESSAGE_1_CARRY_1, -128.0),
        (MESSAGE_3_CARRY_3, -128.0),
        (MESSAGE_2_CARRY_2_P_FAIL_2M40, -40.0),
        (MESSAGE_1_CARRY_1_P_FAIL_2M40, -40.0),
        (GATES, -128.0),
        (BOOLEAN_1024, -128.0),
    ] {
        let found = cheapest(&set, &goal(&set, log2_p_fail), Cost::single).unwrap();
        // Up to the last bit of a decimal constant.
        let ratio = deviation(found.lwe_noise) / deviation(set.lwe_noise);
        assert!((ratio - 1.0).abs() < 1e-12, "{}: {ratio}", set.name);
        let found = ParameterSet {
            lwe_noise: set.lwe_noise,
            ..found
        };
        assert_eq!(found, set);
        println!(
            "{}: {:.2} million cycles, {:.2} in batches of 8, {:.1} MB and {:.1} MB of keys",
            set.name,
            Cost::new(&set).single() / 1e6,
            Cost::new(&set).batched(8) / 1e6,
            Cost::new(&set).bootstrap_key_bytes / 1e6,
            Cost::new(&set).key_switch_key_bytes / 1e6,
        );
    }
}

#[test]
fn larger_blocks_are_cheaper() {
    for set in [MESSAGE_2_CARRY_2, GATES] {
        let costs = [1, 2, 3].map(|lwe_block_size| {
            let set = ParameterSet {
                lwe_block_size,
                lwe_dimension: LweDimension(600),
                ..set
            };
            // More bits of uploads, so that all three can be had.
            let mut goal = goal(&set, -128.0);
            goal.upload.body += 3;
            goal.upload.public_key_mask += 3;
            Cost::new(&cheapest(&set, &goal, Cost::single).unwrap()).single()
        });
        assert!(
            costs[0] > 1.1 * costs[1] && costs[1] > costs[2],
            "{costs:?}"
        );
    }
    // Nothing in the table judges blocks of 4.
    let blocks = ParameterSet {
        lwe_block_size: 4,
        lwe_dimension: LweDimension(800),
        ..GATES
    };
    assert_eq!(
        cheapest(&blocks, &goal(&blocks, -128.0), Cost::single),
        None
    );
}

#[test]
fn nothing_is_found_where_nothing_reaches_the_goal() {
    // The modulus switch alone is too much at N = 512 for 2 and 2 bits.
    let set = ParameterSet {
        polynomial_size: 512,
        glwe_dimension: GlweDimension(4),
        ..MESSAGE_2_CARRY_2
    };
    assert_eq!(cheapest(&set, &goal(&set, -128.0), Cost::single), None);
    // Nor at N = 4096 for 3 and 3, however many bits uploads have.
    let set = ParameterSet {
        polynomial_size: 4096,
        body_bits: 40,
        public_key_mask_bits: 40,
        ..MESSAGE_3_CARRY_3
    };
    for lwe_block_size in [1, 3] {
        let set = ParameterSet {
            lwe_block_size,
            ..set
        };
        assert_eq!(cheapest(&set, &goal(&set, -128.0), Cost::single), None);
    }
}

#[test]
fn noises_are_the_smallest_to_four_digits() {
    for set in [
        MESSAGE_2_CARRY_2,
        MESSAGE_1_CARRY_1,
        MESSAGE_3_CARRY_3,
        GATES,
    ] {
        let dimension = set.glwe_dimension.0 * set.polynomial_size;
        let noise = smallest_noise(128.0, dimension, SecretKind::Binary, 64).unwrap();
        let ratio = deviation(noise) / deviation(set.glwe_noise);
        assert!((ratio - 1.0).abs() < 1e-12, "{}", set.name);
    }
    assert_eq!(smallest_noise(128.0, 100, SecretKind::Binary, 64), None);
}
