//! The bytes of every kind of message that this crate writes, recorded. Files of this
//! format version must stay readable, so these never change without a new version.

mod common;

use common::{
    FROZEN_BOOLEAN, FROZEN_PUBLIC_BOOLEAN, FROZEN_PUBLIC_RADIX, FROZEN_RADIX, assert_golden,
    device_public_key, issued_device_key, lwe_list, secret_key,
};
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::wire::{Message, lwe};

#[test]
fn device_keys() {
    let secret = secret_key(FROZEN_RADIX, 1);
    assert_golden(
        "device key",
        &secret.device_key().to_bytes().unwrap(),
        &[
            "54534243010005002af2cfc00d51d543e13156e4dd8346f953b231844d9072af",
            "b3ce324422af4b3e000000000000000000000000000000000000000000000000",
            "00000000000000000000000000000000000000000000000000000000c4000000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
            "00000000400000004600000001000000000000000000003f0100000000010000",
            "01000000000000000000f03c1700000001000000030000000500000002000000",
            "020000000200000005000000010000000d00000000000000002044c000000000",
            "0000e03f53b231844d9072afb3ce324422af4b3e000000000000000000000000",
            "0000000000000000b60d77bf43ecc90fe8470a07ddbf3f04a10f1a47b0cade2e",
            "0ba770e40d834ee143014133",
        ],
        None,
    );
    let issued = issued_device_key(&secret);
    let bytes = issued.to_bytes().unwrap();
    assert_golden(
        "device key of a device's own",
        &bytes,
        &[
            "54534243010005002af2cfc00d51d543e13156e4dd8346f96b06d6691d5653d5",
            "e7222e2b81cb12d5000000000000000000000000000000000000000000000000",
            "00000000000000000000000000000000000000000000000000000000c4000000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
            "00000000400000004600000001000000000000000000003f0100000000010000",
            "01000000000000000000f03c1700000001000000030000000500000002000000",
            "020000000200000005000000010000000d00000000000000002044c000000000",
            "0000e03f53b231844d9072afb3ce324422af4b3e73746174696f6e2d37000000",
            "000000000201000014556a493787a31c6ad8f3b6060b90b51638b526880ea1e2",
            "b2a44c2f91a14fab4a967f78",
        ],
        None,
    );
    let read = DeviceKey::from_bytes(&bytes).unwrap();
    assert_eq!(read.binding(), issued.binding());
    assert_eq!(read.binding().key_set, secret.fingerprint());
    assert_eq!(read.fingerprint(), issued.fingerprint());
    assert_eq!(read.glwe().bits(), issued.glwe().bits());
    assert_ne!(read.glwe().bits(), secret.glwe().bits());
}

#[test]
fn device_public_keys() {
    let secret = secret_key(FROZEN_PUBLIC_RADIX, 3);
    assert_golden(
        "device public key",
        &device_public_key(&secret),
        &[
            "54534243010007018e7f9dae495f1d9971a60cb5ba57938b7c222d34f488c867",
            "412bd30910c43136000100000100000040000001000000000000000034492818",
            "2091e59d264b3b50f8ef8582cd2d62d5cf07f29b6df107806b2b275f80080000",
            "0000000066726f7a656e5f7075626c69635f7261646978000000000000000000",
        ],
        Some("3cfe76263ea34d1862a167b1981d115842175c2849e94cb9f591063fa8ad4b0a"),
    );
    let secret = secret_key(FROZEN_PUBLIC_BOOLEAN, 4);
    assert_golden(
        "boolean device public key",
        &device_public_key(&secret),
        &[
            "545342430100070180cb7e6fe8f8cd46e8d0346b5cf3c48d75b6c26832fe73f3",
            "32c3e75e1a560bab000100000200000020000001000000000000000034492818",
            "2091e59d264b3b50f8ef8582cd2d62d5cf07f29b6df107806b2b275f80080000",
            "0000000066726f7a656e5f7075626c69635f626f6f6c65616e00000000000000",
        ],
        Some("3d6288e0c381e30e01f7011a3808a467a5f63343beca3f16f5cc4748e9eb9769"),
    );
}

