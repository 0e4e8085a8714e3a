//! The table of CKKS: the encryption of values to a ciphertext in Microsoft SEAL's serialization,
//! with n = 4096 and three primes of 30 bits, on one thread, under SEAL's keys of
//! `tests/vectors/seal`.

/// Decryption and decoding without a line of the crate's arithmetic.
#[allow(clippy::unwrap_used, reason = "of the tests")]
#[path = "../../ckks/tests/common/mod.rs"]
mod reference;

use std::time::Duration;

use tfhe_sbc_ckks::{
    CkksError, Encryptor, Format, KeyMode, MemoryPlan, Parameters, PublicEncryptor, SealGenerator,
    SecretKey, Seed, SeedSequence, Slots, seal, workspace_bytes,
};
use tfhe_sbc_core::workspace::HeapWorkspace;

use self::reference::{SCALE, decode, decrypt, residues, rms, ternary, vector_values};
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::timing::{Work, interleave};

const PARAMETERS: Parameters = Parameters::N4096;
const SECRET_KEY: &[u8] = include_bytes!("../../../tests/vectors/seal/sk_4096.dat");
const PUBLIC_KEY: &[u8] = include_bytes!("../../../tests/vectors/seal/pk.seal");

/// A session of either kind.
enum Session<'w> {
    Symmetric(Encryptor<'w>),
    Public(PublicEncryptor<'w>),
}

impl<'w> Session<'w> {
    fn new(
        mode: KeyMode,
        plan: MemoryPlan,
        generator: SealGenerator,
        workspace: &'w mut HeapWorkspace,
    ) -> Result<Self, BenchError> {
        let seeds = SeedSequence::new(Seed::from_bytes(*b"tfhe-sbc-bench: not for secrets!"));
        let workspace = workspace.as_mut_slice();
        Ok(match mode {
            KeyMode::Symmetric => {
                let key =
                    SecretKey::from_packed(&PARAMETERS, SECRET_KEY).map_err(CkksError::from)?;
                let session = Encryptor::new(&PARAMETERS, key, plan, generator, seeds, workspace)?;
                Self::Symmetric(session)
            }
            KeyMode::Public => {
                let key = seal::public_key(&PARAMETERS, PUBLIC_KEY)?;
                Self::Public(PublicEncryptor::new(
                    &PARAMETERS,
                    key,
                    plan,
                    seeds,
                    workspace,
                )?)
            }
        })
    }

    fn encrypt(&mut self, values: &[f64], message: &mut Vec<u8>) -> Result<Format, CkksError> {
        message.clear();
        let slots = Slots::Real(values);
        let sink = &mut |piece: &[u8]| {
            message.extend_from_slice(piece);
            Ok(())
        };
        match self {
            Self::Symmetric(session) => {
                session.encrypt(slots, SCALE, Format::SealSeeded, sink)?;
                Ok(Format::SealSeeded)
            }
            Self::Public(session) => {
                session.encrypt(slots, SCALE, Format::Seal, sink)?;
                Ok(Format::Seal)
            }
        }
    }
}

/// All rows: first those that sum it up, then every plan and generator.
pub(crate) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    const SYMMETRIC: KeyMode = KeyMode::Symmetric;
    const BLAKE2XB: SealGenerator = SealGenerator::Blake2xb;
    let fast = MemoryPlan::Fast;
    let share = budget / 9;
    let mut rows = vec![
        time("sym_us", SYMMETRIC, fast, BLAKE2XB, share)?,
        time("public_key_us", KeyMode::Public, fast, BLAKE2XB, share)?,
        memory("ram_small_bytes", MemoryPlan::Small, SYMMETRIC),
        memory("ram_fast_bytes", fast, SYMMETRIC),
        error("rms_sym", SYMMETRIC)?,
        error("rms_public_key", KeyMode::Public)?,
    ];
    for plan in [MemoryPlan::Small, MemoryPlan::Balanced] {
        for (kind, mode) in [("sym", SYMMETRIC), ("public_key", KeyMode::Public)] {
            rows.push(time(
                &format!("{kind}_{plan}_us"),
                mode,
                plan,
                BLAKE2XB,
                share,
            )?);
        }
    }
    for plan in MemoryPlan::ALL {
        let name = format!("sym_shake256_{plan}_us");
        rows.push(time(
            &name,
            SYMMETRIC,
            plan,
            SealGenerator::Shake256,
            share,
        )?);
    }
    for plan in MemoryPlan::ALL {
        let name = format!("ram_public_key_{plan}_bytes");
        rows.push(memory(&name, plan, KeyMode::Public));
    }
    rows.push(memory(
        "ram_balanced_bytes",
        MemoryPlan::Balanced,
        SYMMETRIC,
    ));
    Ok(rows)
}

/// Encoding and encryption of 2048 values.
fn time(
    name: &str,
    mode: KeyMode,
    plan: MemoryPlan,
    generator: SealGenerator,
    share: Duration,
) -> Result<Row, BenchError> {
    let mut workspace = HeapWorkspace::new(workspace_bytes(&PARAMETERS, plan, mode));
    let mut session = Session::new(mode, plan, generator, &mut workspace)?;
    let values = vector_values();
    let message = std::cell::RefCell::new(Vec::new());
    let mut work = Work {
        name: name.to_owned(),
        run: || Ok(session.encrypt(&values, &mut message.borrow_mut())?),
        check: |format| Ok(error_of(format, &message.borrow(), &values) < 3e-5),
    };
    let [timing] = interleave([(&mut work, 1)], share)?;
    let (form, theirs) = match mode {
        KeyMode::Symmetric => ("seeded", "SEAL-Embedded 812 us, SEAL 838 us"),
        KeyMode::Public => ("expanded", "SEAL-Embedded 914 us, SEAL 1638 us"),
    };
    let note = format!(
        "2048 values into SEAL's serialization, {form}, plan {plan}. {theirs} on a machine of the same kind"
    );
    Ok(Row::microseconds(name, timing, 1, note))
}

fn memory(name: &str, plan: MemoryPlan, mode: KeyMode) -> Row {
    let bytes = workspace_bytes(&PARAMETERS, plan, mode);
    Row::figures(
        name,
        Unit::Bytes,
        bytes as f64,
        None,
        format!("workspace, plan {plan}"),
    )
}

/// The root mean square of slots' errors, over several messages.
fn error(name: &str, mode: KeyMode) -> Result<Row, BenchError> {
    const MESSAGES: usize = 256;
    let plan = MemoryPlan::Fast;
    let mut workspace = HeapWorkspace::new(workspace_bytes(&PARAMETERS, plan, mode));
    let mut session = Session::new(mode, plan, SealGenerator::Blake2xb, &mut workspace)?;
    let (values, mut message) = (vector_values(), Vec::new());
    let mut squares = 0.0;
    for _ in 0..MESSAGES {
        let format = session.encrypt(&values, &mut message)?;
        squares += error_of(format, &message, &values).powi(2);
    }
    let note = "of real parts, scale 2^25, 256 messages of 2048 values. SEAL: 4.4e-6 symmetric, 2.0e-5 public key";
    let rms = (squares / MESSAGES as f64).sqrt();
    Ok(Row::figures(name, Unit::One, rms, None, note))
}

fn error_of(format: Format, message: &[u8], values: &[f64]) -> f64 {
    let ciphertext = residues(&PARAMETERS, format, message);
    let coefficients = decrypt(&PARAMETERS, &ciphertext, &ternary(SECRET_KEY));
    rms(&decode(&coefficients, SCALE), values)
}
