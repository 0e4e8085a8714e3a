//! Encryption of blocks and bits, under device keys and public keys, by every plan and generator.

use std::error::Error;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::LweSecretKey;
use tfhe_sbc_core::memcheck::{disclose, mark_secret};
use tfhe_sbc_core::parameters::{ParameterSet, PlaintextKind};
use tfhe_sbc_core::random::{MaskSeed, NoiseDistribution, NoiseSeed};
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    DeviceError, Encryptor, ExpanderKind, FixedPoint, KeyMode, MemoryPlan, PublicEncryptor,
    Session, SessionMode, encode_readings, reading_block_count, workspace_bytes,
};

use super::{device_key_file, public_key_set, public_seeds, secret_bytes, secret_seeds, sets};
use crate::check::{Check, Outcome};

pub(super) fn run(check: &mut Check) {
    for (name, set) in sets() {
        for plan in MemoryPlan::ALL {
            let expander = ExpanderKind::ChaCha20;
            check.path(&format!("encryption, {plan} ({name})"), || {
                symmetric_of(set, plan, expander)
            });
            if set.public_key_mask_bits > 0 {
                check.path(&format!("public-key encryption, {plan} ({name})"), || {
                    public_of(set, plan, expander)
                });
            }
        }
    }
    let (_, set) = sets()[0];
    for expander in ExpanderKind::ALL {
        check.path(&format!("encryption with {expander}"), || {
            symmetric_of(set, MemoryPlan::recommended(), expander)
        });
        check.path(&format!("public-key encryption with {expander}"), || {
            public_of(set, MemoryPlan::recommended(), expander)
        });
    }
    check.path("readings as blocks", || {
        let encoding = set.validate()?.block_encoding();
        let fixed_point = FixedPoint::new(-50.0, 0.1, 10)?;
        let mut readings: Vec<f64> = (0..50).map(|i| f64::from(i) * 1.7 - 41.3).collect();
        mark_secret(&mut readings);
        let mut blocks = vec![0; reading_block_count(encoding, &fixed_point, readings.len())];
        encode_readings(encoding, &fixed_point, &readings, &mut blocks)?;
        disclose(&mut blocks);
        Ok(())
    });
    check.path("single LWE encryption", || {
        let owner = public_key_set(set)?;
        let mut coefficients = owner.lwe().coefficients().to_vec();
        mark_secret(&mut coefficients);
        let key = LweSecretKey::from_coefficients(coefficients.into(), set.lwe_block_size)?;
        let noise_seed = NoiseSeed::from_bytes(secret_bytes(4));
        let expander = ExpanderKind::ChaCha20;
        let mut ciphertext = key.encrypt(
            1u32 << 28,
            NoiseDistribution::TUniform { bound_log2: 17 },
            &mut expander.mask_stream(&MaskSeed([3; 32]), 0),
            &mut expander.noise_stream(&noise_seed, 0),
        );
        disclose(ciphertext.as_mut_slice());
        Ok(())
    });
}

fn symmetric_of(set: ParameterSet, plan: MemoryPlan, expander: ExpanderKind) -> Outcome {
    match set.torus_bits {
        32 => symmetric::<u32>(set, plan, expander),
        _ => symmetric::<u64>(set, plan, expander),
    }
}

fn symmetric<T: ProductTorus>(
    set: ParameterSet,
    plan: MemoryPlan,
    expander: ExpanderKind,
) -> Outcome {
    let key = device_key_file(set)?;
    let mut workspace = HeapWorkspace::new(workspace_bytes(&set, plan, KeyMode::Symmetric));
    let seeds = secret_seeds(1);
    let workspace = workspace.as_mut_slice();
    let mut session = Encryptor::<T>::new(&key, plan, expander, seeds, workspace)?;
    messages(set, &mut session)
}

fn public_of(set: ParameterSet, plan: MemoryPlan, expander: ExpanderKind) -> Outcome {
    match set.torus_bits {
        32 => public::<u32>(set, plan, expander),
        _ => public::<u64>(set, plan, expander),
    }
}

fn public<T: ProductTorus>(set: ParameterSet, plan: MemoryPlan, expander: ExpanderKind) -> Outcome {
    let key = public_key_set(set)?.device_public_key(&mut public_seeds(2))?;
    let key = key.to_bytes()?;
    let mut workspace = HeapWorkspace::new(workspace_bytes(&set, plan, KeyMode::Public));
    let seeds = secret_seeds(1);
    let workspace = workspace.as_mut_slice();
    let mut session = PublicEncryptor::<T>::new(&key, plan, expander, seeds, workspace)?;
    messages(set, &mut session)
}

/// Encrypts more plaintexts than a polynomial has, into a buffer and piece by piece.
fn messages<T: ProductTorus, M: SessionMode<T>>(
    set: ParameterSet,
    session: &mut Session<'_, T, M>,
) -> Result<(), Box<dyn Error>> {
    let count = set.polynomial_size + 301;
    let mut plaintexts: Vec<u8> = (0..count).map(|i| (i % 3 % 2) as u8).collect();
    mark_secret(&mut plaintexts);
    let mut message = vec![0; session.message_len(count)];
    let mut sent = 0;
    let sink = &mut |piece: &[u8]| {
        sent += piece.len();
        Ok(())
    };
    let written: Result<usize, DeviceError> = match set.plaintext {
        PlaintextKind::Radix => {
            session.encrypt_blocks_to(&plaintexts, sink)?;
            session.encrypt_blocks(&plaintexts, &mut message)
        }
        PlaintextKind::Boolean => {
            session.encrypt_bits_to(&plaintexts, sink)?;
            session.encrypt_bits(&plaintexts, &mut message)
        }
    };
    match written? == sent {
        true => Ok(()),
        false => Err("the two forms of a message differ in length".into()),
    }
}
