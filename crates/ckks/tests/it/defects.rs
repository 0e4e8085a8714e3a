//! The mistakes that were found in other encryptors for boards, each of which a test of theirs
//! would have found: none of them can be here.

use std::collections::HashSet;

use tfhe_sbc_ckks::{
    CkksError, Encryptor, Format, KeyMode, MemoryPlan, Parameters, SealGenerator, SecretKey, Slots,
    seal, workspace_bytes,
};
use tfhe_sbc_core::workspace::HeapWorkspace;

use crate::common::*;

const GENERATORS: [SealGenerator; 2] = [SealGenerator::Blake2xb, SealGenerator::Shake256];

fn symmetric(plan: MemoryPlan, generator: SealGenerator, values: &[f64]) -> Residues {
    let parameters = Parameters::N4096;
    let (key, slots) = (secret_key(&parameters), Slots::Real(values));
    let bytes = encrypt(
        &parameters,
        &key,
        plan,
        generator,
        seeds(10),
        slots,
        SCALE,
        Format::Raw,
    )
    .unwrap();
    residues(&parameters, Format::Raw, &bytes)
}

fn public(plan: MemoryPlan, values: &[f64]) -> Residues {
    let parameters = Parameters::N4096;
    let file = vector("pk.seal");
    let key = seal::public_key(&parameters, &file).unwrap();
    let (slots, format) = (Slots::Real(values), Format::Raw);
    let bytes = encrypt_public(&parameters, key, plan, seeds(10), slots, SCALE, format).unwrap();
    residues(&parameters, format, &bytes)
}

/// "The encoded plaintext is sent in the clear": in no configuration does any
/// polynomial, alone or with the other, decode without the key.
#[test]
fn nothing_decodes_without_the_key() {
    let parameters = Parameters::N4096;
    let values = vector_values();
    let zeros = vec![vec![0; 4096]; 3];
    for plan in MemoryPlan::ALL {
        let mut ciphertexts = vec![public(plan, &values)];
        ciphertexts.extend(GENERATORS.map(|generator| symmetric(plan, generator, &values)));
        for [c0, c1] in ciphertexts {
            let sum: Vec<Vec<u64>> = (0..3)
                .map(|i| {
                    let q = u64::from(parameters.data_primes()[i]);
                    c0[i].iter().zip(&c1[i]).map(|(a, b)| (a + b) % q).collect()
                })
                .collect();
            for open in [&c0, &c1, &sum] {
                // As a plaintext, modulo the first prime alone.
                let ntt = SlowNtt::new(1053818881, 4096);
                let coefficients: Vec<i64> = ntt
                    .inverse(&open[0])
                    .iter()
                    .map(|&c| {
                        if c > 1053818881 / 2 {
                            c as i64 - 1053818881
                        } else {
                            c as i64
                        }
                    })
                    .collect();
                let error = rms(&decode(&coefficients, SCALE), &values);
                assert!(error > 100.0, "{plan}: {error}");
            }
            // Neither is zero.
            assert!(c0 != zeros && c1 != zeros);
        }
    }
}

/// A generator that repeats itself, or noise made of the mask's words, shows in the words.
#[test]
fn words_do_not_repeat() {
    let parameters = Parameters::N4096;
    for generator in GENERATORS {
        let [c0, c1] = symmetric(MemoryPlan::Small, generator, &[]);
        let [p0, p1] = public(MemoryPlan::Small, &[]);
        for polynomial in [c0, c1, p0, p1] {
            for (values, &q) in polynomial.iter().zip(parameters.data_primes()) {
                // A chance of 2^-30 for each of 2^23 pairs.
                let different: HashSet<&u64> = values.iter().collect();
                assert!(different.len() >= 4096 - 2);
                let mean = values.iter().sum::<u64>() as f64 / 4096.0 / f64::from(q);
                assert!((mean - 0.5).abs() < 0.025, "{mean}");
            }
        }
    }
}

