//! The crate `tfhe-sbc-tfhe-rs`: the values that it makes without files equal those in files.

use tfhe::prelude::*;
use tfhe::{FheBool, FheInt32, FheUint16};
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::glwe::{SeededGlweList, UploadedGlweList};
use tfhe_sbc_device::KeyMode;
use tfhe_sbc_foreign::tfhe_rs::integers::FheType;
use tfhe_sbc_foreign::tfhe_rs::upload::Values;
use tfhe_sbc_tfhe_rs::{Error, device_key, seeded_glwe, values};

use crate::keys::Keys;

pub fn gives_the_same_without_files(keys: &Keys) {
    let device = device_key(&keys.client).unwrap();
    assert_eq!(device.fingerprint(), keys.device.fingerprint());
    assert_eq!(device.parameters(), keys.parameters());

    // Two numbers of 8 blocks, as two's complement of 16 bits: 12345 and -2.
    let mut blocks = [0; 16];
    let encoding = keys.parameters().block_encoding();
    encoding.split(12345, &mut blocks[..8]).unwrap();
    encoding.split(0xfffe, &mut blocks[8..]).unwrap();
    let bytes = keys.encrypt(KeyMode::Symmetric, ExpanderKind::Aes128CtrLe, &blocks);
    let (message, _) = Message::parse(&bytes).unwrap();
    let of_type = |fhe_type| {
        let list = UploadedGlweList::check(message, keys.parameters(), device.fingerprint());
        Values::of_list(list.unwrap(), keys.parameters(), fhe_type).unwrap()
    };
    let read: Vec<u16> = values::<FheUint16>(of_type(FheType::Uint(16)))
        .unwrap()
        .map(|value| value.unwrap().decrypt(&keys.client))
        .collect();
    assert_eq!(read, [12345, 0xfffe]);
    let both: Vec<i32> = values::<FheInt32>(of_type(FheType::Int(32)))
        .unwrap()
        .map(|value| value.unwrap().decrypt(&keys.client))
        .collect();
    assert_eq!(both, [12345 | 0xfffe << 16]);
    let refused = values::<FheBool>(of_type(FheType::Uint(16))).err().unwrap();
    assert!(matches!(refused, Error::Type { .. }), "{refused}");

    let list = SeededGlweList::check(message, keys.parameters(), device.fingerprint()).unwrap();
    let ours = list.ciphertext::<u64>(0).unwrap();
    let theirs = seeded_glwe(&list, 0)
        .unwrap()
        .decompress_into_glwe_ciphertext();
    assert_eq!(theirs.as_ref(), ours.as_slice());
    assert!(seeded_glwe(&list, 1).is_none());
}
