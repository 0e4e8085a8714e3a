//! The table of constant time: a test of whether the time of an encryption depends on its secrets.
//! It is dudect (Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?", 2017) over
//! the public API of the device library and of CKKS.
//!
//! A row compares the times of two classes of one operation, with *fixed* and with *random*
//! secrets, by Welch's t-test. The order of the classes is drawn beforehand. The fixed class
//! repeats one secret, and the random class draws a new one each time. Both copy their secret from
//! tables of one size, so that only its value differs and the caches see no difference.
//! Interruptions only ever add time, so the test is repeated on the times below each of several
//! percentiles, and the largest of these |t| is the row's. Sampling continues until the budget is
//! spent.
//!
//! The Ziggurat is not constant-time. It is the positive control: its |t| has to be large where
//! that of the others has to be small.

mod ckks;
mod welch;

use std::hint::black_box;
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::BOOLEAN_1024;
use tfhe_sbc_core::parameters::{ParameterSet, Parameters};
use tfhe_sbc_core::random::{Expander, NoiseDistribution, fill_uniform};
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    Encryptor, ExpanderKind, KeyMode, MemoryPlan, Seed, SeedSequence, workspace_bytes,
};
use tfhe_sbc_research::samplers::add_gaussian_ziggurat_vartime;

use self::welch::{BATCH, LARGEST_T, Row, Secret, draw, welch};
use crate::error::BenchError;
use crate::machine::Machine;

/// Everything that a run prints.
#[derive(Serialize)]
pub(crate) struct ConstantTimeReport {
    machine: Machine,
    largest_t: f64,
    rows: Vec<Row>,
}

impl ConstantTimeReport {
    /// Returns whether all rows that are meant to be constant-time look so, and the control does
    /// not.
    pub(crate) fn is_good(&self) -> bool {
        self.rows.iter().all(|row| row.as_expected)
    }

    /// The report as text.
    pub(crate) fn to_table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::UTF8_BORDERS_ONLY);
        table.set_header(["operation", "secret", "|t|", "measurements", "verdict"]);
        for row in &self.rows {
            let verdict = match (row.constant_time, row.as_expected) {
                (true, true) => "no difference seen",
                (true, false) => "TIME DEPENDS ON THE SECRET",
                (false, true) => "difference seen, as it should be",
                (false, false) => "CONTROL: NO DIFFERENCE SEEN, THE TEST IS BLIND",
            };
            table.add_row([
                row.name.clone(),
                row.secret.to_owned(),
                format!("{:.1}", row.t.abs()),
                row.measurements.to_string(),
                verdict.to_owned(),
            ]);
        }
        for column in [2, 3] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        format!("{table}\nA difference counts from |t| = {LARGEST_T} on.")
    }
}

/// Measures all rows.
pub(crate) fn report(machine: Machine, budget: Duration) -> Result<ConstantTimeReport, BenchError> {
    let noises = [
        ("Gaussian", BOOLEAN_1024.glwe_noise),
        ("TUniform", NoiseDistribution::TUniform { bound_log2: 8 }),
        (
            "centred binomial",
            NoiseDistribution::CenteredBinomial { eta: 21 },
        ),
    ];
    let encryptions = 3 * (noises.len() * ExpanderKind::ALL.len()) as u32;
    let share = budget / (1 + encryptions + ckks::COUNT);
    let mut rows = vec![ziggurat(share)?];
    for (name, noise) in noises {
        for expander in ExpanderKind::ALL {
            for secret in [Secret::Plaintext, Secret::Noise, Secret::Key] {
                let name = format!("encryption, {name}, {expander}");
                eprintln!("{name}, {secret:?}: timing");
                rows.push(encryption(name, noise, expander, secret, share)?);
            }
        }
    }
    rows.extend(ckks::rows(share)?);
    Ok(ConstantTimeReport {
        machine,
        largest_t: LARGEST_T,
        rows,
    })
}

/// A small set, so that there are many measurements.
fn small_set(noise: NoiseDistribution) -> ParameterSet {
    ParameterSet {
        polynomial_size: 256,
        glwe_dimension: tfhe_sbc_core::dimensions::GlweDimension(1),
        glwe_noise: noise,
        ..BOOLEAN_1024
    }
}

