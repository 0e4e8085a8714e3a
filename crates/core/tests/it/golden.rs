//! The bytes of keys, cards and uploads that this crate writes, recorded. Files of this format version must
//! stay readable, so these never change without a new version.

use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::parameters::{PARAMETERS_BYTES, ParameterName, ParameterSet};
use tfhe_sbc_core::wire::bits::pack_top_bits;
use tfhe_sbc_core::wire::card::Card;
use tfhe_sbc_core::wire::columns::{ColumnList, runs};
use tfhe_sbc_core::wire::key::BINDING_BYTES;
use tfhe_sbc_core::wire::{CHECKSUM_BYTES, HEADER_BYTES, Kind, Message, WireError};

use crate::common::{
    FROZEN_BOOLEAN, FROZEN_PUBLIC_BOOLEAN, FROZEN_PUBLIC_RADIX, FROZEN_RADIX, FROZEN_TERNARY,
    assert_golden, card, device_public_key, issued_device_key, patched, resealed, secret_key,
    seeds,
};
use crate::samples::{column_list, segments};

#[test]
fn device_keys() {
    let secret = secret_key(FROZEN_RADIX, 1);
    assert_golden(
        "device key",
        &secret.device_key().to_bytes().unwrap(),
        &[
            "545342430100050009ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e000000000000000000000000000000000000000000000000",
            "00000000000000000000000000000000000000000000000000000000d0000000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
            "0000000040000000460000000100000001000000000000000000003f01000000",
            "0001000001000000000000000000f03c17000000010000001700000001000000",
            "030000000500000002000000020000000200000005000000010000000d000000",
            "00000000002044c0000000000000e03f53b231844d9072afb3ce324422af4b3e",
            "0000000000000000000000000000000000000000b60d77bf43ecc90fe8470a07",
            "ddbf3f04a10f1a47b0cade2e0ba770e40d834ee1a1eefb21",
        ],
        None,
    );
    let issued = issued_device_key(&secret);
    let bytes = issued.to_bytes().unwrap();
    assert_golden(
        "device key of a device's own",
        &bytes,
        &[
            "545342430100050009ee08bbab7ad9898b0a3d51262fd24b6b06d6691d5653d5",
            "e7222e2b81cb12d5000000000000000000000000000000000000000000000000",
            "00000000000000000000000000000000000000000000000000000000d0000000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
            "0000000040000000460000000100000001000000000000000000003f01000000",
            "0001000001000000000000000000f03c17000000010000001700000001000000",
            "030000000500000002000000020000000200000005000000010000000d000000",
            "00000000002044c0000000000000e03f53b231844d9072afb3ce324422af4b3e",
            "73746174696f6e2d37000000000000000201000014556a493787a31c6ad8f3b6",
            "060b90b51638b526880ea1e2b2a44c2f91a14faba39126dc",
        ],
        None,
    );
    let read = DeviceKey::from_bytes(&bytes).unwrap();
    assert_eq!(read.binding(), issued.binding());
    assert_eq!(read.binding().key_set, secret.fingerprint());
    assert_eq!(read.fingerprint(), issued.fingerprint());
    assert_eq!(read.glwe().coefficients(), issued.glwe().coefficients());
    assert_ne!(read.glwe().coefficients(), secret.glwe().coefficients());
}

#[test]
fn device_public_keys() {
    let secret = secret_key(FROZEN_PUBLIC_RADIX, 3);
    assert_golden(
        "device public key",
        &device_public_key(&secret),
        &[
            "545342430100070164cabcb12a0c0af234ca87daa4a7fcec7c222d34f488c867",
            "412bd30910c43136000100000100000040000001000000000000000034492818",
            "2091e59d264b3b50f8ef8582cd2d62d5cf07f29b6df107806b2b275f8c080000",
            "0000000066726f7a656e5f7075626c69635f7261646978000000000000000000",
        ],
        Some("362b955cfc52e3e859185eef4058ce1588980d77674e93ca5f8a5cb203bc6b03"),
    );
    let secret = secret_key(FROZEN_PUBLIC_BOOLEAN, 4);
    assert_golden(
        "boolean device public key",
        &device_public_key(&secret),
        &[
            "54534243010007010ffb20ad2aa6afc74b851330c2ce90a375b6c26832fe73f3",
            "32c3e75e1a560bab000100000200000020000001000000000000000034492818",
            "2091e59d264b3b50f8ef8582cd2d62d5cf07f29b6df107806b2b275f8c080000",
            "0000000066726f7a656e5f7075626c69635f626f6f6c65616e00000000000000",
        ],
        Some("258224a5bf9cb6ada809ef2be724b6fb64dc498bb7448a3cc683f28394fd0ab7"),
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
            "545342430100040009ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e000000000000000000000000000000000000000000000000",
            "00000000000000000000000000000000000000000000000000000000b5000000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
            "0000000040000000460000000100000001000000000000000000003f01000000",
            "0001000001000000000000000000f03c17000000010000001700000001000000",
            "030000000500000002000000020000000200000005000000010000000d000000",
            "00000000002044c0000000000000e03fb60d77bf43ecc90fe8470a07ddbf3f04",
            "a10f1a47b0cade2e0ba770e40d834ee1befc6b95c321985726412c7ce2",
        ],
        None,
    );
    let read = SecretKey::from_bytes(&bytes).unwrap();
    assert_eq!(read.parameters(), key.parameters());
    assert_eq!(read.fingerprint(), key.fingerprint());
    assert_eq!(read.glwe().coefficients(), key.glwe().coefficients());
    assert_eq!(read.lwe().coefficients(), key.lwe().coefficients());
}

