//! Constants that C programs need at compile time, for static arrays.

use tfhe_sbc_core::parameter_sets;
use tfhe_sbc_device::{workspace_bytes, KeyMode, MemoryPlan, ParameterSet};

use crate::status::Status;

/// A memory plan: what a session keeps between ciphertexts. The messages are the same under every
/// plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Plan {
    /// The least memory: the key is transformed again for every ciphertext.
    Small = 0,
    /// The transformed key is kept; all arithmetic is on integers.
    Balanced = 1,
    /// Double-precision arithmetic, for processors that have it in hardware.
    Fast = 2,
}

/// The generator that expands seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Expander {
    /// ChaCha20, the one to take when in doubt.
    Chacha20 = 1,
    /// AES-128 in counter mode, the fastest where the processor has AES instructions.
    Aes128Ctr = 2,
    /// BLAKE2Xb.
    Blake2xb = 3,
    /// BLAKE3.
    Blake3 = 4,
    /// SHAKE256.
    Shake256 = 5,
    /// AES-128 in TFHE-rs's counter mode, for masks that TFHE-rs expands.
    Aes128CtrLe = 6,
}

/// Returns the fastest memory plan of this build on its target, a `tfhe_sbc_plan`.
#[no_mangle]
pub extern "C" fn tfhe_sbc_recommended_plan() -> u32 {
    match MemoryPlan::recommended() {
        MemoryPlan::Small => Plan::Small as u32,
        MemoryPlan::Balanced => Plan::Balanced as u32,
        MemoryPlan::Fast => Plan::Fast as u32,
    }
}

/// Returns the plan with a number of the C interface.
pub(crate) fn plan_of(plan: u32) -> Result<MemoryPlan, Status> {
    match MemoryPlan::ALL.get(plan as usize) {
        Some(&plan) => Ok(plan),
        None => Err(Status::UnknownPlan),
    }
}

const _: () = assert!(matches!(
    MemoryPlan::ALL,
    [MemoryPlan::Small, MemoryPlan::Balanced, MemoryPlan::Fast]
));

/// The alignment of a workspace with which encryption is fastest.
pub const WORKSPACE_ALIGNMENT: usize = 64;
const _: () = assert!(WORKSPACE_ALIGNMENT == tfhe_sbc_core::workspace::ALIGNMENT);

/// The largest number of bytes that a sink is given at a time.
pub const MAX_PIECE_BYTES: usize = 256;
const _: () = assert!(MAX_PIECE_BYTES == tfhe_sbc_device::MAX_PIECE_BYTES);

/// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan small, any key.
pub const WORKSPACE_BYTES_BOOLEAN_1024_SMALL: usize = 12416;

/// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan balanced, device key.
pub const WORKSPACE_BYTES_BOOLEAN_1024_BALANCED: usize = 16384;

/// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan balanced, device public key.
pub const WORKSPACE_BYTES_BOOLEAN_1024_BALANCED_PUBLIC: usize = 20480;

/// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan fast, device key.
pub const WORKSPACE_BYTES_BOOLEAN_1024_FAST: usize = 32768;

/// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan fast, device public key.
pub const WORKSPACE_BYTES_BOOLEAN_1024_FAST_PUBLIC: usize = 36864;

/// Workspace of `gates`, plan small, any key.
pub const WORKSPACE_BYTES_GATES_SMALL: usize = 8384;

/// Workspace of `gates`, plan balanced, device key.
pub const WORKSPACE_BYTES_GATES_BALANCED: usize = 16384;

/// Workspace of `gates`, plan balanced, device public key.
pub const WORKSPACE_BYTES_GATES_BALANCED_PUBLIC: usize = 61440;

/// Workspace of `gates`, plan fast, device key.
pub const WORKSPACE_BYTES_GATES_FAST: usize = 36864;

/// Workspace of `gates`, plan fast, device public key.
pub const WORKSPACE_BYTES_GATES_FAST_PUBLIC: usize = 81920;

/// Workspace of `message_2_carry_2`, plan small, any key.
pub const WORKSPACE_BYTES_MESSAGE_2_CARRY_2_SMALL: usize = 33024;

/// Workspace of `message_2_carry_2`, plan balanced, device key.
pub const WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED: usize = 49152;

/// Workspace of `message_2_carry_2`, plan balanced, device public key.
pub const WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED_PUBLIC: usize = 65536;

/// Workspace of `message_2_carry_2`, plan fast, device key.
pub const WORKSPACE_BYTES_MESSAGE_2_CARRY_2_FAST: usize = 81920;