/// Noise and mask come of independent seeds: the noise is centred binomial of variance
/// 21/2, and neither of its coefficients has to do with the mask's.
#[test]
fn noise_is_independent_of_the_mask() {
    let parameters = Parameters::N4096;
    let key = ternary(&secret_key(&parameters));
    let ciphertext = symmetric(MemoryPlan::Fast, SealGenerator::Blake2xb, &[]);
    let noise = decrypt(&parameters, &ciphertext, &key);
    assert!(noise.iter().all(|e| e.abs() <= 21));
    let moment = |power: i32| noise.iter().map(|&e| (e as f64).powi(power)).sum::<f64>() / 4096.0;
    assert!(moment(1).abs() < 0.2, "mean {}", moment(1));
    assert!((moment(2) - 10.5).abs() < 1.0, "variance {}", moment(2));
    // 3·10.5² − 10.5 for a binomial.
    assert!(
        (moment(4) - 320.25).abs() < 75.0,
        "fourth moment {}",
        moment(4)
    );
    for (mask, &q) in ciphertext[1].iter().zip(parameters.data_primes()) {
        for shift in 0..4 {
            let products = noise.iter().zip(mask.iter().cycle().skip(shift));
            let correlation: f64 = products
                .map(|(&e, &a)| e as f64 * (a as f64 / f64::from(q) - 0.5))
                .sum::<f64>()
                / (4096.0 * 10.5 / 12.0f64).sqrt();
            assert!(correlation.abs() < 4.5, "{correlation}");
        }
    }
}

/// "The scale is ignored": what is decoded with a scale is what was encoded with it,
/// and SEAL's form states it.
#[test]
fn the_scale_is_honoured() {
    let parameters = Parameters::N4096;
    let (key, values) = (secret_key(&parameters), [1.5, -0.25, 3.0]);
    for scale in [(1u64 << 22) as f64, 3e7, (1u64 << 45) as f64] {
        let bytes = encrypt(
            &parameters,
            &key,
            MemoryPlan::Small,
            SealGenerator::Blake2xb,
            seeds(11),
            Slots::Real(&values),
            scale,
            Format::SealSeeded,
        )
        .unwrap();
        assert_eq!(bytes[PREFIX - 32..PREFIX - 24], scale.to_le_bytes());
        let ciphertext = residues(&parameters, Format::SealSeeded, &bytes);
        let slots = decode(&decrypt(&parameters, &ciphertext, &ternary(&key)), scale);
        let error = rms(&slots, &values);
        assert!(error < 4.6e-6 * SCALE / scale + 1e-11, "{scale} {error}");
    }
}

