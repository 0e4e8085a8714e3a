//! The bytes of device switch keys, recorded: they lie in files that must stay readable.

#[path = "../../core/tests/common/mod.rs"]
mod frozen;

use frozen::{FROZEN_BOOLEAN, FROZEN_RADIX, assert_golden, issued_device_key, secret_key, seeds};
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;

fn switch_key<T: MaskTorus>(set: ParameterSet, seed: u8) -> Vec<u8> {
    let secret = secret_key(set, seed);
    let device = issued_device_key(&secret);
    let key = SeededDeviceSwitchKey::<T>::generate(&secret, &device, &mut seeds(62));
    key.unwrap().to_bytes()
}

#[test]
fn device_switch_keys() {
    assert_golden(
        "device switch key",
        &switch_key::<u64>(FROZEN_RADIX, 1),
        &[
            "54534243010009012af2cfc00d51d543e13156e4dd8346f96b06d6691d5653d5",
            "e7222e2b81cb12d500010000010000004000000100000000000000009d6c1ef0",
            "b950da4fbff144e73c12dd5010d414654aca1b240a51d8dcadd953a4a4100000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
        ],
        Some("2aef65c2933b5b30c4ed39ae8d69c7cf0d6f530dcbe39575fcfac9b69b67b7bb"),
    );
    assert_golden(
        "boolean device switch key",
        &switch_key::<u32>(FROZEN_BOOLEAN, 2),
        &[
            "54534243010009019f28739fe3b0e25f23ce3bf6d4b48c896b06d6691d5653d5",
            "e7222e2b81cb12d500010000020000002000000100000000000000009d6c1ef0",
            "b950da4fbff144e73c12dd5010d414654aca1b240a51d8dcadd953a4a4100000",
            "0000000066726f7a656e5f626f6f6c65616e0000000000000000000000000000",
        ],
        Some("3e6b2c60cf1d0798e897c585a1714a6832c5248d67dd9ec5143f058610762236"),
    );
}
