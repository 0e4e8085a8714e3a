//! The device's table: from blocks or bits to the bytes on the wire, on one thread.

use std::time::Duration;

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{ParameterSet, PlaintextKind};
use tfhe_sbc_core::wire::bits::unpack_top_bits;
use tfhe_sbc_core::wire::glwe::{SeededGlweList, ciphertext_count};
use tfhe_sbc_core::wire::{Kind, Message};
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    Encryptor, ExpanderKind, KeyMode, MemoryPlan, Seed, SeedSequence, workspace_bytes,
};

use crate::error::BenchError;
use crate::keys::describe;
use crate::report::{Row, Unit};
use crate::timing::{Work, interleave};

/// One-byte readings of the integer rows, and bits of the boolean rows.
const COUNT: usize = 1024;
const READING_BITS: u32 = 8;

/// All rows.
pub(crate) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let share = budget / (2 * ExpanderKind::ALL.len() as u32);
    let mut rows = Vec::new();
    let parameters = MESSAGE_2_CARRY_2.validate()?;
    let blocks = COUNT * parameters.block_encoding().block_count(READING_BITS);
    set_rows::<u64>(&mut rows, MESSAGE_2_CARRY_2, "readings", blocks, share)?;
    set_rows::<u32>(&mut rows, GATES, "bits", COUNT, share)?;
    Ok(rows)
}

fn set_rows<T: MaskTorus>(
    rows: &mut Vec<Row>,
    set: ParameterSet,
    what: &str,
    elements: usize,
    share: Duration,
) -> Result<(), BenchError> {
    let mut seeds = SeedSequence::new(Seed::from_bytes(*b"tfhe-sbc-bench: not for secrets!"));
    let secret = SecretKey::generate(set.validate()?, &mut seeds)?;
    let parameters = *secret.parameters();
    let device_key = secret.device_key().to_bytes()?;
    let set_line = describe(&parameters);
    let ciphertexts = ciphertext_count(elements, parameters.polynomial_size().get());
    let plaintexts = format!("{elements} plaintexts in {ciphertexts} GLWE ciphertexts. {set_line}");

    let values = values(&secret, elements);
    let plan = MemoryPlan::recommended();
    let workspace_len = workspace_bytes(&parameters, plan, KeyMode::Symmetric);
    let mut workspace = HeapWorkspace::new(workspace_len);
    let mut message_len = 0;
    for (index, expander) in ExpanderKind::ALL.into_iter().enumerate() {
        eprintln!("{COUNT} {what}, {expander}: timing");
        let root = Seed::from_bytes([index as u8 + 1; 32]);
        let mut encryptor = Encryptor::<T>::new(
            &device_key,
            plan,
            expander,
            SeedSequence::new(root),
            workspace.as_mut_slice(),
        )?;
        message_len = encryptor.message_len(elements);
        let message = std::cell::RefCell::new(vec![0; message_len]);
        let mut encryption = Work {
            name: format!("encryption of {what} with {expander}"),
            run: || {
                let out = &mut *message.borrow_mut();
                Ok(match parameters.plaintext {
                    PlaintextKind::Radix => encryptor.encrypt_blocks(&values, out)?,
                    PlaintextKind::Boolean => encryptor.encrypt_bits(&values, out)?,
                })
            },
            check: |len| {
                let message = &message.borrow()[..len];
                Ok(len == message_len && decrypt::<T>(&secret, message)? == values)
            },
        };
        let [timing] = interleave([&mut encryption], 1, share)?;
        let name = format!("encrypt_{COUNT}_{what}_{}", name_of(expander));
        rows.push(Row::times(name, timing, None, 1, plaintexts.clone()));
    }

    for (name, bytes, note) in [
        ("message", message_len, "on the wire, seeded and truncated"),
        ("device_key", device_key.len(), "the key file"),
        (
            "workspace",
            workspace_len,
            "transformed key, tables, scratch, one mask and one body polynomial",
        ),
    ] {
        let name = format!("{name}_{COUNT}_{what}");
        rows.push(Row::figures(name, Unit::Bytes, bytes as f64, None, note));
    }
    Ok(())
}

fn name_of(expander: ExpanderKind) -> String {
    expander.name().to_lowercase().replace('-', "_")
}

/// Blocks or bits, all values among them.
fn values(secret: &SecretKey, count: usize) -> Vec<u8> {
    let parameters = secret.parameters();
    let modulus = match parameters.plaintext {
        PlaintextKind::Boolean => 2,
        PlaintextKind::Radix => parameters.block_encoding().message_modulus(),
    };
    (0..count as u64)
        .map(|i| ((i + i / 7) % modulus) as u8)
        .collect()
}

/// What the key owner reads in a message.
fn decrypt<T: MaskTorus>(secret: &SecretKey, message: &[u8]) -> Result<Vec<u8>, BenchError> {
    let parameters = secret.parameters();
    let message = Message::parse_only(message, Kind::SeededGlweList)?;
    let list = SeededGlweList::check(message, parameters, secret.fingerprint())?;
    let key = secret.glwe().prepare();
    let mut values = Vec::with_capacity(list.element_count());
    for (stream, (used, packed)) in list.bodies().enumerate() {
        let mut body = vec![T::ZERO; parameters.polynomial_size().get()];
        unpack_top_bits(packed, parameters.body_bits, &mut body[..used]);
        let ciphertext = GlweCiphertext::expand(
            parameters.glwe_dimension,
            parameters.polynomial_size(),
            list.expander(),
            &list.mask_seed(),
            stream as u32,
            &body,
        );
        values.extend(key.phase(&ciphertext)[..used].iter().map(
            |&phase| match parameters.plaintext {
                PlaintextKind::Boolean => u8::from(boolean::decode(phase)),
                PlaintextKind::Radix => parameters.block_encoding().decode(phase) as u8,
            },
        ));
    }
    Ok(values)
}
