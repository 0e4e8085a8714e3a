//! Tests that encrypted values come out again, with the noise that they should have and no more,
//! under all parameters, plans and forms; and that the bytes never change.

use proptest::prelude::*;
use tfhe_sbc_ckks::{
    CkksError, Format, MemoryPlan, Parameters, PublicKey, SealGenerator, Slots, seal,
};
use tfhe_sbc_core::random::blake2b_256;
use tfhe_sbc_core::workspace::HeapWorkspace;

use crate::common::*;

const GENERATORS: [SealGenerator; 2] = [SealGenerator::Blake2xb, SealGenerator::Shake256];

fn decrypted(parameters: &Parameters, format: Format, bytes: &[u8], key: &[u8]) -> Vec<i64> {
    decrypt(
        parameters,
        &residues(parameters, format, bytes),
        &ternary(key),
    )
}

/// All plans, forms and generators at n = 4096: the same bytes from every plan, the same
/// ciphertext in every form, and SEAL's precision.
#[test]
fn symmetric_at_every_plan_form_and_generator() {
    let parameters = Parameters::N4096;
    let (key, values) = (secret_key(&parameters), vector_values());
    for generator in GENERATORS {
        let mut ciphertexts = Vec::new();
        for format in [Format::Seal, Format::SealSeeded, Format::Raw] {
            let [small, balanced, fast] = MemoryPlan::ALL.map(|plan| {
                let slots = Slots::Real(&values);
                encrypt(
                    &parameters,
                    &key,
                    plan,
                    generator,
                    seeds(1),
                    slots,
                    SCALE,
                    format,
                )
                .unwrap()
            });
            assert!(small == balanced && balanced == fast, "{format:?}");
            assert_eq!(small.len(), format.ciphertext_bytes(&parameters));
            ciphertexts.push(residues(&parameters, format, &small));
        }
        assert!(ciphertexts[0] == ciphertexts[1] && ciphertexts[1] == ciphertexts[2]);
        let coefficients = decrypt(&parameters, &ciphertexts[0], &ternary(&key));
        let error = rms(&decode(&coefficients, SCALE), &values);
        // sqrt(21/2 + 2/12) · sqrt(4096/2) / 2^25 is 4.405e-6, for roundings of a real vector's
        // coefficients all are in the real parts; a 50th is 1.3 standard deviations.
        assert!((4.30e-6..4.48e-6).contains(&error), "{error:e}");
    }
}

/// SEAL's own key, with its special prime: noise as SEAL's. Its words in SEAL-Embedded's
/// layout: the same. Without the special prime: SEAL-Embedded's noise.
#[test]
fn public_key_at_every_plan_and_form() {
    let parameters = Parameters::N4096;
    let (file, values) = (vector("pk.seal"), vector_values());
    let secret = vector("sk_4096.dat");
    let words: Vec<Vec<u8>> = file[0x71..]
        .chunks(8 * 4096)
        .map(|words| {
            words
                .chunks(8)
                .flat_map(|word| word[..4].to_vec())
                .collect()
        })
        .collect();
    let parts: Vec<[&[u8]; 2]> = (0..4).map(|i| [&words[i][..], &words[4 + i][..]]).collect();

    let seal_key = seal::public_key(&parameters, &file).unwrap();
    let whole_key = PublicKey::from_parts(&parameters, &parts).unwrap();
    let data_key = PublicKey::from_parts(&parameters, &parts[..3]).unwrap();
    let mut divided = None;
    // sqrt(1/12 + 4096·2/3/12 + ...) · sqrt(4096/2) / 2^25 is 2.04e-5 with the rounding's share of
    // the secret's weight; without division sqrt(4096·21/2·4/3)·… is 3.2e-4.
    for (key, expected) in [
        (seal_key, 1.94e-5..2.14e-5),
        (whole_key, 1.94e-5..2.14e-5),
        (data_key, 3.05e-4..3.4e-4),
    ] {
        let mut ciphertexts = Vec::new();
        for format in [Format::Seal, Format::Raw] {
            let [small, balanced, fast] = MemoryPlan::ALL.map(|plan| {
                let slots = Slots::Real(&values);
                encrypt_public(&parameters, key, plan, seeds(2), slots, SCALE, format).unwrap()
            });
            assert!(small == balanced && balanced == fast, "{format:?}");
            ciphertexts.push(residues(&parameters, format, &small));
        }
        assert!(ciphertexts[0] == ciphertexts[1]);
        let coefficients = decrypt(&parameters, &ciphertexts[0], &ternary(&secret));
        let error = rms(&decode(&coefficients, SCALE), &values);
        assert!(expected.contains(&error), "{error:e}");
        if expected.end < 1e-4 {
            let same = divided.get_or_insert_with(|| ciphertexts[0].clone());
            assert!(*same == ciphertexts[0], "the layout of the key shows");
        }
    }
}