/// Encryption of one polynomial by an [`Encryptor`].
fn encryption(
    name: String,
    noise: NoiseDistribution,
    expander: ExpanderKind,
    secret: Secret,
    budget: Duration,
) -> Result<Row, BenchError> {
    let parameters = small_set(noise).validate()?;
    let count = parameters.polynomial_size().get();
    let mut random = draw(1);
    let mut bits = |fixed: bool| {
        let mut bits = vec![0; count];
        if !fixed {
            tfhe_sbc_core::random::fill_binary(&mut random, &mut bits);
        }
        bits
    };
    let plaintexts: Vec<Vec<u8>> = (0..2 * BATCH)
        .map(|i| bits(i < BATCH || !matches!(secret, Secret::Plaintext)))
        .collect();
    let mut random = draw(2);
    let mut seed = |fixed: bool| {
        let mut seed = [0x5a; 32];
        if !fixed {
            random.fill(&mut seed);
        }
        seed
    };
    let seeds: Vec<[u8; 32]> = (0..2 * BATCH)
        .map(|i| seed(i < BATCH || !matches!(secret, Secret::Noise)))
        .collect();
    let mut owner = SeedSequence::new(Seed::from_bytes([9; 32]));
    let mut keys = vec![device_key(&parameters, &mut owner)?; 2 * BATCH];
    if matches!(secret, Secret::Key) {
        for key in &mut keys[BATCH..] {
            *key = device_key(&parameters, &mut owner)?;
        }
    }

    let plan = MemoryPlan::recommended();
    let mut workspace = HeapWorkspace::new(workspace_bytes(
        parameters.as_set(),
        plan,
        KeyMode::Symmetric,
    ));
    let mut message = Vec::new();
    let (t, measurements) = welch(budget, |which| {
        // A copy hides the place in memory.
        let plaintext = plaintexts[which].clone();
        let key = keys[which].clone();
        let mut encryptor = Encryptor::<u32>::new(
            &key,
            plan,
            expander,
            SeedSequence::new(Seed::from_bytes(seeds[which])),
            workspace.as_mut_slice(),
        )?;
        message.resize(encryptor.message_len(count), 0);
        let start = Instant::now();
        black_box(encryptor.encrypt_bits(black_box(&plaintext), &mut message))?;
        Ok(start.elapsed())
    })?;
    Ok(Row {
        name,
        secret: secret.name(),
        constant_time: true,
        t,
        measurements,
        as_expected: t.abs() <= LARGEST_T,
    })
}

fn device_key(parameters: &Parameters, owner: &mut SeedSequence) -> Result<Vec<u8>, BenchError> {
    let secret = SecretKey::generate(*parameters, owner)?;
    Ok(secret.device_key().to_bytes()?.to_vec())
}

/// The positive control: words that keep the Ziggurat in its fast path, or any.
fn ziggurat(budget: Duration) -> Result<Row, BenchError> {
    let mut words = vec![vec![0u64; 256]; 2 * BATCH];
    let mut random = draw(3);
    for words in &mut words[BATCH..] {
        fill_uniform(&mut random, words);
    }
    let mut values = [0u64; 64];
    let (t, measurements) = welch(budget, |which| {
        let mut stream = Words(words[which].clone(), 0);
        let start = Instant::now();
        add_gaussian_ziggurat_vartime(0.001, &mut stream, black_box(&mut values));
        Ok(start.elapsed())
    })?;
    Ok(Row {
        name: "Ziggurat sampler (control)".to_owned(),
        secret: "seeds",
        constant_time: false,
        t,
        measurements,
        as_expected: t.abs() > LARGEST_T,
    })
}

/// Words that were drawn before, so that the time is the sampler's own.
struct Words(Vec<u64>, usize);

impl Expander for Words {
    fn fill(&mut self, out: &mut [u8]) {
        for out in out.chunks_mut(8) {
            let word = self.0[self.1 % self.0.len()].to_le_bytes();
            out.copy_from_slice(&word[..out.len()]);
            self.1 += 1;
        }
    }
}
