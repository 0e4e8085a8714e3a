//! Keys and ciphertexts of TFHE-rs: what it wrote is read, and what is damaged is refused.

use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::parameter_sets::{NIST_SUBMISSION_2_2, by_fingerprint, published_like};
use tfhe_sbc_core::parameters::ModulusSwitch;
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_foreign as foreign;
use tfhe_sbc_foreign::tfhe_rs::TfheRsError;
use tfhe_sbc_foreign::tfhe_rs::client_key::{ClientKey, read_client_key};
use tfhe_sbc_foreign::tfhe_rs::compressed::{Compressed, CompressedKind};
use tfhe_sbc_foreign::tfhe_rs::header;
use tfhe_sbc_foreign::tfhe_rs::integers::{FheType, Form};
use tfhe_sbc_oracle::adopted::adopt;

const CLIENT_KEY: &[u8] = include_bytes!("../../../../tests/vectors/tfhe-rs/client_key");
const BOOL: &[u8] = include_bytes!("../../../../tests/vectors/tfhe-rs/bool");
const UINT8: &[u8] = include_bytes!("../../../../tests/vectors/tfhe-rs/compressed_uint8");
const INT16: &[u8] = include_bytes!("../../../../tests/vectors/tfhe-rs/compressed_int16");
const COMPRESSED_BOOL: &[u8] = include_bytes!("../../../../tests/vectors/tfhe-rs/compressed_bool");

/// The place of the GLWE key's length in the file.
const GLWE_AT: usize = 0x5b;
/// The place of the parameters: behind the lengths, versions and scalars of both keys.
const PARAMETERS_AT: usize = GLWE_AT + 8 + 2048 * 8 + 12 + 4 + 8 + 918 * 8;
/// The place of the message modulus among them.
const MESSAGE_MODULUS_AT: usize = PARAMETERS_AT + 132;

fn key() -> ClientKey {
    read_client_key(CLIENT_KEY).unwrap()
}

fn patched(at: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = CLIENT_KEY.to_vec();
    bytes[at..at + with.len()].copy_from_slice(with);
    bytes
}

fn refused(bytes: &[u8]) -> TfheRsError {
    read_client_key(bytes).unwrap_err()
}

#[test]
fn the_parameters_are_those_of_its_default_configuration() {
    let set = key().parameters;
    assert_eq!(set.name().as_str(), "tfhe_rs_2_2");
    assert_eq!(
        (set.lwe_dimension().0, set.big_lwe_dimension().0),
        (918, 2048)
    );
    assert_eq!(
        set.glwe_noise(),
        NoiseDistribution::TUniform { bound_log2: 17 }
    );
    assert_eq!(
        set.lwe_noise(),
        NoiseDistribution::TUniform { bound_log2: 13 }
    );
    assert_eq!((set.pbs().base_log.0, set.pbs().level_count.0), (23, 1));
    let switch = set.key_switch();
    assert_eq!((switch.base_log.0, switch.level_count.0), (4, 4));
    assert_eq!(
        (set.max_noise_level(), set.modulus_switch()),
        (5, ModulusSwitch::MeanCompensated)
    );
    assert_eq!(set.log2_p_fail(), -129.581);
}

/// A client key with the parameters of Zama's NIST submission, which differ from the default ones in the dimension of the small
/// key, the noise of the large key and the failure probability.
fn nist_key() -> Vec<u8> {
    const SMALL_AT: usize = GLWE_AT + 8 + 2048 * 8 + 12 + 4;
    const GLWE_NOISE_AT: usize = PARAMETERS_AT + 76;
    const P_FAIL_AT: usize = MESSAGE_MODULUS_AT + 32;
    let mut bytes = CLIENT_KEY.to_vec();
    let mut replace = |at: usize, old: &[u8], new: &[u8]| {
        assert_eq!(bytes[at..at + old.len()], *old, "{at}");
        bytes[at..at + new.len()].copy_from_slice(new);
    };
    for at in [SMALL_AT, PARAMETERS_AT + 16] {
        replace(at, &918u64.to_le_bytes(), &886u64.to_le_bytes());
    }
    replace(GLWE_NOISE_AT, &17u32.to_le_bytes(), &16u32.to_le_bytes());
    replace(
        P_FAIL_AT,
        &f64::to_le_bytes(-129.581),
        &f64::to_le_bytes(-128.0),
    );
    bytes.drain(SMALL_AT + 8 + 886 * 8..SMALL_AT + 8 + 918 * 8);
    bytes
}

