//! SEAL's and SEAL-Embedded's files: told apart, taken in, and given back as they came.

use tfhe_sbc_ckks::seal::SealError;
use tfhe_sbc_ckks::{Format, Parameters, Seed, SeedSequence};
use tfhe_sbc_foreign::seal::{
    CompressedError, PublicKeyFile, SecretKeyFile, StreamError, ciphertexts, convert,
    encryption_parameters, is_secret_key, standard_parameters, uncompressed,
};
use tfhe_sbc_foreign::{Description, describe};

use crate::vectors::seal as vector;

const SCALE: Option<f64> = Some((1 << 25) as f64);

#[track_caller]
fn described(bytes: &[u8], library: &str, kind: &str, details: &[(&str, &str)]) {
    let description: Description = describe(bytes).unwrap();
    assert_eq!(
        (description.library, &description.kind[..]),
        (library, kind)
    );
    for (name, value) in details {
        let found = description.details.iter().find(|(found, _)| found == name);
        assert_eq!(
            found.map(|(_, value)| &value[..]),
            Some(*value),
            "{name}: {description:?}"
        );
    }
}

#[test]
fn every_file_is_described() {
    let seal = "Microsoft SEAL";
    for (name, kind, details) in [
        (
            "parms.seal",
            "CKKS encryption parameters",
            &[("special prime", "417793"), ("slots", "2048")][..],
        ),
        (
            "sk.seal",
            "secret key",
            &[("version", "4.4"), ("coefficients", "16384")],
        ),
        (
            "pk.seal",
            "public key",
            &[
                ("primes", "4"),
                ("parameters", "SEAL-Embedded's of n = 4096"),
            ],
        ),
        (
            "ct_sym_seeded.seal",
            "seeded ciphertext",
            &[("seed for", "BLAKE2Xb"), ("scale", "2^25")],
        ),
        (
            "ct_sym_seeded_37.seal",
            "seeded ciphertext",
            &[("version", "3.7"), ("primes", "3")],
        ),
        (
            "ct_sym_expanded.seal",
            "ciphertext",
            &[("polynomials", "2"), ("polynomial size", "4096")],
        ),
    ] {
        described(&vector(name), seal, kind, details);
    }
    let two = [vector("ct_asym.seal"), vector("ct_sym_seeded_37.seal")].concat();
    described(&two, seal, "ciphertext", &[("objects like this", "2")]);
    let mut cut = vector("ct_asym.seal");
    cut.truncate(1000);
    described(
        &cut,
        seal,
        "ciphertext",
        &[("cut short", "196721 bytes were announced")],
    );
    let mut zlib = vector("sk.seal");
    zlib[5] = 1;
    described(
        &zlib,
        seal,
        "compressed object",
        &[("compressed by", "zlib")],
    );

    let embedded = "SEAL-Embedded";
    let size = ("polynomial size", "4096");
    described(&vector("sk_4096.dat"), embedded, "secret key", &[size]);
    described(
        &vector("stream_sym.bin"),
        embedded,
        "raw ciphertexts",
        &[size, ("ciphertexts", "1")],
    );
    described(
        &vector("stream_sym.bin")[..16384],
        embedded,
        "part of a public key",
        &[size],
    );

    // Others are nobody's: texts, messages of ours, bytes of those sizes.
    let noise: Vec<u8> = (0..16384u32)
        .map(|i| (i.wrapping_mul(2654435761) >> 13) as u8)
        .collect();
    for bytes in [
        &b"TSBC"[..],
        b"",
        b"level\n1.5\n",
        &noise[..1024],
        &noise,
        &[0x5e, 0xa1, 16],
    ] {
        assert_eq!(describe(bytes), None, "{}", bytes.len());
    }
}

#[test]
fn keys_come_back_as_they_went() {
    let parameters = Parameters::N4096;
    assert_eq!(standard_parameters(&vector("sk.seal")), Some(parameters));
    assert_eq!(
        standard_parameters(&vector("ct_asym.seal")),
        Some(parameters)
    );
    assert_eq!(standard_parameters(&vector("parms.seal")), None);
    assert!(is_secret_key(&vector("sk.seal")));
    assert!(!is_secret_key(&vector("pk.seal")));

    let of_seal = SecretKeyFile::from_seal(&parameters, &vector("sk.seal")).unwrap();
    assert!(of_seal.packed() == vector("sk_4096.dat"));
    let packed = SecretKeyFile::from_packed(&parameters, &vector("sk_4096.dat")).unwrap();
    let object = packed.to_seal().unwrap();
    let again = SecretKeyFile::from_seal(&parameters, &object).unwrap();
    assert!(again.packed() == packed.packed());
    assert_eq!(format!("{again:?}"), "SecretKeyFile(..)");
    let public = packed
        .public_key(&mut SeedSequence::new(Seed::from_bytes([1; 32])))
        .unwrap();
    assert!(
        PublicKeyFile::from_seal(&parameters, public)
            .unwrap()
            .as_seal()
            .is_some()
    );

    let file = encryption_parameters(&parameters);
    assert_eq!(
        tfhe_sbc_ckks::seal::encryption_parameters(&file),
        Ok(parameters)
    );
}