/// Workspace of `message_2_carry_2`, plan fast, device public key.
pub const WORKSPACE_BYTES_MESSAGE_2_CARRY_2_FAST_PUBLIC: usize = 98304;

/// Checks the constants at compile time.
const _: () = {
    const fn is(bytes: usize, set: &ParameterSet, plan: MemoryPlan, mode: KeyMode) -> bool {
        workspace_bytes(set, plan, mode) == bytes
    }
    assert!(is(
        WORKSPACE_BYTES_BOOLEAN_1024_SMALL,
        &parameter_sets::BOOLEAN_1024,
        MemoryPlan::Small,
        KeyMode::Symmetric
    ));
    assert!(is(
        WORKSPACE_BYTES_BOOLEAN_1024_SMALL,
        &parameter_sets::BOOLEAN_1024,
        MemoryPlan::Small,
        KeyMode::Public
    ));
    assert!(is(
        WORKSPACE_BYTES_BOOLEAN_1024_BALANCED,
        &parameter_sets::BOOLEAN_1024,
        MemoryPlan::Balanced,
        KeyMode::Symmetric
    ));
    assert!(is(
        WORKSPACE_BYTES_BOOLEAN_1024_BALANCED_PUBLIC,
        &parameter_sets::BOOLEAN_1024,
        MemoryPlan::Balanced,
        KeyMode::Public
    ));
    assert!(is(
        WORKSPACE_BYTES_BOOLEAN_1024_FAST,
        &parameter_sets::BOOLEAN_1024,
        MemoryPlan::Fast,
        KeyMode::Symmetric
    ));
    assert!(is(
        WORKSPACE_BYTES_BOOLEAN_1024_FAST_PUBLIC,
        &parameter_sets::BOOLEAN_1024,
        MemoryPlan::Fast,
        KeyMode::Public
    ));
    assert!(is(
        WORKSPACE_BYTES_GATES_SMALL,
        &parameter_sets::GATES,
        MemoryPlan::Small,
        KeyMode::Symmetric
    ));
    assert!(is(
        WORKSPACE_BYTES_GATES_SMALL,
        &parameter_sets::GATES,
        MemoryPlan::Small,
        KeyMode::Public
    ));
    assert!(is(
        WORKSPACE_BYTES_GATES_BALANCED,
        &parameter_sets::GATES,
        MemoryPlan::Balanced,
        KeyMode::Symmetric
    ));
    assert!(is(
        WORKSPACE_BYTES_GATES_BALANCED_PUBLIC,
        &parameter_sets::GATES,
        MemoryPlan::Balanced,
        KeyMode::Public
    ));
    assert!(is(
        WORKSPACE_BYTES_GATES_FAST,
        &parameter_sets::GATES,
        MemoryPlan::Fast,
        KeyMode::Symmetric
    ));
    assert!(is(
        WORKSPACE_BYTES_GATES_FAST_PUBLIC,
        &parameter_sets::GATES,
        MemoryPlan::Fast,
        KeyMode::Public
    ));
    assert!(is(
        WORKSPACE_BYTES_MESSAGE_2_CARRY_2_SMALL,
        &parameter_sets::MESSAGE_2_CARRY_2,
        MemoryPlan::Small,
        KeyMode::Symmetric
    ));
    assert!(is(
        WORKSPACE_BYTES_MESSAGE_2_CARRY_2_SMALL,
        &parameter_sets::MESSAGE_2_CARRY_2,
        MemoryPlan::Small,
        KeyMode::Public
    ));
    assert!(is(
        WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED,
        &parameter_sets::MESSAGE_2_CARRY_2,
        MemoryPlan::Balanced,
        KeyMode::Symmetric
    ));
    assert!(is(
        WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED_PUBLIC,
        &parameter_sets::MESSAGE_2_CARRY_2,
        MemoryPlan::Balanced,
        KeyMode::Public
    ));
    assert!(is(
        WORKSPACE_BYTES_MESSAGE_2_CARRY_2_FAST,
        &parameter_sets::MESSAGE_2_CARRY_2,
        MemoryPlan::Fast,
        KeyMode::Symmetric
    ));
    assert!(is(
        WORKSPACE_BYTES_MESSAGE_2_CARRY_2_FAST_PUBLIC,
        &parameter_sets::MESSAGE_2_CARRY_2,
        MemoryPlan::Fast,
        KeyMode::Public
    ));
};
