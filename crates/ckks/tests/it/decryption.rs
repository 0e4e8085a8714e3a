//! Tests of ciphertexts that come back from a server: SEAL's are read, expanded and decrypted.

use proptest::prelude::*;
use tfhe_sbc_ckks::seal::{self, Ciphertext, SealError};
use tfhe_sbc_ckks::{
    Format, MemoryPlan, Parameters, SealGenerator, SecretKey, Slots, decrypt as decrypted,
};

use crate::common::*;

fn slots(ciphertext: &Ciphertext<'_>, packed: &[u8]) -> Vec<[f64; 2]> {
    let key = SecretKey::from_packed(ciphertext.parameters(), packed).unwrap();
    decrypted(key, ciphertext).unwrap()
}

fn expanded(ciphertext: &Ciphertext<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let len = ciphertext.write_expanded(&mut |piece| {
        out.extend_from_slice(piece);
        Ok(())
    });
    assert_eq!(len, Ok(out.len()));
    assert_eq!(out.len(), ciphertext.expanded_bytes());
    out
}

/// SEAL 4.4.3's own ciphertexts, in its own form, with the precision that it gets.
#[test]
fn seals_ciphertexts() {
    let (parameters, key) = (Parameters::N4096, vector("sk_4096.dat"));
    for (name, generator, bound) in [
        (
            "ct_sym_seeded_37.seal",
            Some(SealGenerator::Blake2xb),
            4.6e-6,
        ),
        ("ct_sym_seeded.seal", Some(SealGenerator::Blake2xb), 4.6e-6),
        ("ct_sym_expanded.seal", None, 4.6e-6),
        ("ct_asym.seal", None, 2.2e-5),
    ] {
        let file = vector(name);
        let ciphertext = seal::ciphertext(&parameters, &file).unwrap();
        assert_eq!(ciphertext.seed_generator(), generator);
        assert_eq!(ciphertext.scale(), SCALE);
        assert_eq!(ciphertext.prime_count(), 3);
        let error = rms(&slots(&ciphertext, &key), &vector_values());
        assert!((bound / 1.3..bound).contains(&error), "{name} {error:e}");
    }
}

/// Our expansion of a seed is SEAL's, to the byte.
#[test]
fn expansion_is_seals() {
    let seeded = vector("ct_sym_seeded.seal");
    let ours = expanded(&seal::ciphertext(&Parameters::N4096, &seeded).unwrap());
    let theirs = vector("ct_sym_expanded.seal");
    // The header of 4.4 has a correction factor more, and differs in versions and sizes.
    let words = 2 * 3 * 4096 * 8;
    assert!(ours[ours.len() - words..] == theirs[theirs.len() - words..]);
    let again = seal::ciphertext(&Parameters::N4096, &ours).unwrap();
    assert!(expanded(&again) == ours);
}

/// The stream that SEAL-Embedded 1.1.0 sent, its slots in single precision.
#[test]
fn seal_embeddeds_stream() {
    let (stream, key) = (vector("stream_sym.bin"), vector("sk_4096.dat"));
    let ciphertext = seal::raw_ciphertext(&Parameters::N4096, SCALE, &stream).unwrap();
    let values = String::from_utf8(vector("values_f32.txt")).unwrap();
    let values: Vec<f64> = values.lines().map(|line| line.parse().unwrap()).collect();
    let error = rms(&slots(&ciphertext, &key), &values);
    assert!(error < 4.6e-6, "{error:e}");
    let again = expanded(&ciphertext);
    let again = seal::ciphertext(&Parameters::N4096, &again).unwrap();
    assert!(slots(&again, &key) == slots(&ciphertext, &key));
}

