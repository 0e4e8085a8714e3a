//! The calculated size of an upload against messages that were made.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::wire::UploadSize;
use tfhe_sbc_device::ExpanderKind;

use crate::common::{Device, varied_values};

fn messages_are_as_long_as_calculated<T: ProductTorus>(set: ParameterSet, blocks: usize) {
    let mut device = Device::<T>::new(set, 51);
    for readings in [1, 3, 255, 512, 1024, 1025] {
        let size = UploadSize::symmetric(&set, readings, blocks).unwrap();
        let values = varied_values(&set, readings * blocks);
        let message = device.send(ExpanderKind::ChaCha20, 1, &values);
        assert_eq!(
            message.len(),
            size.total_bytes(),
            "{}, {readings}",
            set.name
        );
    }
}

#[test]
fn calculated_sizes_are_real() {
    messages_are_as_long_as_calculated::<u64>(GATES, 1);
    messages_are_as_long_as_calculated::<u32>(BOOLEAN_1024, 1);
    messages_are_as_long_as_calculated::<u64>(MESSAGE_2_CARRY_2, 4);
    messages_are_as_long_as_calculated::<u64>(MESSAGE_2_CARRY_2, 7);
}

#[test]
fn a_thousand_bits_and_a_thousand_bytes_are_small() {
    for set in [GATES, BOOLEAN_1024] {
        let size = UploadSize::symmetric(&set, 1024, 1).unwrap();
        assert!(size.total_bytes() <= 1331);
    }
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let blocks = parameters.block_encoding().block_count(8);
    let size = UploadSize::symmetric(&MESSAGE_2_CARRY_2, 1024, blocks).unwrap();
    assert!(size.total_bytes() <= 6656);
}