#[test]
fn a_key_of_the_nist_submission_is_known_by_its_name() {
    let nist = read_client_key(&nist_key()).unwrap();
    assert_eq!(nist.parameters.log2_p_fail(), -128.0);
    let adopted = adopt(&nist.parameters).unwrap();
    assert_eq!(*adopted.as_set(), NIST_SUBMISSION_2_2);
    assert_eq!(by_fingerprint(adopted.fingerprint()), Some(adopted));
    assert_eq!(published_like(key().parameters.as_set()), None);
}

#[test]
fn what_a_client_of_tfhe_rs_encrypted_is_decrypted_with_the_key() {
    let key = key();
    for (bytes, kind, value) in [
        (UINT8, CompressedKind::Uint, 0xb1),
        (INT16, CompressedKind::Int, 0xfffe),
        (COMPRESSED_BOOL, CompressedKind::Bool, 1),
    ] {
        let (compressed, rest) = Compressed::read(bytes, &key.parameters).unwrap();
        assert_eq!((compressed.kind, rest), (kind, &[][..]));
        assert_eq!(compressed.decrypt(&key.glwe, &key.parameters), Some(value));
        // With another key it is noise.
        let mut reversed = zeroize::Zeroizing::new(key.glwe.coefficients().to_vec());
        reversed.reverse();
        let (secret, size) = (
            key.parameters.glwe_secret(),
            key.parameters.polynomial_size(),
        );
        let other = GlweSecretKey::from_coefficients(secret, reversed, size).unwrap();
        assert_ne!(compressed.decrypt(&other, &key.parameters), Some(value));
    }
    // One after the other.
    let both = [UINT8, INT16].concat();
    let (_, rest) = Compressed::read(&both, &key.parameters).unwrap();
    assert_eq!(rest, INT16);
}

#[test]
fn a_boolean_of_tfhe_rs_is_written_byte_for_byte() {
    let parameters = key().parameters;
    let form = Form::new(FheType::Bool, &parameters).unwrap();
    let start = BOOL.len() - form.byte_count();
    assert_eq!(start, 0);
    // Header, three versions; version, version, length; the scalars.
    let scalars_at = 57 + 12 + 16;
    let words = BOOL[scalars_at..scalars_at + 2049 * 8].as_chunks().0;
    let lwe: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
    let mut out = Vec::new();
    form.write([&lwe[..]], &mut out);
    assert!(out == BOOL);
    let decoded = key().glwe.to_lwe_secret_key();
    let lwe = tfhe_sbc_core::lwe::LweCiphertext::from_vec(lwe).unwrap();
    assert_eq!(parameters.block_encoding().decode(decoded.phase(&lwe)), 1);
}

#[test]
fn every_truncation_of_a_client_key_is_refused() {
    for len in (0..CLIENT_KEY.len()).filter(|len| len % 97 == 0 || *len > 31_000 || *len < 200) {
        let error = refused(&CLIENT_KEY[..len]);
        let expected = matches!(error, TfheRsError::Truncated { .. } | TfheRsError::Header);
        assert!(expected, "{len}: {error}");
    }
    assert_eq!(
        refused(&[CLIENT_KEY, &[0]].concat()),
        TfheRsError::TrailingBytes(1)
    );
}

#[test]
fn every_truncation_of_a_compressed_value_is_refused() {
    let parameters = key().parameters;
    for bytes in [UINT8, COMPRESSED_BOOL] {
        for len in 0..bytes.len() {
            assert!(
                Compressed::read(&bytes[..len], &parameters).is_err(),
                "{len}"
            );
        }
    }
}

#[test]
fn sizes_that_would_exhaust_memory_are_refused() {
    for len in [2049, 1 << 40, u64::MAX / 8, u64::MAX] {
        let error = refused(&patched(GLWE_AT, &u64::to_le_bytes(len)));
        assert!(!matches!(error, TfheRsError::Header), "{len}: {error}");
    }
    // The number of blocks of an integer.
    let mut forged = UINT8.to_vec();
    forged[0x53..0x5b].copy_from_slice(&(1u64 << 50).to_le_bytes());
    let error = Compressed::read(&forged, &key().parameters).unwrap_err();
    assert!(matches!(error, TfheRsError::Truncated { .. }), "{error}");
}