#[test]
fn secret_keys() {
    let key = secret_key(FROZEN_RADIX, 1);
    let bytes = key.to_bytes().unwrap();
    assert_golden(
        "secret key",
        &bytes,
        &[
            "54534243010004002af2cfc00d51d543e13156e4dd8346f953b231844d9072af",
            "b3ce324422af4b3e000000000000000000000000000000000000000000000000",
            "00000000000000000000000000000000000000000000000000000000a9000000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
            "00000000400000004600000001000000000000000000003f0100000000010000",
            "01000000000000000000f03c1700000001000000030000000500000002000000",
            "020000000200000005000000010000000d00000000000000002044c000000000",
            "0000e03fb60d77bf43ecc90fe8470a07ddbf3f04a10f1a47b0cade2e0ba770e4",
            "0d834ee1befc6b95c3219857267c1621d0",
        ],
        None,
    );
    let read = SecretKey::from_bytes(&bytes).unwrap();
    assert_eq!(read.parameters(), key.parameters());
    assert_eq!(read.fingerprint(), key.fingerprint());
    assert_eq!(read.glwe().bits(), key.glwe().bits());
    assert_eq!(read.lwe().bits(), key.lwe().bits());
}

#[test]
fn boolean_secret_key() {
    let bytes = secret_key(FROZEN_BOOLEAN, 2).to_bytes().unwrap();
    assert_golden(
        "boolean secret key",
        &bytes,
        &[
            "54534243010004009f28739fe3b0e25f23ce3bf6d4b48c89edcc7c65d3a9b801",
            "cb2d40e86b7929f3000000000000000000000000000000000000000000000000",
            "00000000000000000000000000000000000000000000000000000000c9000000",
            "0000000066726f7a656e5f626f6f6c65616e0000000000000000000000000000",
            "0000000020000000480000000200000010000000000000000200000000010000",
            "0200000007000000000000000a00000002000000030000000400000001000000",
            "01000000010000000300000000000000090000000000000000003ec000000000",
            "0000e03fa76575cb5aa321a52ab844920af2448c9c742c2b7fa7ea8bfc1f788d",
            "d059b89d45caf489206a9b0cb225216b521dbdc9597969de23b8e99eb8ae5c79",
            "08ab166df8893871cb7e744c6edfa3a42f",
        ],
        None,
    );
}

#[test]
fn lwe_lists() {
    let key = secret_key(FROZEN_RADIX, 1);
    let bytes = lwe_list(&key, &[0, 7, 15], 3);
    assert_golden(
        "LWE list",
        &bytes,
        &[
            "54534243010003002af2cfc00d51d543e13156e4dd8346f953b231844d9072af",
            "b3ce324422af4b3e000000004600000020200200020200000300000000000000",
            "0000000000000000000000000000000000000000000000000000000054030000",
            "000000007c222d34f488c867412bd30910c43136a042312746f88d6453dd3add",
        ],
        Some("184cc9c8df7ce8116f824cec2c5fe01a3e3dce8b45062a1946e45ff3960ca3a8"),
    );
    let (message, _) = Message::parse(&bytes).unwrap();
    let read = lwe::read(message, key.parameters(), key.fingerprint()).unwrap();
    let values: Vec<u64> = read.iter().map(|c| key.decrypt_block(c)).collect();
    assert_eq!(values, [0, 7, 15]);
}

#[test]
fn parameters() {
    for (set, fingerprint) in [
        (FROZEN_RADIX, "2af2cfc00d51d543e13156e4dd8346f9"),
        (FROZEN_BOOLEAN, "9f28739fe3b0e25f23ce3bf6d4b48c89"),
    ] {
        let parameters = set.validate().unwrap();
        assert_eq!(parameters.fingerprint().to_string(), fingerprint);
    }
}