#[test]
fn every_size_of_seal_embedded() {
    for parameters in Parameters::SEAL_EMBEDDED {
        let key = secret_key(&parameters);
        let n = parameters.polynomial_size();
        let scale = if n == 1024 { f64::from(1 << 20) } else { SCALE };
        let values: Vec<f64> = (0..n / 2).map(|i| (i % 100) as f64 / 16.0 - 3.0).collect();
        let slots = Slots::Real(&values);
        let [small, fast] = [MemoryPlan::Small, MemoryPlan::Fast].map(|plan| {
            let generator = SealGenerator::Blake2xb;
            encrypt(
                &parameters,
                &key,
                plan,
                generator,
                seeds(3),
                slots,
                scale,
                Format::Raw,
            )
            .unwrap()
        });
        assert!(small == fast, "{n}");
        let coefficients = decrypted(&parameters, Format::Raw, &small, &key);
        let error = rms(&decode(&coefficients, scale), &values);
        let expected = ((10.5 + 2.0 / 12.0) * n as f64 / 2.0).sqrt() / scale;
        assert!(
            (error / expected - 1.0).abs() < 0.08,
            "{n} {error:e} {expected:e}"
        );
    }
}

/// A public key with a special prime of more than 32 bits, by the definition, as SEAL stores it.
#[test]
fn public_keys_with_wide_special_primes() {
    for parameters in [Parameters::N8192, Parameters::N16384] {
        let n = parameters.polynomial_size();
        let key = secret_key(&parameters);
        let secret = ternary(&key);
        let file = seal_public_key(&parameters, &secret);
        let public = seal::public_key(&parameters, &file).unwrap();
        let values: Vec<f64> = (0..n / 2).map(|i| (i % 100) as f64 / 16.0 - 3.0).collect();
        let slots = Slots::Real(&values);
        let [small, fast] = [
            (MemoryPlan::Small, Format::Raw),
            (MemoryPlan::Fast, Format::Seal),
        ]
        .map(|(plan, format)| {
            let bytes = encrypt_public(&parameters, public, plan, seeds(9), slots, SCALE, format);
            residues(&parameters, format, &bytes.unwrap())
        });
        assert!(small == fast, "{n}");
        let slots = decode(&decrypt(&parameters, &small, &secret), SCALE);
        // The division's rounding, in c0 and, times the secret, in c1.
        let weight = secret.iter().filter(|&&s| s != 0).count() as f64;
        let expected = ((1.0 + weight) / 12.0 * n as f64 / 2.0).sqrt() / SCALE;
        let error = rms(&slots, &values);
        assert!(
            (error / expected - 1.0).abs() < 0.1,
            "{n} {error:e} {expected:e}"
        );
    }
}

