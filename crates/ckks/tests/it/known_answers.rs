//! Microsoft SEAL's and SEAL-Embedded's own files.

use tfhe_sbc_ckks::seal::{self, Level};
use tfhe_sbc_ckks::{
    Format, MemoryPlan, Parameters, SealGenerator, SecretKey, Slots, packed_bytes,
};
use tfhe_sbc_core::workspace::HeapWorkspace;

use crate::common::*;

/// Their files have headers of version 4.4, ours of 3.7.
fn as_version_37(mut bytes: Vec<u8>) -> Vec<u8> {
    for at in 0..bytes.len() - 5 {
        if bytes[at..at + 5] == [0x5e, 0xa1, 16, 4, 4] {
            bytes[at + 3..at + 5].copy_from_slice(&[3, 7]);
        }
    }
    bytes
}

#[test]
fn encryption_parameters() {
    let file = vector("parms.seal");
    assert_eq!(seal::encryption_parameters(&file), Ok(Parameters::N4096));
    let mut ours = Vec::new();
    let len = seal::write_encryption_parameters(&Parameters::N4096, &mut |piece| {
        ours.extend_from_slice(piece);
        Ok(())
    });
    assert_eq!(len, Ok(ours.len()));
    assert!(ours == as_version_37(file));
    for parameters in Parameters::SEAL_EMBEDDED {
        let mut bytes = Vec::new();
        seal::write_encryption_parameters(&parameters, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        assert_eq!(bytes.len(), seal::encryption_parameters_bytes(&parameters));
        assert_eq!(seal::encryption_parameters(&bytes), Ok(parameters));
    }
}

#[test]
fn ids_of_parameters() {
    let id = |level| seal::parms_id(&Parameters::N4096, level);
    assert_eq!(id(Level::Key), vector("sk.seal")[16..48]);
    assert_eq!(id(Level::Data), vector("ct_sym_seeded_37.seal")[16..48]);
}

/// SEAL's file and SEAL-Embedded's are the same key.
#[test]
fn secret_keys() {
    let parameters = Parameters::N4096;
    let expected = vector("sk_4096.dat");
    let mut packed = vec![0; packed_bytes(4096)];
    let mut scratch = vec![0; 4096];
    seal::secret_key(&parameters, &vector("sk.seal"), &mut packed, &mut scratch).unwrap();
    assert!(packed == expected);
    assert!(scratch.iter().all(|&word| word == 0));
    assert!(SecretKey::from_packed(&parameters, &expected).is_ok());
}

/// Our file of a key is the one that SEAL wrote.
#[test]
fn secret_keys_in_seals_form() {
    let parameters = Parameters::N4096;
    let packed = vector("sk_4096.dat");
    let key = SecretKey::from_packed(&parameters, &packed).unwrap();
    let mut scratch = HeapWorkspace::new(seal::key_scratch_bytes(&parameters));
    let mut file = Vec::new();
    let sink = &mut |piece: &[u8]| {
        file.extend_from_slice(piece);
        Ok(())
    };
    let len = seal::write_secret_key(&parameters, key, scratch.as_mut_slice(), sink);
    assert_eq!(len, Ok(file.len()));
    assert!(file == as_version_37(vector("sk.seal")));
    assert!(scratch.as_mut_slice().iter().all(|&byte| byte == 0));
}

/// The tests' own decryption reads SEAL's ciphertext. Ours has the same form: the same bytes
/// before the words, and behind them up to the seed.
#[test]
fn a_seeded_ciphertext() {
    let parameters = Parameters::N4096;
    let (theirs, key) = (vector("ct_sym_seeded_37.seal"), vector("sk_4096.dat"));
    let values = vector_values();
    let of_theirs = residues(&parameters, Format::SealSeeded, &theirs);
    let coefficients = decrypt(&parameters, &of_theirs, &ternary(&key));
    let error = rms(&decode(&coefficients, SCALE), &values);
    assert!((4.25e-6..4.55e-6).contains(&error), "{error:e}");

    let ours = encrypt(
        &parameters,
        &key,
        MemoryPlan::Balanced,
        SealGenerator::Blake2xb,
        seeds(7),
        Slots::Real(&values),
        SCALE,
        Format::SealSeeded,
    )
    .unwrap();
    assert_eq!(ours.len(), theirs.len());
    assert_eq!(ours[..PREFIX], theirs[..PREFIX]);
    let seed = theirs.len() - 64;
    assert_eq!(ours[seed - 17..seed], theirs[seed - 17..seed]);

    // The same plaintext but for noise: at most 21 on either side, of variance 21/2.
    let of_ours = residues(&parameters, Format::SealSeeded, &ours);
    let ours = decrypt(&parameters, &of_ours, &ternary(&key));
    let difference: Vec<i64> = ours.iter().zip(&coefficients).map(|(a, b)| a - b).collect();
    assert!(difference.iter().all(|d| d.abs() <= 2 * 21 + 1));
    let variance = difference.iter().map(|d| d * d).sum::<i64>() as f64 / 4096.0;
    assert!((19.0..23.0).contains(&variance), "{variance}");
}
