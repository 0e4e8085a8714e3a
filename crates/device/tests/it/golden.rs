//! The bytes of the messages that a device sends, recorded: under a device key for two
//! expanders, under a public key for one.

use tfhe_sbc_device::{BodyRounding, ColumnValues, CompactEncoding, ExpanderKind, KeyMode};

use crate::common::frozen::{
    FROZEN_BOOLEAN, FROZEN_PUBLIC_BOOLEAN, FROZEN_PUBLIC_RADIX, FROZEN_RADIX, assert_golden,
};
use crate::common::{Device, send_columns, varied_values};

#[test]
fn short_radix_lists() {
    let mut device = Device::<u64>::new(FROZEN_RADIX, 1);
    let chacha20 = device.send(ExpanderKind::ChaCha20, 7, &[0, 1, 2, 3, 3]);
    assert_golden(
        "radix list, ChaCha20",
        &chacha20,
        &[
            "545342430100020109ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e0001000001000000400d02010202000005000000970e69bf",
            "7dc7a988f2c3078bbbd6fe0925ac37683993dd73dfb048f172dde7cb09000000",
            "00000000b363a62775c18a6700be790976",
        ],
        None,
    );
    let aes = device.send(ExpanderKind::Aes128Ctr, 7, &[0, 1, 2, 3, 3]);
    assert_golden(
        "radix list, AES",
        &aes,
        &[
            "545342430100020109ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e0001000001000000400d02020202000005000000970e69bf",
            "7dc7a988f2c3078bbbd6fe0925ac37683993dd73dfb048f172dde7cb09000000",
            "0000000050222b1c63558486007c91c958",
        ],
        None,
    );
}

#[test]
fn short_boolean_lists() {
    let mut device = Device::<u32>::new(FROZEN_BOOLEAN, 2);
    let chacha20 = device.send(ExpanderKind::ChaCha20, 8, &[0, 1, 1]);
    assert_golden(
        "boolean list, ChaCha20",
        &chacha20,
        &[
            "5453424301000201dd55720fd3a00e98825a35cb82f48d38edcc7c65d3a9b801",
            "cb2d40e86b7929f30001000002000000200901010101000003000000e0c007c4",
            "9865743e6cb25b28164524ea88317c8527e4cbf1b354afb22f68542e04000000",
            "00000000e9475a01b02c8cbc",
        ],
        None,
    );
    let aes = device.send(ExpanderKind::Aes128Ctr, 8, &[0, 1, 1]);
    assert_golden(
        "boolean list, AES",
        &aes,
        &[
            "5453424301000201dd55720fd3a00e98825a35cb82f48d38edcc7c65d3a9b801",
            "cb2d40e86b7929f30001000002000000200901020101000003000000e0c007c4",
            "9865743e6cb25b28164524ea88317c8527e4cbf1b354afb22f68542e04000000",
            "00000000e9bd71072952a518",
        ],
        None,
    );
}

#[test]
fn long_lists() {
    let mut device = Device::<u64>::new(FROZEN_RADIX, 1);
    let values = varied_values(&FROZEN_RADIX, 2 * 256 + 3);
    let chacha20 = device.send(ExpanderKind::ChaCha20, 9, &values);
    assert_golden(
        "long list, ChaCha20",
        &chacha20,
        &[
            "545342430100020109ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e0001000001000000400d020102020000030200006ae6ca99",
            "a0acd4f37b3f09ea9ae4d6b334d41d0c001305055d03afceb810f6f645030000",
            "00000000532521512711e33346fc799218c6c9a976b040b09ab9659dda5413af",
        ],
        Some("24ef4b30efc6128086c17b420cd0cbc2dc8941e69f70b4b94e3eabb2f6b0de54"),
    );
    let aes = device.send(ExpanderKind::Aes128Ctr, 9, &values);
    assert_golden(
        "long list, AES",
        &aes,
        &[
            "545342430100020109ee08bbab7ad9898b0a3d51262fd24b53b231844d9072af",
            "b3ce324422af4b3e0001000001000000400d020202020000030200006ae6ca99",
            "a0acd4f37b3f09ea9ae4d6b334d41d0c001305055d03afceb810f6f645030000",
            "00000000fa50bdfa1cd804b3b45bd881b3f995ab47565945d81b5ba48e4f15d7",
        ],
        Some("a83cc8e1bbef46d34270076714c6928abab4eae5c9eefc18e76e0208e8c970ff"),
    );
}

