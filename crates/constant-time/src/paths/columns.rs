//! Columns: codes, readings and derived codes in compact form, beside radix blocks.

use tfhe_sbc_core::memcheck::mark_secret;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    BodyRounding, ColumnValues, CompactEncoding, Derivation, Encryptor, ExpanderKind, FixedPoint,
    KeyMode, MemoryPlan, PublicEncryptor, workspace_bytes,
};

use super::{device_key_file, public_key_set, public_seeds, secret_seeds};
use crate::check::{Check, Outcome};

pub(super) fn run(check: &mut Check) {
    for plan in MemoryPlan::ALL {
        check.path(&format!("columns, {plan}"), || symmetric(plan));
    }
    check.path("columns under a public key", public);
}

fn symmetric(plan: MemoryPlan) -> Outcome {
    let set = MESSAGE_2_CARRY_2;
    let key = device_key_file(set)?;
    let mut workspace = HeapWorkspace::new(workspace_bytes(&set, plan, KeyMode::Symmetric));
    let expander = ExpanderKind::ChaCha20;
    let workspace = workspace.as_mut_slice();
    let mut session = Encryptor::<u64>::new(&key, plan, expander, secret_seeds(1), workspace)?;
    with_columns(|columns| {
        let mut message = vec![0; session.columns_message_len(columns)];
        session.encrypt_columns(columns, &mut message)?;
        session.encrypt_columns_to(columns, &mut |_| Ok(()))?;
        Ok(())
    })
}

fn public() -> Outcome {
    let (set, plan) = (MESSAGE_2_CARRY_2, MemoryPlan::recommended());
    let key = public_key_set(set)?.device_public_key(&mut public_seeds(2))?;
    let key = key.to_bytes()?;
    let mut workspace = HeapWorkspace::new(workspace_bytes(&set, plan, KeyMode::Public));
    let expander = ExpanderKind::ChaCha20;
    let workspace = workspace.as_mut_slice();
    let mut session =
        PublicEncryptor::<u64>::new(&key, plan, expander, secret_seeds(1), workspace)?;
    with_columns(|columns| {
        let mut message = vec![0; session.columns_message_len(columns)];
        session.encrypt_columns(columns, &mut message)?;
        Ok(())
    })
}

/// Calls `encrypt` with secret columns of every form, which are more than a polynomial holds.
fn with_columns(encrypt: impl FnOnce(&[ColumnValues<'_>]) -> Outcome) -> Outcome {
    let rows = 700u16;
    let mut blocks: Vec<u8> = (0..rows).map(|row| (row % 4) as u8).collect();
    let mut codes: Vec<u64> = (0..rows).map(|row| u64::from(row) * 5 % 4096).collect();
    let mut readings: Vec<f64> = (0..rows).map(|row| f64::from(row) * 0.11 - 20.0).collect();
    mark_secret(&mut blocks);
    mark_secret(&mut codes);
    mark_secret(&mut readings);
    let fixed_point = FixedPoint::new(-50.0, 0.1, 12)?;
    let nearest = |bits, body| CompactEncoding::new(bits, 10, body, BodyRounding::Nearest);
    let feedback = |bits, body| CompactEncoding::new(bits, 10, body, BodyRounding::ErrorFeedback);
    encrypt(&[
        ColumnValues::Blocks(&blocks),
        ColumnValues::Codes(nearest(12, 30)?, &codes),
        ColumnValues::Codes(feedback(12, 26)?, &codes),
        ColumnValues::Readings(feedback(12, 26)?, fixed_point, &readings),
        ColumnValues::Derived(
            feedback(24, 38)?,
            Derivation::Square,
            fixed_point,
            &readings,
        ),
        ColumnValues::Derived(
            feedback(1, 20)?,
            Derivation::From(700),
            fixed_point,
            &readings,
        ),
        ColumnValues::DerivedCodes(feedback(24, 38)?, Derivation::Square, 12, &codes),
        ColumnValues::DerivedCodes(feedback(1, 20)?, Derivation::From(2000), 12, &codes),
    ])
}
