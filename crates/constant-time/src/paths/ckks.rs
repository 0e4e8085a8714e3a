//! CKKS: keys, and encryption under a secret and a public key. Decryption is for machines of key owners and is
//! not constant-time, as its documentation says.

use std::error::Error;

use tfhe_sbc_ckks::{
    CkksError, Encryptor, Format, KeyMode, MemoryPlan, Parameters, PublicEncryptor, PublicKey,
    SealGenerator, SecretKey, Slots, packed_bytes, seal, workspace_bytes,
};
use tfhe_sbc_core::memcheck::{disclose, mark_secret};
use tfhe_sbc_core::workspace::HeapWorkspace;

use super::{public_seeds, secret_seeds};
use crate::check::{Check, Outcome};

const SCALE: f64 = 1_048_576.0;
/// The smallest scale and ring: one prime, none special.
const SMALLEST: Parameters = Parameters::N1024;

pub(super) fn run(check: &mut Check) {
    check.path("CKKS: secret key drawn", || {
        let mut packed = vec![0; packed_bytes(SMALLEST.polynomial_size())];
        SecretKey::generate(&SMALLEST, &mut secret_seeds(1), &mut packed)?;
        disclose(&mut packed);
        Ok(())
    });
    for plan in MemoryPlan::ALL {
        check.path(&format!("CKKS: encryption, {plan}"), || {
            symmetric(Parameters::N4096, plan, SealGenerator::Blake2xb)
        });
        // Keys without a special prime, with one of the size of data primes, and with a wide one.
        check.path(
            &format!("CKKS: public-key encryption, {plan}, no special prime"),
            || public(SMALLEST, plan),
        );
        check.path(&format!("CKKS: public-key encryption, {plan}"), || {
            public(Parameters::N2048, plan)
        });
        check.path(
            &format!("CKKS: public-key encryption, {plan}, wide prime"),
            || public(Parameters::N8192, plan),
        );
    }
    check.path("CKKS: encryption with SHAKE256", || {
        symmetric(SMALLEST, MemoryPlan::Fast, SealGenerator::Shake256)
    });
    for (name, parameters) in [("", Parameters::N2048), (", wide prime", Parameters::N8192)] {
        check.path(&format!("CKKS: keys written for SEAL{name}"), || {
            let packed = secret_key(&parameters)?;
            let key = SecretKey::from_packed(&parameters, &packed).map_err(CkksError::from)?;
            let mut scratch = HeapWorkspace::new(seal::key_scratch_bytes(&parameters));
            let sink = &mut |piece: &[u8]| sent(piece);
            seal::write_secret_key(&parameters, key, scratch.as_mut_slice(), sink)?;
            let seeds = &mut secret_seeds(2);
            seal::write_public_key(&parameters, key, seeds, scratch.as_mut_slice(), sink)?;
            Ok(())
        });
    }
}

/// Takes a piece of a message, which is public.
fn sent(piece: &[u8]) -> Result<(), tfhe_sbc_ckks::SinkError> {
    disclose(&mut piece.to_vec());
    Ok(())
}

/// A secret key.
fn secret_key(parameters: &Parameters) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut packed = vec![0; packed_bytes(parameters.polynomial_size())];
    SecretKey::generate(parameters, &mut public_seeds(3), &mut packed)?;
    mark_secret(&mut packed);
    Ok(packed)
}

fn symmetric(parameters: Parameters, plan: MemoryPlan, generator: SealGenerator) -> Outcome {
    let packed = secret_key(&parameters)?;
    let key = SecretKey::from_packed(&parameters, &packed).map_err(CkksError::from)?;
    let bytes = workspace_bytes(&parameters, plan, KeyMode::Symmetric);
    let mut workspace = HeapWorkspace::new(bytes);
    let workspace = workspace.as_mut_slice();
    let mut session = Encryptor::new(
        &parameters,
        key,
        plan,
        generator,
        secret_seeds(4),
        workspace,
    )?;
    with_values(&parameters, |slots| {
        for format in [Format::SealSeeded, Format::Seal, Format::Raw] {
            session.encrypt(slots, SCALE, format, &mut |piece| sent(piece))?;
        }
        Ok(())
    })
}

fn public(parameters: Parameters, plan: MemoryPlan) -> Outcome {
    let mut packed = vec![0; packed_bytes(parameters.polynomial_size())];
    let key = SecretKey::generate(&parameters, &mut public_seeds(5), &mut packed)?;
    let mut scratch = HeapWorkspace::new(seal::key_scratch_bytes(&parameters));
    let mut file = Vec::new();
    let sink = &mut |piece: &[u8]| {
        file.extend_from_slice(piece);
        Ok(())
    };
    let seeds = &mut public_seeds(6);
    seal::write_public_key(&parameters, key, seeds, scratch.as_mut_slice(), sink)?;
    let key: PublicKey<'_> = seal::public_key(&parameters, &file)?;
    let bytes = workspace_bytes(&parameters, plan, KeyMode::Public);
    let mut workspace = HeapWorkspace::new(bytes);
    let workspace = workspace.as_mut_slice();
    let mut session = PublicEncryptor::new(&parameters, key, plan, secret_seeds(7), workspace)?;
    with_values(&parameters, |slots| {
        session.encrypt(slots, SCALE, Format::Seal, &mut |piece| sent(piece))?;
        session.encrypt(slots, SCALE, Format::Raw, &mut |piece| sent(piece))?;
        Ok(())
    })
}

/// Calls `encrypt` with secret values of every type.
fn with_values(parameters: &Parameters, mut encrypt: impl FnMut(Slots<'_>) -> Outcome) -> Outcome {
    let count = parameters.slot_count() as u32;
    let mut real: Vec<f64> = (0..count).map(|i| f64::from(i % 37) * 0.1 - 1.8).collect();
    mark_secret(&mut real);
    encrypt(Slots::Real(&real))?;
    let single: Vec<f32> = real.iter().map(|&value| value as f32).collect();
    encrypt(Slots::RealF32(&single))?;
    let complex: Vec<[f64; 2]> = real.iter().map(|&value| [value, -value]).collect();
    encrypt(Slots::Complex(&complex))
}