/// A public key of ours: `p0 + p1·s` is minus the ciphertexts' error, the same modulo every
/// prime, `p1` is uniform, and it encrypts. Its file is SEAL's form.
#[test]
fn public_keys_of_ours() {
    for parameters in [Parameters::N2048, Parameters::N8192] {
        let (n, primes) = (parameters.polynomial_size(), parameters.key_prime_count());
        let packed = secret_key(&parameters);
        let secret = ternary(&packed);
        let key = tfhe_sbc_ckks::SecretKey::from_packed(&parameters, &packed).unwrap();
        let mut scratch = HeapWorkspace::new(seal::key_scratch_bytes(&parameters));
        let (mut file, mut seeds_of_keys) = (Vec::new(), seeds(20));
        let sink = &mut |piece: &[u8]| {
            file.extend_from_slice(piece);
            Ok(())
        };
        let scratch = scratch.as_mut_slice();
        let len = seal::write_public_key(&parameters, key, &mut seeds_of_keys, scratch, sink);
        assert_eq!(len, Ok(seal::public_key_bytes(&parameters)));
        assert_eq!(file.len(), seal::public_key_bytes(&parameters));
        assert!(scratch.iter().all(|&byte| byte == 0));

        let words = file[PREFIX..]
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word));
        let words: Vec<Vec<u64>> = words
            .collect::<Vec<_>>()
            .chunks(n)
            .map(<[u64]>::to_vec)
            .collect();
        let errors: Vec<Vec<i64>> = (0..primes)
            .zip(parameters.key_primes())
            .map(|(i, q)| {
                let ntt = SlowNtt::new(q, n);
                let s = ntt.forward(&secret);
                let wide = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(q)) as u64;
                let (p0, p1) = (&words[i], &words[primes + i]);
                let mean = p1.iter().map(|&a| a as f64 / q as f64).sum::<f64>() / n as f64;
                assert!((mean - 0.5).abs() < 0.035, "{mean}");
                let values: Vec<u64> = (0..n).map(|j| (p0[j] + wide(p1[j], s[j])) % q).collect();
                let centred = |c: u64| {
                    if c > q / 2 {
                        c as i64 - q as i64
                    } else {
                        c as i64
                    }
                };
                ntt.inverse(&values).into_iter().map(centred).collect()
            })
            .collect();
        assert!(errors.windows(2).all(|pair| pair[0] == pair[1]));
        assert!(errors[0].iter().all(|e| e.abs() <= 21));
        let variance = errors[0].iter().map(|e| e * e).sum::<i64>() as f64 / n as f64;
        assert!((variance - 10.5).abs() < 1.5, "{variance}");

        let public = seal::public_key(&parameters, &file).unwrap();
        let (slots, plan, format) = (Slots::Real(&[1.0, 2.0]), MemoryPlan::Small, Format::Raw);
        let bytes = encrypt_public(&parameters, public, plan, seeds(21), slots, SCALE, format);
        let slots = decode(
            &decrypted(&parameters, format, &bytes.unwrap(), &packed),
            SCALE,
        );
        let error = rms(&slots, &[1.0, 2.0]);
        assert!(error < 1e-4, "{error}");
    }
}

/// Bytes that must be the same on every target and in every version.
#[test]
fn golden_bytes() {
    let parameters = Parameters::N4096;
    // Exact in binary, for libm is not the same everywhere.
    let values: Vec<f64> = (0..2048)
        .map(|i| f64::from(i * 37 % 1001) / 256.0 - 2.0)
        .collect();
    let slots = Slots::Real(&values);
    let digest = |bytes: &[u8]| u64::from_be_bytes(*blake2b_256(bytes).first_chunk().unwrap());
    let symmetric = |generator| {
        let (plan, format) = (MemoryPlan::Fast, Format::Seal);
        let key = vector("sk_4096.dat");
        digest(
            &encrypt(
                &parameters,
                &key,
                plan,
                generator,
                seeds(4),
                slots,
                SCALE,
                format,
            )
            .unwrap(),
        )
    };
    let file = vector("pk.seal");
    let key = seal::public_key(&parameters, &file).unwrap();
    let (plan, format) = (MemoryPlan::Fast, Format::Seal);
    let public = encrypt_public(&parameters, key, plan, seeds(4), slots, SCALE, format).unwrap();
    let found = [
        symmetric(GENERATORS[0]),
        symmetric(GENERATORS[1]),
        digest(&public),
    ];
    let expected = [0x2a698a612d74fb17, 0xe651cbc06c56f2e1, 0x25c8f0b534632ea];
    assert_eq!(found, expected, "{found:#x?}");
}

