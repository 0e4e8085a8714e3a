//! Tests that the key owner reads what a device encrypts.

use proptest::prelude::*;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_device::{
    ExpanderKind, FixedPoint, device_key_parameters, encode_readings, reading_block_count,
};

use crate::common::frozen::{FROZEN_BOOLEAN, FROZEN_RADIX};
use crate::common::{Device, send, varied_values};

fn every_count_comes_back<T: ProductTorus>(set: ParameterSet) {
    let mut device = Device::<T>::new(set, 11);
    let size = set.polynomial_size;
    for expander in ExpanderKind::ALL {
        for (seed, count) in [1, size - 1, size, size + 1, 3 * size + 7]
            .into_iter()
            .enumerate()
        {
            let values = varied_values(&set, count);
            let message = device.send(expander, seed as u8, &values);
            assert!(
                device.open(&message).values() == values,
                "{expander}, {count} values"
            );
        }
    }
}

#[test]
fn shipped_radix_sets() {
    every_count_comes_back::<u64>(MESSAGE_2_CARRY_2);
    every_count_comes_back::<u64>(MESSAGE_3_CARRY_3);
}

#[test]
fn shipped_boolean_set() {
    every_count_comes_back::<u64>(GATES);
}

#[test]
fn radix_over_32_bits() {
    let set = ParameterSet {
        plaintext: FROZEN_RADIX.plaintext,
        message_bits: FROZEN_RADIX.message_bits,
        carry_bits: FROZEN_RADIX.carry_bits,
        body_bits: 13,
        ..FROZEN_BOOLEAN
    };
    every_count_comes_back::<u32>(set);
}

#[test]
fn booleans_over_64_bits() {
    let set = ParameterSet {
        plaintext: FROZEN_BOOLEAN.plaintext,
        message_bits: FROZEN_BOOLEAN.message_bits,
        carry_bits: FROZEN_BOOLEAN.carry_bits,
        ..FROZEN_RADIX
    };
    every_count_comes_back::<u64>(set);
}

#[test]
fn frozen_sets() {
    every_count_comes_back::<u64>(FROZEN_RADIX);
    every_count_comes_back::<u32>(FROZEN_BOOLEAN);
}

#[test]
fn a_session_sends_many_messages() {
    let mut device = Device::<u64>::new(MESSAGE_2_CARRY_2, 12);
    let mut session = device.session(ExpanderKind::ChaCha20, 1);
    let sent: Vec<(Vec<u8>, Vec<u8>)> = [5, 2048, 1, 300]
        .into_iter()
        .map(|count| {
            let values = varied_values(&MESSAGE_2_CARRY_2, count);
            (send(&mut session, &values), values)
        })
        .collect();
    drop(session);
    for (message, values) in sent {
        assert_eq!(device.open(&message).values(), values);
    }
}

#[test]
fn a_key_file_tells_its_parameters() {
    let device = Device::<u64>::new(GATES, 13);
    let read = device_key_parameters(&device.key_file).unwrap();
    assert_eq!(&read, device.secret.parameters());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn readings_come_back(readings in proptest::collection::vec(-50.0f64..52.3, 1..200)) {
        let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
        let encoding = MESSAGE_2_CARRY_2.validate().unwrap().block_encoding();
        let mut blocks = vec![0; reading_block_count(encoding, &celsius, readings.len())];
        encode_readings(encoding, &celsius, &readings, &mut blocks).unwrap();

        let mut device = Device::<u64>::new(MESSAGE_2_CARRY_2, 14);
        let message = device.send(ExpanderKind::Aes128Ctr, 2, &blocks);
        let values = device.open(&message).values();
        let each = encoding.block_count(celsius.bits());
        for (reading, blocks) in readings.iter().zip(values.chunks(each)) {
            let code = encoding.join(blocks.iter().map(|&block| u64::from(block)));
            prop_assert!((celsius.decode(code as f64) - reading).abs() <= 0.05 + 1e-9);
        }
    }
}
