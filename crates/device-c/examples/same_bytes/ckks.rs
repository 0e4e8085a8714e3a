//! The part of CKKS, the same as `firmware/same-bytes/same_bytes_ckks.c`.

use std::error::Error;

use tfhe_sbc_ckks::{
    packed_bytes, seal, workspace_bytes, CkksError, Encryptor, Format, KeyMode, MemoryPlan,
    Parameters, PublicEncryptor, PublicKey, ReseedPolicy, SealGenerator, SecretKey, Seed,
    SeedSequence, SinkError, Slots,
};
use tfhe_sbc_core::workspace::HeapWorkspace;

use crate::{entropy, in_c, Sent};

/// SEAL's keys that are known to everybody.
pub(crate) const SECRET_KEY: &[u8] = include_bytes!("../../../../tests/vectors/seal/sk_4096.dat");
const SEAL_SECRET_KEY: &[u8] = include_bytes!("../../../../tests/vectors/seal/sk.seal");
const SEAL_PARAMETERS: &[u8] = include_bytes!("../../../../tests/vectors/seal/parms.seal");
const PUBLIC_KEY: &[u8] = include_bytes!("../../../../tests/vectors/seal/pk.seal");

const COUNT: usize = 1000;
const SCALE: f64 = 33_554_432.0;
const SMALL_SCALE: f64 = 64.0;

/// A small ring whose special prime has more than 31 bits.
fn wide() -> Result<Parameters, CkksError> {
    Ok(Parameters::new(2048, &[12289], Some(1_099_511_590_913))?)
}

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let value = |i: usize| (i * 37 % 1001) as f64 / 256.0 - 2.0;
    let doubles: Vec<f64> = (0..COUNT).map(value).collect();
    let singles: Vec<f32> = doubles.iter().map(|&v| v as f32).collect();
    let complex = doubles.as_chunks().0;
    let (standard, wide) = (Parameters::N4096, wide()?);
    let public = seal::public_key(&standard, PUBLIC_KEY)?;
    let joined = joined_parts();
    let embedded = PublicKey::from_joined_parts(&standard, &joined)?;
    let wide_file = wide_public_key()?;
    let wide_key = seal::public_key(&wide, &wide_file)?;
    for plan in MemoryPlan::ALL {
        for (name, slots, format, generator) in [
            (
                "ckks_f32_seeded",
                Slots::RealF32(&singles),
                Format::SealSeeded,
                SealGenerator::Blake2xb,
            ),
            (
                "ckks_complex_raw",
                Slots::Complex(complex),
                Format::Raw,
                SealGenerator::Shake256,
            ),
        ] {
            let bytes = workspace_bytes(&standard, plan, KeyMode::Symmetric);
            let mut workspace = HeapWorkspace::new(bytes);
            let mut session = Encryptor::new(
                &standard,
                SecretKey::from_packed(&standard, SECRET_KEY)?,
                plan,
                generator,
                SeedSequence::with_reseeding(entropy(), ReseedPolicy::default())?,
                workspace.as_mut_slice(),
            )?;
            let encrypt = |sink: Sink<'_>| session.encrypt(slots, SCALE, format, sink);
            two_ciphertexts(name, "secret", plan, encrypt)?;
        }
        for (name, parameters, key, scale) in [
            ("ckks_f64", &standard, public, SCALE),
            ("ckks_embedded", &standard, embedded, SCALE),
            ("ckks_wide", &wide, wide_key, SMALL_SCALE),
        ] {
            let bytes = workspace_bytes(parameters, plan, KeyMode::Public);
            let mut workspace = HeapWorkspace::new(bytes);
            let mut session = PublicEncryptor::new(
                parameters,
                key,
                plan,
                SeedSequence::with_reseeding(entropy(), ReseedPolicy::default())?,
                workspace.as_mut_slice(),
            )?;
            let slots = Slots::Real(&doubles);
            let encrypt = |sink: Sink<'_>| session.encrypt(slots, scale, Format::Seal, sink);
            two_ciphertexts(name, "public", plan, encrypt)?;
        }
    }
    Ok(())
}

type Sink<'s> = &'s mut dyn FnMut(&[u8]) -> Result<(), SinkError>;

fn two_ciphertexts(
    name: &str,
    kind: &str,
    plan: MemoryPlan,
    mut encrypt: impl FnMut(Sink<'_>) -> Result<usize, CkksError>,
) -> Result<(), CkksError> {
    let mut sent = Sent::new();
    for _ in 0..2 {
        encrypt(&mut |piece| {
            sent.add(piece);
            Ok(())
        })?;
    }
    let Sent(len, hash) = sent;
    println!("{name} {kind} {plan} {len} {hash:016x}");
    Ok(())
}

/// Returns the public key in SEAL-Embedded's form: 32-bit words, and no special prime.
fn joined_parts() -> Vec<u8> {
    let n = Parameters::N4096.polynomial_size();
    let primes = Parameters::N4096.key_prime_count();
    let words = &PUBLIC_KEY[PUBLIC_KEY.len() - 16 * primes * n..];
    let polynomial = |prime, polynomial| {
        let words = &words[8 * n * (polynomial * primes + prime)..][..8 * n];
        words.chunks(8).flat_map(|word| word[..4].to_vec())
    };
    let primes = 0..Parameters::N4096.data_prime_count();
    primes
        .flat_map(|prime| polynomial(prime, 0).chain(polynomial(prime, 1)))
        .collect()
}

fn wide_public_key() -> Result<Vec<u8>, CkksError> {
    let parameters = wide()?;
    let mut seeds = SeedSequence::new(Seed::from_bytes([0x6b; 32]));
    let mut packed = vec![0; packed_bytes(parameters.polynomial_size())];
    let key = SecretKey::generate(&parameters, &mut seeds, &mut packed)?;
    let mut scratch = HeapWorkspace::new(seal::key_scratch_bytes(&parameters));
    let mut file = Vec::new();
    let sink = &mut |piece: &[u8]| {
        file.extend_from_slice(piece);
        Ok(())
    };
    seal::write_public_key(&parameters, key, &mut seeds, scratch.as_mut_slice(), sink)?;
    Ok(file)
}

/// Returns the keys as arrays of C.
pub(crate) fn keys_in_c() -> Result<String, CkksError> {
    let mut text = in_c("ckks_secret", SECRET_KEY);
    text += &in_c("ckks_seal_secret", SEAL_SECRET_KEY);
    text += &in_c("ckks_seal_parameters", SEAL_PARAMETERS);
    text += &in_c("ckks_public", PUBLIC_KEY);
    text += &in_c("ckks_embedded_public", &joined_parts());
    text += &in_c("ckks_wide_public", &wide_public_key()?);
    Ok(text)
}
