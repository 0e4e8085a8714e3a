//! The bytes of every list of answers, recorded. Results of this format version must stay readable, so these
//! never change without a new version.

use tfhe_sbc_core::packing::{PackingParameters, PackingSecret};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::cut::CutList;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_core::wire::{Message, bodies, lwe, values};

use crate::common::{FROZEN_PACKING, FROZEN_RADIX, assert_golden, lwe_list, secret_key};
use crate::samples::answers::{
    PLAINTEXT_BITS, bodies_list, codes_list, cut_list, linear_answers, packed_list,
};

#[test]
fn lwe_lists() {
    let key = secret_key(FROZEN_RADIX, 1);
    let bytes = lwe_list(&key, &[0, 7, 15], 3);
    assert_golden(
        "LWE list",
        &bytes,
        &[
            "545342430100030009ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e000000004600000020200200020200000300000000000000",
            "0000000000000000000000000000000000000000000000000000000054030000",
            "000000007c222d34f488c867412bd30910c43136a042312746f88d6453dd3add",
        ],
        Some("a2b2c4d0962fcaac70c48f57cd0111d4a1406afaa93d848ef91447d7aa000686"),
    );
    let (message, _) = Message::parse(&bytes).unwrap();
    let read = lwe::read(message, key.parameters(), key.fingerprint()).unwrap();
    let values: Vec<u64> = read.iter().map(|c| key.decrypt_block(c)).collect();
    assert_eq!(values, [0, 7, 15]);
}

#[test]
fn packed_lists() {
    let key = secret_key(FROZEN_RADIX, 1);
    let bytes = packed_list(&key, &FROZEN_PACKING, &[3, 0, 1, 2]);
    assert_golden(
        "list of packed answers",
        &bytes,
        &[
            "5453424301000f0009ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e000100000200000020050000020009000400000000000000",
            "0000000000000000000000000000000000000000000000000000000043020000",
            "00000000014b96e8a771f43709af679766b5f1c7c652f1136ded18edcdbb3f57",
        ],
        Some("fd92836ff8e94a464f4759891e0463122188182d3408ca0dca568e42d7e00f81"),
    );
    let (message, _) = Message::parse(&bytes).unwrap();
    let list = PackedList::read(message, key.parameters(), key.fingerprint()).unwrap();
    let secret = PackingSecret::of_list(&key, &list);
    assert_eq!(secret.decrypt(&list), [3, 0, 1, 2]);
}

#[test]
fn packing_parameters() {
    let bytes = FROZEN_PACKING.to_bytes();
    assert_golden(
        "packing parameters",
        &bytes,
        &[
            "0200000000010000000000000000703e060002001800090500000000002044c0",
            "000000000000e03f",
        ],
        None,
    );
    assert_eq!(PackingParameters::from_bytes(&bytes), Ok(FROZEN_PACKING));
}

#[test]
fn cut_lists() {
    let key = secret_key(FROZEN_RADIX, 1);
    let bytes = cut_list(&key, &[3, 0, 1, 2, 1]);
    assert_golden(
        "list of cut answers",
        &bytes,
        &[
            "545342430100110009ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e00000000460000002006000002000a000500000000000000",
            "00000000000000000000000000000000000000000000000000000000bc010000",
            "00000000e6952a579b6872479232589736b3660fadc756f8afa45d3870a30e07",
        ],
        Some("6ac1df1d8ceb6d244a4e3a1bbd7f6de39edb9302e6ac700e434fbb8fedea1c3a"),
    );
    let (message, _) = Message::parse(&bytes).unwrap();
    let list = CutList::read(message, key.parameters(), key.fingerprint()).unwrap();
    assert_eq!(list.decrypt(&key), [3, 0, 1, 2, 1]);
}

#[test]
fn lists_of_compact_codes() {
    let key = secret_key(FROZEN_RADIX, 1);
    let codes: [&[u64]; 2] = [&[4000, 1, 0], &[7]];
    let bytes = codes_list(&key, &codes);
    assert_golden(
        "list of compact codes",
        &bytes,
        &[
            "5453424301000d0009ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e000100000100000040000000000023000400000000000000",
            "00000000000000000000000000000000000000000000000000000000df080000",
            "000000000200000003000000010000007668ca68486a21041ea0aca32ea32b77",
        ],
        Some("de09d3c489d49bd0307b78777beec7c937a18a4dc10178695e275312cf883e57"),
    );
    let (message, _) = Message::parse(&bytes).unwrap();
    let read = values::read(message, key.parameters(), key.fingerprint()).unwrap();
    let secret = key.glwe().prepare();
    let decrypted = read.iter().map(|(count, ciphertext)| {
        let phases = &secret.phase(ciphertext)[..*count];
        let decode = |phase: &u64| phase.round_to_bits(PLAINTEXT_BITS) % (1 << PLAINTEXT_BITS);
        phases.iter().map(decode).collect::<Vec<u64>>()
    });
    assert!(decrypted.eq(codes));
}

/// The masks of linear answers are the uploads' to make; the independent reader decrypts such a list.
#[test]
fn lists_of_bodies_of_linear_answers() {
    let key = secret_key(FROZEN_RADIX, 1);
    let answers = linear_answers(256);
    let bytes = bodies_list(&key, &answers);
    assert_golden(
        "list of bodies of linear answers",
        &bytes,
        &[
            "545342430100100009ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e000100000100000040000000000023000400000000000000",
            "000000000000000000000000000000000000000000000000000000006c000000",
            "0000000002010707070707070707070707070707070707070707070707070707",
        ],
        Some("024c8bc93a576212425f5256b527df08701b77f087b640c1e64940c759b8f5a4"),
    );
    let (message, _) = Message::parse(&bytes).unwrap();
    let read = bodies::read(message, key.parameters(), key.fingerprint()).unwrap();
    assert_eq!(read.len(), answers.len());
    for (read, (count, windows)) in read.iter().zip(&answers) {
        assert_eq!(read.codes.len(), *count);
        assert_eq!(&read.windows, windows);
    }
}