#[test]
fn lists_with_masks() {
    let mut device = Device::<u64>::new(FROZEN_PUBLIC_RADIX, 3);
    let (public, chacha20) = (KeyMode::Public, ExpanderKind::ChaCha20);
    assert_golden(
        "radix list with masks",
        &device.send_in(public, chacha20, 10, &[0, 1, 2, 3, 3]),
        &[
            "545342430100080064cabcb12a0c0af234ca87daa4a7fcec7c222d34f488c867",
            "412bd30910c431360001000001000000400d0200020215000500000000000000",
            "00000000000000000000000000000000000000000000000000000000a9020000",
            "000000000c2af3ade2b93f9f15aabaeb65d27427ed4bde3150d6e89c7579438a",
        ],
        Some("65800f40dd8781454198cfa97b2d07e80f595586045933f5c2979ccf883e9a91"),
    );
    let mut device = Device::<u32>::new(FROZEN_PUBLIC_BOOLEAN, 4);
    let values = varied_values(&FROZEN_PUBLIC_BOOLEAN, 256 + 3);
    assert_golden(
        "boolean list with masks",
        &device.send_in(public, chacha20, 11, &values),
        &[
            "54534243010008000ffb20ad2aa6afc74b851330c2ce90a375b6c26832fe73f3",
            "32c3e75e1a560bab00010000020000002009010001010f000301000000000000",
            "00000000000000000000000000000000000000000000000000000000a4080000",
            "00000000fcffd1a7779cc4d80184d5aeea9b830dcadd83b58046e4cc74194b52",
        ],
        Some("2cbbb3263d1a9ce4abac19548cb516e4aed59e9fa23f56286b443f0b242e87a2"),
    );
}

/// Columns of all encodings, the last one across two polynomials.
#[test]
fn column_lists() {
    let means = CompactEncoding::new(10, 14, 29, BodyRounding::ErrorFeedback).unwrap();
    let alarms = CompactEncoding::new(12, 1, 18, BodyRounding::Nearest).unwrap();
    let codes: Vec<u64> = (0..260).map(|i| i * 15).collect();
    let columns = [
        ColumnValues::Codes(means, &[3, 1023, 0, 512]),
        ColumnValues::Blocks(&[0, 1, 2, 3, 3]),
        ColumnValues::Codes(alarms, &codes),
    ];
    let mut device = Device::<u64>::new(FROZEN_PUBLIC_RADIX, 3);
    let mut seeded = |expander| send_columns(&mut device.session(expander, 12), &columns);
    let chacha20 = seeded(ExpanderKind::ChaCha20);
    assert_golden(
        "seeded column list, ChaCha20",
        &chacha20,
        &[
            "5453424301000b0164cabcb12a0c0af234ca87daa4a7fcec7c222d34f488c867",
            "412bd30910c43136000100000100000040000001000000000d010000d1f5f508",
            "817ecbc28e45ed962a20424f7839ae3aab6610edcc39c32f5ff1f1c67c020000",
            "00000000030004000000041d0a0e05000000020d02020401000003120c01ed58",
        ],
        Some("519a034c72d915f8b430657da539e26b11077951fd5cb163387fccd5d2d7f4d7"),
    );
    let aes = seeded(ExpanderKind::Aes128Ctr);
    assert_golden(
        "seeded column list, AES",
        &aes,
        &[
            "5453424301000b0164cabcb12a0c0af234ca87daa4a7fcec7c222d34f488c867",
            "412bd30910c43136000100000100000040000002000000000d010000d1f5f508",
            "817ecbc28e45ed962a20424f7839ae3aab6610edcc39c32f5ff1f1c67c020000",
            "00000000030004000000041d0a0e05000000020d02020401000003120c01620a",
        ],
        Some("fb1c5bedf55c039069e4b67158753d99caeee02224da2d790190dcbc116f5090"),
    );
    let masked = send_columns(
        &mut device.public_session(ExpanderKind::ChaCha20, 13),
        &columns,
    );
    assert_golden(
        "column list with masks",
        &masked,
        &[
            "5453424301000c0064cabcb12a0c0af234ca87daa4a7fcec7c222d34f488c867",
            "412bd30910c43136000100000100000040000000000023000d01000000000000",
            "000000000000000000000000000000000000000000000000000000003c0b0000",
            "00000000030004000000041d0a0e05000000020d02020401000003120c01efc8",
        ],
        Some("7648be73b38524092bc7b350f209e88aacaa44487a6031933fd005c76f4bb386"),
    );
}
