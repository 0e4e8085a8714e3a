//! CKKS for Microsoft SEAL: 2048 values at n = 4096 with three primes of 30 bits, under every
//! memory plan, with a secret and with a public key, both known to everybody.
//!
//! `firmware/cortex-m4-ckks` runs this too, so nothing here needs an operating system.

use core::fmt::Arguments;
use core::hint::black_box;

use tfhe_sbc_ckks::{
    CkksError, Encryptor, Format, KeyError, KeyMode, MemoryPlan, Parameters, PublicEncryptor,
    SealGenerator, SecretKey, Seed, SeedSequence, SinkError, Slots, seal, workspace_bytes,
};

use crate::marker::counted;

const PARAMETERS: Parameters = Parameters::N4096;
const SCALE: f64 = 33_554_432.0;

/// The size of the workspace: as large as the largest session needs.
pub(crate) const WORKSPACE_BYTES: usize =
    workspace_bytes(&PARAMETERS, MemoryPlan::Fast, KeyMode::Public);

static SECRET_KEY: &[u8] = include_bytes!("../../../tests/vectors/seal/sk_4096.dat");
static PUBLIC_KEY: &[u8] = include_bytes!("../../../tests/vectors/seal/pk.seal");

/// A value for every slot.
static VALUES: [f32; PARAMETERS.slot_count()] = {
    let mut values = [0.0; PARAMETERS.slot_count()];
    let mut i = 0;
    while i < values.len() {
        values[i] = (i * 37 % 1001) as f32 / 256.0 - 2.0;
        i += 1;
    }
    values
};

/// The number of runs of every region. The first run also detects processor features, and the
/// counter keeps the minimum.
const RUNS: usize = 2;

const NOT_THE_KEY: CkksError = CkksError::Key(KeyError::NotReduced);

type Sink<'s> = &'s mut dyn FnMut(&[u8]) -> Result<(), SinkError>;

/// Counts every session as regions 8 to 13, and prints the digests of their ciphertexts.
pub(crate) fn run(
    workspace: &mut [u8],
    print: &mut dyn FnMut(Arguments<'_>),
) -> Result<(), CkksError> {
    let [small, balanced, fast] = MemoryPlan::ALL;
    count::<8>("secret", small, secret(small, workspace)?, print)?;
    count::<9>("secret", balanced, secret(balanced, workspace)?, print)?;
    count::<10>("secret", fast, secret(fast, workspace)?, print)?;
    count::<11>("public", small, public(small, workspace)?, print)?;
    count::<12>("public", balanced, public(balanced, workspace)?, print)?;
    count::<13>("public", fast, public(fast, workspace)?, print)
}

fn count<const ID: u32>(
    key: &str,
    plan: MemoryPlan,
    mut encrypt: impl FnMut(Sink<'_>) -> Result<usize, CkksError>,
    print: &mut dyn FnMut(Arguments<'_>),
) -> Result<(), CkksError> {
    print(format_args!("region {ID} ckks_{key}_{plan}"));
    for _ in 0..RUNS {
        // A board would pass the piece to its radio here.
        counted::<ID, _>(|| encrypt(&mut |piece| Ok(_ = black_box(piece))))?;
    }
    let mut digest = blake3::Hasher::new();
    let len = encrypt(&mut |piece| Ok(_ = digest.update(piece)))?;
    let digest = digest.finalize().to_hex();
    // One ciphertext, because it is the same under every plan.
    print(format_args!("digest ckks_{key} {digest}"));
    if plan == MemoryPlan::Small {
        print(format_args!("bytes ckks_{key}_ciphertext {len}"));
    }
    Ok(())
}

/// Encryption under a secret key, into SEAL's seeded form.
pub(crate) fn secret(
    plan: MemoryPlan,
    workspace: &mut [u8],
) -> Result<impl FnMut(Sink<'_>) -> Result<usize, CkksError>, CkksError> {
    let key = SecretKey::from_packed(&PARAMETERS, SECRET_KEY)?;
    let generator = SealGenerator::Blake2xb;
    let mut encryptor = Encryptor::new(&PARAMETERS, key, plan, generator, seeds(), workspace)?;
    Ok(move |sink: Sink<'_>| {
        encryptor.encrypt(Slots::RealF32(&VALUES), SCALE, Format::SealSeeded, sink)
    })
}

/// Encryption under a public key with a special prime, into SEAL's form.
pub(crate) fn public(
    plan: MemoryPlan,
    workspace: &mut [u8],
) -> Result<impl FnMut(Sink<'_>) -> Result<usize, CkksError>, CkksError> {
    let key = seal::public_key(&PARAMETERS, PUBLIC_KEY).map_err(|_| NOT_THE_KEY)?;
    let mut encryptor = PublicEncryptor::new(&PARAMETERS, key, plan, seeds(), workspace)?;
    Ok(move |sink: Sink<'_>| encryptor.encrypt(Slots::RealF32(&VALUES), SCALE, Format::Seal, sink))
}

/// The randomness of a session. It is the same in every run, so that runs can be compared: a real
/// board calls `SeedSequence::from_entropy` with its TRNG.
fn seeds() -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([0x5e; 32]))
}