#[test]
fn what_is_not_served_is_refused_by_name() {
    let said = |at, with: &[u8], what: &str| {
        let error = refused(&patched(at, with)).to_string();
        assert!(error.contains(what), "{error}");
    };
    // The variant of the atomic pattern, and versions about it.
    said(GLWE_AT - 12, &[1], "KS32");
    said(GLWE_AT - 12, &[2], "atomic pattern");
    said(
        GLWE_AT - 28,
        &[8],
        "integer client key has version 8, and version 9 is known",
    );
    said(GLWE_AT - 4, &[7], "GLWE secret key has version 7");
    // The variant of the parameters, and what they say.
    said(PARAMETERS_AT + 4, &[1], "multi-bit");
    said(PARAMETERS_AT + 8, &[1], "classic parameters has version 1");
    said(PARAMETERS_AT + 16, &919u64.to_le_bytes(), "key length");
    said(PARAMETERS_AT + 28, &2u64.to_le_bytes(), "key length");
    said(PARAMETERS_AT + 40, &1024u64.to_le_bytes(), "key length");
    said(
        PARAMETERS_AT + 40,
        &1000u64.to_le_bytes(),
        "polynomial_size",
    );
    said(
        PARAMETERS_AT + 40,
        &u64::MAX.to_le_bytes(),
        "polynomial size",
    );
    // The message modulus, behind two noises and two decompositions.
    said(MESSAGE_MODULUS_AT, &8u64.to_le_bytes(), "2 message bits");
    // A coefficient of the key.
    said(GLWE_AT + 8, &[2], "GLWE secret key");
    // Another type, another header.
    assert_eq!(
        refused(UINT8).to_string(),
        "this is a 'high_level_api::CompressedFheUint' of TFHE-rs, but a \
         'high_level_api::ClientKey' is needed here"
    );
    said(10, b"4", "header's version");
    assert_eq!(refused(b"TSBC and more"), TfheRsError::Header);
    assert_eq!(
        header::type_name(CLIENT_KEY),
        Some("high_level_api::ClientKey")
    );
}

/// The key as `bincode` writes it: no header, and no versions.
fn bare_key() -> Vec<u8> {
    let slice = |from: usize, len: usize| &CLIENT_KEY[from..][..len];
    let parameter = |at: usize, len: usize| slice(PARAMETERS_AT + at, len);
    let small_at = GLWE_AT + 8 + 2048 * 8 + 16;
    let numbers = [16, 28, 40].map(|at| parameter(at, 8));
    let noises = [52, 60, 68, 76].map(|at| parameter(at, 4));
    let moduli = [84, 96, 108, 120, 132, 144, 156].map(|at| parameter(at, 8));
    [
        &[0; 4][..],
        slice(GLWE_AT, 8 + 2048 * 8),
        parameter(40, 8),
        slice(small_at, 8 + 918 * 8),
        &[0; 4],
        &numbers.concat(),
        &noises.concat(),
        &moduli.concat(),
        // The failure probability; behind a version the modulus; the order; the modulus switch.
        parameter(164, 8),
        parameter(176, 24),
        parameter(204, 4),
        parameter(212, 4),
        // Eight options and an empty tag.
        &[0; 8 + 8],
    ]
    .concat()
}

#[test]
fn a_key_of_bare_bincode_is_read_and_recognised() {
    let bare = bare_key();
    let (expected, found) = (key(), read_client_key(&bare).unwrap());
    assert_eq!(found.parameters, expected.parameters);
    assert!(found.glwe.coefficients() == expected.glwe.coefficients());
    assert_eq!(foreign::describe(&bare), foreign::describe(CLIENT_KEY));
    assert_eq!(foreign::describe(&bare[..bare.len() - 1]), None);
}

#[test]
fn objects_in_another_form_are_recognised() {
    for (at, with) in [(10, b'4'), (23, b'9')] {
        let described = foreign::describe(&patched(at, &[with])).unwrap();
        assert_eq!(described.library, "TFHE-rs");
        assert_eq!(described.kind, "unknown object");
        let (name, why) = &described.details[0];
        assert_eq!(*name, "cannot be read");
        assert!(why.contains("save it with tfhe 1.8"), "{why}");
    }
    let cut = foreign::describe(&CLIENT_KEY[..30]).unwrap();
    assert!(cut.details[0].1.contains("cut short"));
    assert_eq!(foreign::describe(b"TSBC and more"), None);
    assert_eq!(foreign::describe(&[]), None);
}

#[test]
fn compressed_values_that_are_not_served_are_refused_with_what_to_give() {
    let parameters = key().parameters;
    let said = |at: usize, with: u8, words: [&str; 2]| {
        let mut bytes = COMPRESSED_BOOL.to_vec();
        bytes[at] = with;
        let error = Compressed::read(&bytes, &parameters)
            .unwrap_err()
            .to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    let name = "high_level_api::CompressedFheBool";
    let header = (8 + 3) + 4 + (8 + 3) + (8 + name.len());
    // Two versions, and whether it is seeded; two versions, the body, a version and the size.
    said(header + 8, 1, ["server compressed", "a client encrypted"]);
    said(
        header + 12 + 8 + 8 + 4,
        2,
        ["other parameters", "give the client key"],
    );
}

#[test]
fn no_error_and_no_debug_form_shows_the_key() {
    let shown = format!("{:?}", key());
    assert!(
        shown.contains("redacted") && !shown.contains("[0, 1"),
        "{shown}"
    );
}