#[test]
fn streams_are_converted_one_by_one() {
    let parameters = Parameters::N4096;
    let (seeded, raw) = (vector("ct_sym_seeded_37.seal"), vector("stream_sym.bin"));
    let stream = [&seeded[..], &vector("ct_asym.seal"), &seeded].concat();
    let converted = convert(&parameters, None, &stream).unwrap();
    assert_eq!(converted.count, 3);
    let each = Format::Seal.ciphertext_bytes(&parameters);
    assert_eq!(converted.bytes.len(), 3 * each);
    assert!(converted.bytes[..each] == converted.bytes[2 * each..]);
    // An expanded object stays as it is.
    let again = convert(&parameters, None, &converted.bytes).unwrap();
    assert!(again == converted);

    let two = convert(&parameters, SCALE, &raw.repeat(2)).unwrap();
    assert_eq!((two.count, two.bytes.len()), (2, 2 * each));
    // Prime after prime becomes polynomial after polynomial.
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let words = &two.bytes[each - 8 * 2 * 3 * 4096..];
    for (polynomial, prime, i) in [(0, 0, 0), (0, 2, 17), (1, 0, 4095), (1, 1, 5)] {
        let theirs = 4 * ((2 * prime + polynomial) * 4096 + i);
        let theirs = u32::from_le_bytes(*raw[theirs..].first_chunk().unwrap());
        assert_eq!(
            word(words, 8 * ((3 * polynomial + prime) * 4096 + i)),
            u64::from(theirs)
        );
    }
}

/// One ciphertext in 2^24 begins with the bytes of SEAL's objects.
#[test]
fn raw_streams_may_begin_as_objects_do() {
    let parameters = Parameters::N4096;
    let raw = vector("stream_sym.bin");
    for begin in [
        &[0x5e, 0xa1, 16, 3][..],
        // Zeros where a header has them, and no version of SEAL's.
        &[0x5e, 0xa1, 16, 7, 4, 0, 0, 0],
    ] {
        let stream = [begin, &raw[begin.len()..], &raw].concat();
        let converted = convert(&parameters, SCALE, &stream).unwrap();
        assert_eq!(converted.count, 2);
        assert!(describe(&stream).is_some());
    }
}

#[test]
fn bad_streams_are_refused_with_their_place() {
    let parameters = Parameters::N4096;
    let (seeded, raw) = (vector("ct_sym_seeded_37.seal"), vector("stream_sym.bin"));
    let error = |scale, stream: &[u8]| convert(&parameters, scale, stream).unwrap_err();
    assert_eq!(error(None, &[]), StreamError::Empty);
    assert_eq!(error(None, &raw), StreamError::NoScale);
    let second = |stream: &[u8]| match error(SCALE, stream) {
        StreamError::Ciphertext { number: 2, error } => error,
        other => panic!("{other}"),
    };
    let needed = raw.len() as u64;
    let short = second(&[&raw[..], &raw[1..]].concat());
    assert_eq!(
        short,
        SealError::Length {
            needed,
            found: raw.len() - 1
        }
    );
    let cut = second(&[&seeded[..], &seeded[..500]].concat());
    assert_eq!(
        cut,
        SealError::Length {
            needed: seeded.len() as u64,
            found: 500
        }
    );
    let mut wrong = [&seeded[..], &seeded].concat();
    wrong[seeded.len() + 16] ^= 1;
    assert_eq!(second(&wrong), SealError::OtherParameters);
    // One bit of a header's zeros.
    let mut wrong = [&seeded[..], &seeded].concat();
    wrong[seeded.len() + 6] ^= 1;
    assert_eq!(error(None, &wrong), StreamError::NoScale);
    wrong[seeded.len() + 6] ^= 1;
    wrong[seeded.len() + 16] ^= 1;
    // A wrong one is the last.
    assert_eq!(ciphertexts(&parameters, SCALE, &wrong).count(), 2);
    let other = error_of_key(&vector("sk.seal"));
    assert_eq!(other, SealError::OtherParameters);
}

