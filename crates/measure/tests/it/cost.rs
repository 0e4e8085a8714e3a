//! The oracle's cost model against the engine: the figures that do not depend on a clock.

use std::time::Duration;

use tfhe_sbc_core::fft::external_product::PackedKey;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{ALL, BOOLEAN_1024, GATES, MESSAGE_2_CARRY_2, key_body_bits};
use tfhe_sbc_core::parameters::{ParameterSet, Parameters};
use tfhe_sbc_core::simd::Isa;
use tfhe_sbc_engine::bootstrap;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_engine::timing_key::TimingKey;
use tfhe_sbc_measure::calibrate::{Plan, calibrate, from_toml, to_toml};
use tfhe_sbc_oracle::cost::{
    bootstrap_key_bytes, key_switch_key_bytes, lockstep, server_key_file_bytes,
};

#[test]
fn files_have_the_predicted_size() {
    fn of<T: ProductTorus>(parameters: &Parameters) -> usize {
        SeededServerKey::<T>::message_len(parameters)
    }
    for set in ALL {
        let parameters = set.validate().unwrap();
        let engine = match set.torus_bits {
            32 => of::<u32>(&parameters),
            _ => of::<u64>(&parameters),
        };
        assert_eq!(server_key_file_bytes(&parameters), engine);
    }
}

#[test]
fn keys_in_memory_have_the_predicted_size() {
    fn check<T: ProductTorus>(set: &ParameterSet) {
        let parameters = set.validate().unwrap();
        let key = TimingKey::<T>::new(&parameters).unwrap();
        let mut bootstrap = bootstrap_key_bytes(set);
        // The model counts doubles, which some processors keep.
        let isa = Isa::detect();
        if let Some(width) = parameters.packed_key_width(key_body_bits(&parameters))
            && let Some(width) = isa.packed_key_width(width)
        {
            let units = set.lwe_dimension.0;
            let outputs = set.glwe_dimension.0 + 1;
            let bytes = set.glwe_dimension.0 * width.mask_bytes() + width.body_bytes();
            bootstrap =
                bootstrap / 8 / outputs * bytes + PackedKey::BEHIND + units * size_of::<f64>();
        }
        assert_eq!(key.byte_counts(), [bootstrap, key_switch_key_bytes(set)]);
        key.bootstrap_batch(3);
    }
    check::<u64>(&GATES);
    check::<u64>(&MESSAGE_2_CARRY_2);
    check::<u32>(&BOOLEAN_1024);
    assert!(TimingKey::<u32>::new(&GATES.validate().unwrap()).is_err());
}

#[test]
fn batches_are_cut_as_the_engine_cuts_them() {
    for threads in 1..=9 {
        for batch in 1..=200 {
            assert_eq!(
                lockstep(batch, threads),
                bootstrap::lockstep(batch, threads)
            );
        }
    }
}

#[test]
fn a_quick_calibration_gives_a_model_that_can_be_stored() {
    let plan = Plan {
        time: Duration::ZERO,
        check: true,
        threads: 2,
        quick: true,
    };
    let last = std::cell::Cell::new(0.0);
    let found = calibrate(&plan, &|share| {
        assert!(share >= last.get());
        last.set(share);
    })
    .unwrap();
    assert_eq!((found.rounds, last.get()), (1, 1.0));
    assert!(found.model.is_sound());
    assert_eq!((found.fitted.len(), found.held_out.len()), (6, 4));
    for one in found.fitted.iter().chain(&found.held_out) {
        assert!(one.measured > 0.0 && one.predicted > 0.0);
        let error = one.predicted / one.measured - 1.0;
        assert!((one.error() - error).abs() < 1e-12);
    }
    assert_eq!(
        from_toml(&to_toml(&found.model).unwrap()).unwrap(),
        found.model
    );
}