#[test]
fn boolean_secret_key() {
    let bytes = secret_key(FROZEN_BOOLEAN, 2).to_bytes().unwrap();
    assert_golden(
        "boolean secret key",
        &bytes,
        &[
            "5453424301000400dd55720fd3a00e98825a35cb82f48d38edcc7c65d3a9b801",
            "cb2d40e86b7929f3000000000000000000000000000000000000000000000000",
            "00000000000000000000000000000000000000000000000000000000d5000000",
            "0000000066726f7a656e5f626f6f6c65616e0000000000000000000000000000",
            "0000000020000000480000000300000002000000100000000000000002000000",
            "000100000200000007000000000000000a000000020000000a00000001000000",
            "0300000004000000010000000100000001000000030000000000000009000000",
            "0000000000003ec0000000000000e03fa76575cb5aa321a52ab844920af2448c",
            "9c742c2b7fa7ea8bfc1f788dd059b89d45caf489206a9b0cb225216b521dbdc9",
            "597969de23b8e99eb8ae5c7908ab166d0c0511920811240129ea08cd5c",
        ],
        None,
    );
}

/// Two bits a coefficient, and the kind of key in the upper half of the modulus switch's word.
#[test]
fn device_key_of_a_ternary_set() {
    let secret = secret_key(FROZEN_TERNARY, 2);
    let bytes = secret.device_key().to_bytes().unwrap();
    assert_golden(
        "ternary device key",
        &bytes,
        &[
            "5453424301000500a8616bfbad90e99fdd31db7e405ab0b4edcc7c65d3a9b801",
            "cb2d40e86b7929f3000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000030010000",
            "0000000066726f7a656e5f7465726e6172790000000000000000000000000000",
            "0000000020000000480000000300000002000000100000000000000002000000",
            "000100000200000007000000000000000a000000020000000a00000001000000",
            "0300000004000000010000000100000001000000030000000000010009000f00",
            "0000000000003ec0000000000000e03fedcc7c65d3a9b801cb2d40e86b7929f3",
            "00000000000000000000000000000000000000000007f574f5fcd13440f444f5",
            "115730fffff5311d11f511f3d34d304f47153035557c155000757314f33131f5",
            "c133333c331d47fdfc351f355d4073035d03dd755d5c051c453dcd447407fd41",
            "10c3107dc7c07d4305d5550d71f43d4dcdf50cccdcf13dc3c37471517341c7dc",
            "540f437f41cf313d431151ff540d571f71713f338ccaf81e",
        ],
        None,
    );
    let read = DeviceKey::from_bytes(&bytes).unwrap();
    assert_eq!(read.glwe().coefficients(), secret.glwe().coefficients());
    assert!(read.glwe().coefficients().contains(&-1));

    // Behind the binding, the first field.
    let at = HEADER_BYTES + PARAMETERS_BYTES + BINDING_BYTES;
    let refused = patched(&bytes, at, &[bytes[at] & !3 | 2]);
    assert_eq!(
        DeviceKey::from_bytes(&refused).map(drop),
        Err(WireError::Field("GLWE key coefficient"))
    );
}

#[test]
fn cards() {
    let card = card(&secret_key(FROZEN_RADIX, 1));
    let bytes = card.to_bytes();
    assert_golden(
        "card",
        &bytes,
        &[
            "5453424301000a0009ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000090000000",
            "0000000066726f7a656e5f726164697800000000000000000000000000000000",
            "0000000040000000460000000100000001000000000000000000003f01000000",
            "0001000001000000000000000000f03c17000000010000001700000001000000",
            "030000000500000002000000020000000200000005000000010000000d000000",
            "00000000002044c0000000000000e03f02000000f044ee02",
        ],
        None,
    );
    assert_eq!(Card::from_bytes(&bytes), Ok(card));
}

