//! Masks that a seed stands for: ours expanded by TFHE-rs, its own by us.

use tfhe::core_crypto::prelude::*;
use tfhe::prelude::*;
use tfhe::{CompressedFheBool, CompressedFheInt16, CompressedFheUint8, CompressedFheUint64};
use tfhe_sbc_core::random::{ExpanderKind, tfhe_rs_seed};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::glwe::{SeededGlweList, UploadedGlweList};
use tfhe_sbc_device::KeyMode;
use tfhe_sbc_foreign::tfhe_rs::compressed::Compressed;

use crate::keys::{Keys, serialized};

pub fn our_seeds_are_expanded_by_tfhe_rs(keys: &Keys) {
    let blocks: Vec<u8> = (0..5000).map(|i| (i % 4) as u8).collect();
    let bytes = keys.encrypt(KeyMode::Symmetric, ExpanderKind::Aes128CtrLe, &blocks);
    let (message, _) = Message::parse(&bytes).unwrap();
    let list =
        SeededGlweList::check(message, keys.parameters(), keys.device.fingerprint()).unwrap();
    for index in 0..3 {
        let ours = list.ciphertext::<u64>(index).unwrap();
        let (_, body) = ours.as_slice().split_at(2048);
        let seed = tfhe::Seed(tfhe_rs_seed(&list.mask_seed(), index as u32));
        let native = CiphertextModulus::new_native();
        let theirs =
            SeededGlweCiphertext::from_container(body.to_vec(), GlweSize(2), seed.into(), native)
                .decompress_into_glwe_ciphertext();
        assert_eq!(theirs.as_ref(), ours.as_slice(), "ciphertext {index}");
    }
    assert!(matches!(
        UploadedGlweList::check(message, keys.parameters(), keys.device.fingerprint()),
        Ok(UploadedGlweList::Seeded(_))
    ));
}

pub fn its_compressed_values_are_read(keys: &Keys, count: usize) {
    let check = |bytes: &[u8], value: u128| {
        let (compressed, rest) = Compressed::read(bytes, keys.parameters()).unwrap();
        assert!(rest.is_empty());
        let found = compressed.decrypt(keys.device.glwe(), keys.parameters());
        assert_eq!(found, Some(value));
    };
    let client = &keys.client;
    for i in 0..count.min(200) as u64 {
        let value = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let uint8 = CompressedFheUint8::encrypt(value as u8, client);
        check(&serialized(&uint8), (value as u8).into());
        let uint64 = CompressedFheUint64::encrypt(value, client);
        check(&serialized(&uint64), value.into());
        let int16 = CompressedFheInt16::encrypt(value as i16, client);
        check(&serialized(&int16), (value as u16).into());
        let boolean = CompressedFheBool::encrypt(value & 4 != 0, client);
        check(&serialized(&boolean), (value >> 2 & 1).into());
    }
}