/// Every size, form and generator, against the tests' own decryption, in real and imaginary
/// parts.
#[test]
fn what_was_encrypted_comes_back() {
    for parameters in Parameters::SEAL_EMBEDDED {
        let (n, key) = (parameters.polynomial_size(), secret_key(&parameters));
        let scale = if n == 1024 { f64::from(1 << 20) } else { SCALE };
        let values: Vec<[f64; 2]> = (0..n / 2)
            .map(|i| [(i % 100) as f64 / 16.0 - 3.0, (i % 7) as f64 - 2.5])
            .collect();
        let form = |format, generator| {
            let (plan, slots) = (MemoryPlan::Balanced, Slots::Complex(&values));
            let seeds = seeds(6);
            encrypt(
                &parameters,
                &key,
                plan,
                generator,
                seeds,
                slots,
                scale,
                format,
            )
            .unwrap()
        };
        let whole = form(Format::Seal, SealGenerator::Shake256);
        let seeded = form(Format::SealSeeded, SealGenerator::Shake256);
        let raw = form(Format::Raw, SealGenerator::Shake256);
        let read = seal::ciphertext(&parameters, &seeded).unwrap();
        assert!(expanded(&read) == whole);
        let raw = seal::raw_ciphertext(&parameters, scale, &raw).unwrap();
        assert!(expanded(&raw) == whole);

        let slots = slots(&read, &key);
        if n <= 4096 {
            let theirs = residues(&parameters, Format::Seal, &whole);
            let slow = decode(&decrypt(&parameters, &theirs, &ternary(&key)), scale);
            for (fast, slow) in slots.iter().zip(&slow) {
                for part in 0..2 {
                    assert!((fast[part] - slow[part]).abs() < 1e-9, "{fast:?} {slow:?}");
                }
            }
        }
        let expected = ((10.5 + 1.0 / 12.0) * n as f64 / 2.0).sqrt() / scale;
        for part in 0..2 {
            let values: Vec<f64> = values.iter().map(|value| value[part]).collect();
            let found: Vec<_> = slots.iter().map(|slot| [slot[part], 0.0]).collect();
            let error = rms(&found, &values);
            assert!(
                (error / expected - 1.0).abs() < 0.15,
                "{n} {error:e} {expected:e}"
            );
        }
        // Another key gives noise.
        let mut other = key.clone();
        other.rotate_left(1);
        let noise = self::slots(&read, &other);
        assert!(
            noise
                .iter()
                .all(|slot| slot[0].abs() > 1e-3 || slot[1].abs() > 1e-3)
        );
        assert!(noise[0] != slots[0]);
    }
}

/// A product that nobody relinearized, `(c0² , 2·c0·c1, c1²)`, and fewer primes: both are what
/// servers send back.
#[test]
fn products_and_lower_levels() {
    let (parameters, key) = (Parameters::N4096, secret_key(&Parameters::N4096));
    let values: Vec<f64> = (0..2048).map(|i| f64::from(i % 11) / 4.0 - 1.0).collect();
    let scale = f64::from(1 << 20);
    let (plan, generator) = (MemoryPlan::Fast, SealGenerator::Blake2xb);
    let slots_of = Slots::Real(&values);
    let file = encrypt(
        &parameters,
        &key,
        plan,
        generator,
        seeds(7),
        slots_of,
        scale,
        Format::Seal,
    )
    .unwrap();
    let [c0, c1] = residues(&parameters, Format::Seal, &file);
    let product = |a: &[Vec<u64>], b: &[Vec<u64>], factor: u64| -> Vec<Vec<u64>> {
        let primes = parameters.data_primes().iter();
        let each = a.iter().zip(b).zip(primes);
        each.map(|((a, b), &q)| {
            let q = u64::from(q);
            a.iter()
                .zip(b)
                .map(|(a, b)| a * b % q * factor % q)
                .collect()
        })
        .collect()
    };
    let square = [
        product(&c0, &c0, 1),
        product(&c0, &c1, 2),
        product(&c1, &c1, 1),
    ];
    let words = |primes: usize| -> Vec<u8> {
        let words = square.iter().flat_map(|polynomial| &polynomial[..primes]);
        words
            .flatten()
            .flat_map(|word| word.to_le_bytes())
            .collect()
    };
    let object = |primes: usize, scale: f64| {
        // The `parms_id` of the level that has these primes, as its own parameters' key level.
        let data = &parameters.data_primes()[..primes];
        let level = Parameters::new(4096, data, None).unwrap();
        let words = words(primes);
        let mut out = vec![0x5e, 0xa1, 16, 3, 7, 0, 0, 0];
        out.extend_from_slice(&((PREFIX + words.len()) as u64).to_le_bytes());
        out.extend_from_slice(&seal::parms_id(&level, seal::Level::Data));
        out.push(1);
        for number in [3, 4096, primes as u64] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&scale.to_le_bytes());
        out.extend_from_slice(&[0x5e, 0xa1, 16, 3, 7, 0, 0, 0]);
        out.extend_from_slice(&(24 + words.len() as u64).to_le_bytes());
        out.extend_from_slice(&(words.len() as u64 / 8).to_le_bytes());
        out.extend_from_slice(&words);
        out
    };
    let squares: Vec<f64> = values.iter().map(|value| value * value).collect();
    for primes in [2, 3] {
        let object = object(primes, scale * scale);
        let ciphertext = seal::ciphertext(&parameters, &object).unwrap();
        assert_eq!(
            (ciphertext.prime_count(), ciphertext.polynomial_count()),
            (primes, 3)
        );
        let error = rms(&slots(&ciphertext, &key), &squares);
        assert!(error < 1e-3, "{error:e}");
        assert!(expanded(&ciphertext) == object);
    }
}