/// "Custom primes crash": of any size up to 31 bits, with a special prime and without.
#[test]
fn custom_primes_work() {
    for (n, data, special) in [
        (1024, &[12289][..], None),
        (4096, &[2147377153, 40961], Some(1054212097)),
        (4096, &[65537, 417793, 1053818881], Some(40961)),
        (8192, &[2147352577, 786433, 1179649], Some(2146959361)),
    ] {
        let parameters = Parameters::new(n, data, special).unwrap();
        let key = secret_key(&parameters);
        let secret = ternary(&key);
        let (values, scale) = ([0.5, 2.0, -1.0], if n == 1024 { 512.0 } else { SCALE });
        let symmetric = encrypt(
            &parameters,
            &key,
            MemoryPlan::Balanced,
            SealGenerator::Shake256,
            seeds(12),
            Slots::Real(&values),
            scale,
            Format::Raw,
        )
        .unwrap();

        // A public key (-(a·s + e), a) by the definition, with a plain error.
        let parts: Vec<[Vec<u8>; 2]> = parameters
            .key_primes()
            .map(|q| {
                let ntt = SlowNtt::new(q, n);
                let s = ntt.forward(&secret);
                let e: Vec<i64> = (0..n as i64).map(|i| i * 7919 % 7 - 3).collect();
                let e = ntt.forward(&e);
                let a: Vec<u64> = (0..n as u64)
                    .map(|i| i * i * 2654435761 % 1000003 * 977 % q)
                    .collect();
                let b = (0..n).map(|i| (2 * q - a[i] * s[i] % q - e[i]) % q);
                let bytes = |words: Vec<u64>| {
                    words
                        .iter()
                        .flat_map(|&w| (w as u32).to_le_bytes())
                        .collect::<Vec<u8>>()
                };
                [bytes(b.collect()), bytes(a.clone())]
            })
            .collect();
        let parts: Vec<[&[u8]; 2]> = parts.iter().map(|[b, a]| [&b[..], &a[..]]).collect();
        let public_key = tfhe_sbc_ckks::PublicKey::from_parts(&parameters, &parts).unwrap();
        let slots = Slots::Real(&values);
        let (plan, format) = (MemoryPlan::Balanced, Format::Raw);
        let public = encrypt_public(
            &parameters,
            public_key,
            plan,
            seeds(13),
            slots,
            scale,
            format,
        )
        .unwrap();

        let divided = special.is_some();
        for (bytes, deviation) in [
            (symmetric, 3.3),
            (public, if divided { 21.5 } else { 250.0 }),
        ] {
            let ciphertext = residues(&parameters, format, &bytes);
            let slots = decode(&decrypt(&parameters, &ciphertext, &secret), scale);
            let error = rms(&slots, &values);
            let bound = deviation * (n as f64 / 2.0).sqrt() / scale * 1.1;
            assert!(error < bound, "{data:?}: {error} {bound}");
        }
    }
}

/// "A short vector leaves the previous message's tail": values that are missing are zero,
/// whatever the session encrypted before.
#[test]
fn a_short_vector_is_padded_with_zeros() {
    let parameters = Parameters::N4096;
    let key = secret_key(&parameters);
    for plan in MemoryPlan::ALL {
        let bytes = workspace_bytes(&parameters, plan, KeyMode::Symmetric);
        let mut workspace = HeapWorkspace::new(bytes);
        let mut encryptor = Encryptor::new(
            &parameters,
            SecretKey::from_packed(&parameters, &key).unwrap(),
            plan,
            SealGenerator::Blake2xb,
            seeds(14),
            workspace.as_mut_slice(),
        )
        .unwrap();
        let long = vec![77.0; 2048];
        for values in [&long[..], &[1.0, 2.0, 3.0], &[], &long[..2047]] {
            let mut message = Vec::new();
            let sink = &mut |piece: &[u8]| {
                message.extend_from_slice(piece);
                Ok(())
            };
            encryptor
                .encrypt(Slots::Real(values), SCALE, Format::Raw, sink)
                .unwrap();
            let ciphertext = residues(&parameters, Format::Raw, &message);
            let slots = decode(&decrypt(&parameters, &ciphertext, &ternary(&key)), SCALE);
            let error = rms(&slots, values);
            assert!(error < 4.6e-6, "{plan} {} values: {error}", values.len());
        }
    }
}

/// Values that wrap around the modulus would decrypt to something else.
#[test]
fn values_that_do_not_fit_are_refused() {
    let parameters = Parameters::N1024;
    let key = secret_key(&parameters);
    let encrypt = |value| {
        encrypt(
            &parameters,
            &key,
            MemoryPlan::Small,
            SealGenerator::Blake2xb,
            seeds(15),
            Slots::Real(&[value; 512]),
            f64::from(1 << 20),
            Format::Raw,
        )
        .map(drop)
    };
    // Half the prime is 63.9 · 2^20.
    assert_eq!(encrypt(63.5), Ok(()));
    assert_eq!(encrypt(64.5), Err(CkksError::TooLarge));
    assert_eq!(encrypt(-64.5), Err(CkksError::TooLarge));
    assert_eq!(encrypt(f64::NAN), Err(CkksError::NotFinite { index: 0 }));
    assert_eq!(
        encrypt(f64::INFINITY),
        Err(CkksError::NotFinite { index: 0 })
    );
}
