//! Rows of CKKS: encoding and encryption under a secret and a public key.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tfhe_sbc_ckks::{
    CkksError, Encryptor, Format, KeyMode, MemoryPlan, Parameters, PublicEncryptor, SealGenerator,
    SecretKey, Seed, SeedSequence, Slots, packed_bytes, seal, workspace_bytes,
};
use tfhe_sbc_core::random::{Expander, fill_uniform};
use tfhe_sbc_core::workspace::HeapWorkspace;

use super::welch::{BATCH, LARGEST_T, Row, Secret, draw, welch};
use crate::error::BenchError;

/// Small rings, so that there are many measurements; a public key has a special prime.
const SYMMETRIC: Parameters = Parameters::N1024;
const PUBLIC: Parameters = Parameters::N2048;
const PLAN: MemoryPlan = MemoryPlan::Balanced;
const SCALE: f64 = 65_536.0;

/// The kind of key of each row, and the secret that it varies.
const ROWS: [(KeyMode, Secret); 5] = [
    (KeyMode::Symmetric, Secret::Plaintext),
    (KeyMode::Symmetric, Secret::Noise),
    (KeyMode::Symmetric, Secret::Key),
    (KeyMode::Public, Secret::Plaintext),
    (KeyMode::Public, Secret::Noise),
];

/// The number of rows.
pub(super) const COUNT: u32 = ROWS.len() as u32;

/// All rows, of `budget` each.
pub(super) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let row = |(mode, secret)| {
        let name = match mode {
            KeyMode::Symmetric => "CKKS, secret key",
            KeyMode::Public => "CKKS, public key",
        };
        eprintln!("{name}, {secret:?}: timing");
        let (t, measurements) = time(mode, secret, budget)?;
        Ok(Row {
            name: name.to_owned(),
            secret: secret.name(),
            constant_time: true,
            t,
            measurements,
            as_expected: t.abs() <= LARGEST_T,
        })
    };
    ROWS.into_iter().map(row).collect()
}

fn time(mode: KeyMode, secret: Secret, budget: Duration) -> Result<(f64, usize), BenchError> {
    let parameters = match mode {
        KeyMode::Symmetric => SYMMETRIC,
        KeyMode::Public => PUBLIC,
    };
    let varies = |which: usize, what| which >= BATCH && secret == what;
    let mut random = draw(1);
    let values = |which| {
        let mut words = vec![0u32; parameters.slot_count()];
        if varies(which, Secret::Plaintext) {
            fill_uniform(&mut random, &mut words);
        }
        // The values are from -2 to 2.
        let value = |word| f64::from(word as i32) / f64::from(1u32 << 30);
        words.into_iter().map(value).collect()
    };
    let values: Vec<Vec<f64>> = (0..2 * BATCH).map(values).collect();
    let mut random = draw(2);
    let seed = |which| {
        let mut seed = [0x5a; 32];
        if varies(which, Secret::Noise) {
            random.fill(&mut seed);
        }
        seed
    };
    let seeds: Vec<[u8; 32]> = (0..2 * BATCH).map(seed).collect();
    let mut owner = SeedSequence::new(Seed::from_bytes([9; 32]));
    let mut key = vec![0; packed_bytes(parameters.polynomial_size())];
    SecretKey::generate(&parameters, &mut owner, &mut key)?;
    let public_key = public_key(&parameters, &key, &mut owner)?;
    let mut keys = vec![key; 2 * BATCH];
    for (which, key) in keys.iter_mut().enumerate() {
        if varies(which, Secret::Key) {
            SecretKey::generate(&parameters, &mut owner, key)?;
        }
    }

    let mut workspace = HeapWorkspace::new(workspace_bytes(&parameters, PLAN, mode));
    let sink = &mut |piece: &[u8]| {
        black_box(piece);
        Ok(())
    };
    welch(budget, |which| {
        // A copy hides the place in memory.
        let (values, key) = (values[which].clone(), keys[which].clone());
        let seeds = SeedSequence::new(Seed::from_bytes(seeds[which]));
        let workspace = workspace.as_mut_slice();
        let slots = Slots::Real(black_box(&values));
        match mode {
            KeyMode::Symmetric => {
                let key = SecretKey::from_packed(&parameters, &key).map_err(CkksError::from)?;
                let generator = SealGenerator::Blake2xb;
                let mut session =
                    Encryptor::new(&parameters, key, PLAN, generator, seeds, workspace)?;
                let start = Instant::now();
                session.encrypt(slots, SCALE, Format::SealSeeded, sink)?;
                Ok(start.elapsed())
            }
            KeyMode::Public => {
                let key = seal::public_key(&parameters, &public_key)?;
                let mut session = PublicEncryptor::new(&parameters, key, PLAN, seeds, workspace)?;
                let start = Instant::now();
                session.encrypt(slots, SCALE, Format::Seal, sink)?;
                Ok(start.elapsed())
            }
        }
    })
}

fn public_key(
    parameters: &Parameters,
    key: &[u8],
    owner: &mut SeedSequence,
) -> Result<Vec<u8>, BenchError> {
    let key = SecretKey::from_packed(parameters, key).map_err(CkksError::from)?;
    let mut scratch = HeapWorkspace::new(seal::key_scratch_bytes(parameters));
    let mut file = Vec::new();
    let sink = &mut |piece: &[u8]| {
        file.extend_from_slice(piece);
        Ok(())
    };
    seal::write_public_key(parameters, key, owner, scratch.as_mut_slice(), sink)?;
    Ok(file)
}
