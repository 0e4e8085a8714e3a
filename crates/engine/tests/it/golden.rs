//! The recorded bytes of device switch keys and packing keys, which must stay readable.

use crate::frozen::{
    FROZEN_BOOLEAN, FROZEN_PACKING, FROZEN_RADIX, assert_golden, issued_device_key, secret_key,
    seeds,
};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::{Decomposition, ParameterSet};
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use tfhe_sbc_engine::packing_key::SeededPackingKey;

fn switch_key<T: ProductTorus>(
    set: ParameterSet,
    decomposition: Decomposition,
    seed: u8,
) -> Vec<u8> {
    let secret = secret_key(set, seed);
    let device = issued_device_key(&secret);
    let seeds = &mut seeds(62);
    let key = SeededDeviceSwitchKey::<T>::generate_with(&secret, &device, decomposition, seeds);
    key.unwrap().to_bytes()
}

#[test]
fn device_switch_keys() {
    assert_golden(
        "device switch key of two digits",
        &switch_key::<u64>(FROZEN_RADIX, Decomposition::new(12, 2), 1),
        &[
            "545342430100090109ee08bbab7ad9898b0a3d51262fd24b6b06d6691d5653d5",
            "e7222e2b81cb12d500010000010000004000000100000000000000009d6c1ef0",
            "b950da4fbff144e73c12dd5010d414654aca1b240a51d8dcadd953a4b0100000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
        ],
        Some("806986cec2123ff36916c1a90de52deb9b91d3f21e6f6bfc597522e10ea5d43f"),
    );
    assert_golden(
        "device switch key",
        &switch_key::<u64>(FROZEN_RADIX, Decomposition::new(8, 5), 1),
        &[
            "545342430100090109ee08bbab7ad9898b0a3d51262fd24b6b06d6691d5653d5",
            "e7222e2b81cb12d500010000010000004000000100000000000000009d6c1ef0",
            "b950da4fbff144e73c12dd5010d414654aca1b240a51d8dcadd953a4b0280000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
        ],
        Some("dc6722a1b3b3c5013e791a558d76a5a4de5d4144c649c16941759ebf491ca1d1"),
    );
    assert_golden(
        "boolean device switch key",
        &switch_key::<u32>(FROZEN_BOOLEAN, Decomposition::new(8, 2), 2),
        &[
            "5453424301000901dd55720fd3a00e98825a35cb82f48d386b06d6691d5653d5",
            "e7222e2b81cb12d500010000020000002000000100000000000000009d6c1ef0",
            "b950da4fbff144e73c12dd5010d414654aca1b240a51d8dcadd953a4b0100000",
            "0000000066726f7a656e5f626f6f6c65616e0000000000000000000000000000",
        ],
        Some("2167f3ab231dce54caa58acec11b52329512a5c98029e19ffbe1f17b98f054e8"),
    );
}

#[test]
fn packing_keys() {
    let secret = secret_key(FROZEN_RADIX, 1);
    let key = SeededPackingKey::generate(&secret, &FROZEN_PACKING, &mut seeds(63)).unwrap();
    let bytes = key.to_bytes();
    assert_golden(
        "packing key",
        &bytes,
        &[
            "5453424301000e0109ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e00010000020000002000000100000000000000006512f8b5",
            "831323aa317b8a4523e66944033594b4dbd9574704c2cbedad75898eb4a40100",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
        ],
        Some("cd5e1ccfee947a15ac7a48aa8b0c3c41ea6bdf0746f56779e711afee1510b03d"),
    );
    assert_eq!(SeededPackingKey::from_bytes(&bytes), Ok(key));
}