#[test]
fn what_is_no_ciphertext_is_refused() {
    let parameters = Parameters::N4096;
    let (good, whole) = (vector("ct_sym_seeded_37.seal"), vector("ct_asym.seal"));
    let read = |bytes: &[u8]| seal::ciphertext(&parameters, bytes).map(drop);
    for file in [&good, &whole] {
        assert_eq!(read(file), Ok(()));
        for len in (0..200).chain((200..file.len()).step_by(4099)) {
            assert!(
                matches!(read(&file[..len]), Err(SealError::Length { .. })),
                "{len}"
            );
        }
        let mut longer = file.clone();
        longer.push(0);
        assert!(matches!(read(&longer), Err(SealError::Length { .. })));
    }
    let patched = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        read(&file)
    };
    let word = u64::to_le_bytes;
    assert_eq!(patched(0, &[0]), Err(SealError::NotSeal));
    assert_eq!(patched(3, &[5]), Err(SealError::Version(5, 7)));
    assert_eq!(patched(5, &[2]), Err(SealError::Compressed));
    assert_eq!(patched(16, &[0; 32]), Err(SealError::OtherParameters));
    assert_eq!(patched(48, &[0]), Err(SealError::Member("transform")));
    assert_eq!(patched(49, &word(1)), Err(SealError::Member("size")));
    assert_eq!(patched(49, &word(1 << 60)), Err(SealError::Member("size")));
    assert_eq!(
        patched(49, &word(3)),
        Err(SealError::Member("number of words"))
    );
    assert_eq!(
        patched(57, &word(8192)),
        Err(SealError::Member("polynomial size"))
    );
    assert_eq!(
        patched(65, &word(2)),
        Err(SealError::Member("number of primes"))
    );
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            patched(73, &scale.to_le_bytes()),
            Err(SealError::Member("scale"))
        );
    }
    assert_eq!(
        patched(97, &word(1 << 60)),
        Err(SealError::Member("number of words"))
    );
    assert_eq!(patched(105, &word(1053818881)), Err(SealError::NotReduced));
    let seed = good.len() - 81;
    assert_eq!(patched(seed + 8, &word(80)), Err(SealError::Member("seed")));
    assert_eq!(patched(seed + 16, &[3]), Err(SealError::Generator(3)));

    let raw = vector("stream_sym.bin");
    let read = |scale, bytes: &[u8]| seal::raw_ciphertext(&parameters, scale, bytes).map(drop);
    assert_eq!(read(SCALE, &raw), Ok(()));
    assert!(matches!(
        read(SCALE, &raw[1..]),
        Err(SealError::Length { .. })
    ));
    assert_eq!(read(0.0, &raw), Err(SealError::Member("scale")));
    let mut wrong = raw.clone();
    wrong[raw.len() - 4..].copy_from_slice(&1054212097u32.to_le_bytes());
    assert_eq!(read(SCALE, &wrong), Err(SealError::NotReduced));
}

proptest! {
    /// Objects one behind the other are found by their headers, and nothing panics.
    #[test]
    fn any_bytes(bytes: Vec<u8>, good in any::<bool>()) {
        let mut bytes = bytes;
        if good && bytes.len() >= 16 {
            bytes[..8].copy_from_slice(&[0x5e, 0xa1, 16, 3, 7, 0, 0, 0]);
            let len = bytes.len() as u64;
            bytes[8..16].copy_from_slice(&len.to_le_bytes());
            prop_assert_eq!(seal::object_bytes(&bytes), Ok(bytes.len()));
        }
        let _ = seal::object_bytes(&bytes);
        prop_assert!(seal::ciphertext(&Parameters::N1024, &bytes).is_err());
    }
}