/// A session's ciphertexts have nothing in common.
#[test]
fn no_two_ciphertexts_share_a_word() {
    let parameters = Parameters::N2048;
    let key = secret_key(&parameters);
    let bytes = tfhe_sbc_ckks::workspace_bytes(
        &parameters,
        MemoryPlan::Fast,
        tfhe_sbc_ckks::KeyMode::Symmetric,
    );
    let mut workspace = HeapWorkspace::new(bytes);
    let mut encryptor = tfhe_sbc_ckks::Encryptor::new(
        &parameters,
        tfhe_sbc_ckks::SecretKey::from_packed(&parameters, &key).unwrap(),
        MemoryPlan::Fast,
        SealGenerator::Blake2xb,
        seeds(5),
        workspace.as_mut_slice(),
    )
    .unwrap();
    let mut messages = Vec::new();
    for _ in 0..3 {
        let mut message = Vec::new();
        let sink = &mut |piece: &[u8]| {
            message.extend_from_slice(piece);
            Ok(())
        };
        encryptor
            .encrypt(Slots::Real(&[1.0]), SCALE, Format::Raw, sink)
            .unwrap();
        messages.push(residues(&parameters, Format::Raw, &message));
    }
    for (i, a) in messages.iter().enumerate() {
        for b in &messages[..i] {
            for polynomial in 0..2 {
                let equal = a[polynomial][0]
                    .iter()
                    .zip(&b[polynomial][0])
                    .filter(|(a, b)| a == b);
                assert!(equal.count() <= 2);
            }
        }
    }
}

#[test]
fn a_failing_sink_ends_the_message() {
    let parameters = Parameters::N1024;
    let key = secret_key(&parameters);
    let bytes = tfhe_sbc_ckks::workspace_bytes(
        &parameters,
        MemoryPlan::Small,
        tfhe_sbc_ckks::KeyMode::Symmetric,
    );
    let mut workspace = HeapWorkspace::new(bytes);
    let mut encryptor = tfhe_sbc_ckks::Encryptor::new(
        &parameters,
        tfhe_sbc_ckks::SecretKey::from_packed(&parameters, &key).unwrap(),
        MemoryPlan::Small,
        SealGenerator::Blake2xb,
        seeds(6),
        workspace.as_mut_slice(),
    )
    .unwrap();
    let mut left = 3;
    let error = tfhe_sbc_ckks::SinkError("no link");
    let result = encryptor.encrypt(Slots::Real(&[1.0]), 1024.0, Format::Raw, &mut |_| {
        left -= 1;
        if left == 0 { Err(error) } else { Ok(()) }
    });
    assert_eq!(result, Err(CkksError::Sink(error)));
    assert_eq!(left, 0);
    let sink = &mut |_: &[u8]| Ok(());
    assert!(
        encryptor
            .encrypt(Slots::Real(&[1.0]), 1024.0, Format::Raw, sink)
            .is_ok()
    );
    drop(encryptor);
    assert!(
        workspace.as_mut_slice().iter().all(|&byte| byte == 0),
        "secrets stay behind"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// Any complex values at any scale, under either kind of key.
    #[test]
    fn complex_values_come_back(
        values in prop::collection::vec(prop::array::uniform2(-100.0f64..100.0), 0..=2048),
        scale_log2 in 20i32..50,
        number in 0u8..100,
        plan in 0usize..3,
    ) {
        let parameters = Parameters::N4096;
        let (key, scale) = (vector("sk_4096.dat"), 2f64.powi(scale_log2));
        let (plan, slots) = (MemoryPlan::ALL[plan], Slots::Complex(&values));
        let symmetric = encrypt(
            &parameters, &key, plan, GENERATORS[usize::from(number % 2)],
            seeds(number), slots, scale, Format::SealSeeded,
        ).unwrap();
        let file = vector("pk.seal");
        let public_key = seal::public_key(&parameters, &file).unwrap();
        let public =
            encrypt_public(&parameters, public_key, plan, seeds(number), slots, scale, Format::Raw)
                .unwrap();
        for (format, bytes, bound) in
            [(Format::SealSeeded, symmetric, 5.0 * 3.26), (Format::Raw, public, 10.0 * 15.5)]
        {
            let slots = decode(&decrypted(&parameters, format, &bytes, &key), scale);
            // More than 7 standard deviations, and the transforms' own errors.
            let bound = bound * 64.0 / scale + 1e-9;
            for (i, slot) in slots.iter().enumerate() {
                let value = values.get(i).copied().unwrap_or_default();
                for part in 0..2 {
                    let error = (slot[part] - value[part]).abs();
                    prop_assert!(error < bound, "{} {} {} {}", i, slot[part], value[part], bound);
                }
            }
        }
    }
}