/// Whoever imports a key again gets the same fingerprint, which no other key or set has.
#[test]
fn imported_keys() {
    let secret = secret_key(FROZEN_RADIX, 1);
    let parameters = *secret.parameters();
    let import = |parameters, key: &SecretKey| {
        DeviceKey::import(parameters, key.glwe().clone()).map(|key| key.fingerprint())
    };
    let fingerprint = import(parameters, &secret).unwrap();
    assert_eq!(fingerprint.to_string(), "5dd446c4d5fb2e5194863658bf6b67f6");
    let other_set = ParameterSet {
        name: ParameterName::new("other"),
        ..FROZEN_RADIX
    };
    assert_ne!(
        import(other_set.validate().unwrap(), &secret),
        Some(fingerprint)
    );
    assert_ne!(
        import(parameters, &secret_key(FROZEN_RADIX, 2)),
        Some(fingerprint)
    );
    assert_eq!(import(parameters, &secret_key(FROZEN_BOOLEAN, 1)), None);
    let boolean = FROZEN_PUBLIC_BOOLEAN.validate().unwrap();
    assert_eq!(import(boolean, &secret_key(FROZEN_TERNARY, 1)), None);

    let key = DeviceKey::import(parameters, secret.glwe().clone()).unwrap();
    let read = DeviceKey::from_bytes(&key.to_bytes().unwrap()).unwrap();
    assert_eq!(read.fingerprint(), fingerprint);
    assert_eq!(read.glwe().coefficients(), secret.glwe().coefficients());
    let public = key.public_key(&mut seeds(61)).unwrap();
    assert_eq!(public.fingerprint(), fingerprint);
    let same_seed = secret.device_public_key(&mut seeds(61)).unwrap();
    let payload = |bytes: Vec<u8>| bytes[HEADER_BYTES..bytes.len() - CHECKSUM_BYTES].to_vec();
    assert_eq!(
        payload(public.to_bytes().unwrap()),
        payload(same_seed.to_bytes().unwrap())
    );
}

/// Header, table of segments, and bodies that are known, behind masks that are zero.
#[test]
fn column_lists() {
    let secret = secret_key(FROZEN_PUBLIC_RADIX, 3);
    let parameters = secret.parameters();
    let bodies: Vec<u64> = (0..249u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let write = |kind| {
        let empty = column_list(&secret, kind, &segments());
        let Message { header, payload } = Message::parse(&empty).unwrap().0;
        let mut payload = payload.to_vec();
        let masks = usize::from(header.mask_bits) * 256 / 8;
        let mut at = 2 + 8 * segments().len();
        for run in runs(parameters, segments().into_iter()) {
            at += if run.start == 0 { masks } else { 0 };
            let packed = &mut payload[at..][..run.packed_len()];
            pack_top_bits(&bodies[run.first..][..run.count], run.body_bits, packed);
            at += run.packed_len();
        }
        assert_eq!(at, payload.len());
        resealed(&header, &payload)
    };
    let seeded = write(Kind::SeededColumnList);
    assert_golden(
        "seeded column list",
        &seeded,
        &[
            "5453424301000b0164cabcb12a0c0af234ca87daa4a7fcec7c222d34f488c867",
            "412bd30910c43136000100000100000040000002000000000101000009090909",
            "090909090909090909090909090909090909090909090909090909095f020000",
            "00000000030003000000041d0a0e05000000020d0202f900000003120c010000",
        ],
        Some("a6e3c2fc4552f6435ac10f81f73453924847f63db4a2985a9444afeb3bc9b37f"),
    );
    let masked = write(Kind::ColumnList);
    assert_golden(
        "column list",
        &masked,
        &[
            "5453424301000c0064cabcb12a0c0af234ca87daa4a7fcec7c222d34f488c867",
            "412bd30910c43136000100000100000040000000000023000101000000000000",
            "000000000000000000000000000000000000000000000000000000001f0b0000",
            "00000000030003000000041d0a0e05000000020d0202f900000003120c010000",
        ],
        Some("956bfcb88541bb80979b7ddd526194b23859c67973a404174a2f7ec13db37e80"),
    );

    for bytes in [seeded, masked] {
        let message = Message::parse(&bytes).unwrap().0;
        let list = ColumnList::check(message, parameters, secret.fingerprint()).unwrap();
        assert!(list.segments().eq(segments()));
        assert_eq!((list.element_count(), list.ciphertext_count()), (257, 2));
        for (packed, used) in list.packed_ciphertexts().zip([256, 1]) {
            let read = list.expand::<u64>(&packed).unwrap();
            let read = &read.as_slice()[256..];
            assert!(read[used..].iter().all(|&body| body == 0));
            for run in &packed.runs {
                let expected = &bodies[run.first..][..run.count];
                for (&read, &body) in read[run.start..].iter().zip(expected) {
                    let error = read.wrapping_sub(body) as i64;
                    assert!(error.unsigned_abs() <= 1 << (63 - run.body_bits));
                }
            }
        }
    }
}

#[test]
fn parameters() {
    for (set, fingerprint) in [
        (FROZEN_RADIX, "09ee08bbab7ad9898b0a3d51262fd24b"),
        (FROZEN_BOOLEAN, "dd55720fd3a00e98825a35cb82f48d38"),
    ] {
        let parameters = set.validate().unwrap();
        assert_eq!(parameters.fingerprint().to_string(), fingerprint);
    }
}