fn error_of_key(object: &[u8]) -> SealError {
    SecretKeyFile::from_seal(&Parameters::N8192, object).unwrap_err()
}

/// A frame of one block that repeats a byte, and one that is stored: written by hand, RFC 8878.
fn compressed(content_len: u32, block: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1010_0000];
    frame.extend_from_slice(&content_len.to_le_bytes());
    frame.extend_from_slice(block);
    let mut object = vec![0x5e, 0xa1, 16, 4, 0, 2, 0, 0];
    object.extend_from_slice(&(16 + frame.len() as u64).to_le_bytes());
    object.extend_from_slice(&frame);
    object
}

#[test]
fn compressed_objects_are_read() {
    // The last block, stored, of 8 bytes.
    let object = compressed(8, &[8 << 3 | 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let mut expected = vec![0x5e, 0xa1, 16, 4, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0];
    expected.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(uncompressed(&object).unwrap()[..] == expected);
    described(
        &object,
        "Microsoft SEAL",
        "modulus",
        &[("compressed by", "Zstandard")],
    );
    // Between others, which stay as they are.
    let plain = vector("parms.seal");
    let three = uncompressed(&[&plain[..], &object, &plain, b"rest"].concat()).unwrap();
    assert!(three[..] == [&plain[..], &expected, &plain, b"rest"].concat());

    for len in 16..object.len() {
        let error = uncompressed(&object[..len]).unwrap_err();
        assert!(matches!(error, CompressedError::Truncated { .. }), "{len}");
    }
    let mut damaged = object.clone();
    damaged[17] ^= 1;
    assert_eq!(
        uncompressed(&damaged).unwrap_err(),
        CompressedError::Damaged
    );
    let mut longer = object.clone();
    longer.push(0);
    longer[8] += 1;
    assert_eq!(uncompressed(&longer).unwrap_err(), CompressedError::Damaged);
    described(&damaged, "Microsoft SEAL", "compressed object", &[]);
}

/// Objects grow beyond what is read in one go, and beyond their compressed size.
#[test]
fn compressed_objects_grow() {
    let content: Vec<u8> = (0..20_000u32).map(|i| (i % 251) as u8).collect();
    // A block that is stored, and the last, a byte that is repeated.
    let block = |kind: u32, len: u32| ((len << 3 | kind).to_le_bytes()[..3]).to_vec();
    let blocks = [
        block(0, 20_000),
        content.clone(),
        block(3, 100_000),
        vec![9],
    ]
    .concat();
    let object = compressed(120_000, &blocks);
    let three = uncompressed(&object.repeat(3)).unwrap();
    assert_eq!(three.len(), 3 * 120_016);
    for one in three.chunks(120_016) {
        assert_eq!(
            one[..16],
            [
                &[0x5e, 0xa1, 16, 4, 0, 0, 0, 0][..],
                &120_016u64.to_le_bytes()
            ]
            .concat()
        );
        assert!(one[16..20_016] == content);
        assert!(one[20_016..].iter().all(|&byte| byte == 9));
    }
}

/// A small object may grow to a size to which a thousand of them together may not.
#[test]
fn many_small_objects_are_bounded_together() {
    // The last block, of 3800 times one byte.
    let block = (3800u32 << 3 | 3).to_le_bytes();
    let object = compressed(3800, &[&block[..3], &[7]].concat());
    assert!(object.len() < 30);
    assert_eq!(uncompressed(&object).unwrap().len(), 3816);
    let two = uncompressed(&object.repeat(2));
    assert_eq!(two.unwrap_err(), CompressedError::TooLarge);
    let many = uncompressed(&object.repeat(1000));
    assert_eq!(many.unwrap_err(), CompressedError::TooLarge);
}

/// 128 KiB a block of four bytes: few bytes that would be gigabytes.
#[test]
fn a_bomb_is_refused() {
    let mut blocks = Vec::new();
    for _ in 0..300 {
        // Repeated, of 128 KiB, not the last.
        let header = (128u32 << 10) << 3 | 1 << 1;
        blocks.extend_from_slice(&header.to_le_bytes()[..3]);
        blocks.push(7);
    }
    blocks.extend_from_slice(&[1, 0, 0]);
    let mut object = compressed(0, &blocks);
    // A window of 1 MiB in place of a stated size.
    object.splice(20..25, [0, 10 << 3]);
    let len = object.len() as u64;
    object[8..16].copy_from_slice(&len.to_le_bytes());
    assert_eq!(
        uncompressed(&object).unwrap_err(),
        CompressedError::TooLarge
    );
}
