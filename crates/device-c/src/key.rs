//! The content of a key file, for a program that has not started a session yet.

use core::ffi::c_char;

use tfhe_sbc_core::wire::{Header, Kind};
use tfhe_sbc_device::{
    device_key_parameters, device_public_key_parameters, workspace_bytes, DeviceError, KeyMode,
    Parameters, PlaintextKind, UploadSize,
};

use crate::memory::{self, check_apart};
use crate::sizes::plan_of;
use crate::status::Status;

/// The number of bytes of a parameter set's name, including the terminating zero.
pub const NAME_BYTES: usize = 33;
/// The number of bytes of a fingerprint.
pub const FINGERPRINT_BYTES: usize = 16;

/// The content of a key file.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KeyInfo {
    /// The name of the parameter set, terminated by a zero byte.
    pub parameters: [c_char; NAME_BYTES],
    /// The fingerprint of the key set that messages are made under.
    pub key: [u8; FINGERPRINT_BYTES],
    /// 1 for a device public key, 0 for a device key.
    pub is_public: u32,
    /// 1 if plaintexts are bits, 0 if they are radix blocks.
    pub is_boolean: u32,
    /// The number of bits of a torus element: 32 or 64.
    pub torus_bits: u32,
    /// The number k of polynomials of a mask.
    pub glwe_dimension: u32,
    /// The number N of plaintexts of a ciphertext.
    pub polynomial_size: u32,
    /// The number of message bits of a block.
    pub message_bits: u32,
    /// The number of carry bits of a block.
    pub carry_bits: u32,
    /// The number of bits that are sent of each coefficient of a body.
    pub body_bits: u32,
    /// The number of bits that are sent of each coefficient of a mask in public-key uploads; 0 if the
    /// parameter set has no such uploads.
    pub public_key_mask_bits: u32,
}

/// Reads a key file of either kind and writes its content to `info`.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_key_info_read(
    key: *const u8,
    key_len: usize,
    info: *mut KeyInfo,
) -> i32 {
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { answer(key, key_len, info, |key| Ok(key.info())) })
}

/// Writes to `bytes` the size of the workspace of a session with this key file and memory plan.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_workspace_bytes(
    key: *const u8,
    key_len: usize,
    plan: u32,
    bytes: *mut usize,
) -> i32 {
    let needed = |key: &Key| {
        Ok(workspace_bytes(
            key.parameters.as_set(),
            plan_of(plan)?,
            key.mode,
        ))
    };
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { answer(key, key_len, bytes, needed) })
}

/// Writes to `bytes` the number of bytes of a message that uploads `reading_count` readings of
/// `bits_per_reading` bits each; a bit counts as a reading of one bit.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_upload_bytes(
    key: *const u8,
    key_len: usize,
    reading_count: usize,
    bits_per_reading: u32,
    bytes: *mut usize,
) -> i32 {
    let size = |key: &Key| {
        let parameters = &key.parameters;
        let blocks = parameters.block_encoding().block_count(bits_per_reading);
        let size = match key.mode {
            KeyMode::Symmetric => UploadSize::symmetric(parameters.as_set(), reading_count, blocks),
            KeyMode::Public => UploadSize::public_key(parameters.as_set(), reading_count, blocks),
        };
        size.map(|size| size.total_bytes())
            .ok_or(Status::ElementCount)
    };
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { answer(key, key_len, bytes, size) })
}

/// A key file of either kind.
struct Key {
    parameters: Parameters,
    mode: KeyMode,
    fingerprint: [u8; FINGERPRINT_BYTES],
}

impl Key {
    fn parse(bytes: &[u8]) -> Result<Self, DeviceError> {
        let (header, _) = Header::parse(bytes)?;
        let (parameters, mode) = match header.kind {
            Kind::DevicePublicKey => (device_public_key_parameters(bytes)?, KeyMode::Public),
            _ => (device_key_parameters(bytes)?, KeyMode::Symmetric),
        };
        Ok(Self {
            parameters,
            mode,
            fingerprint: header.key.0,
        })
    }

    #[allow(
        trivial_numeric_casts,
        reason = "`c_char` is a `u8` on ARM and an `i8` on x86"
    )]
    fn info(&self) -> KeyInfo {
        let set = &self.parameters;
        let mut parameters = [0; NAME_BYTES];
        for (place, &byte) in parameters.iter_mut().zip(set.name().as_bytes()) {
            *place = byte as c_char;
        }
        KeyInfo {
            parameters,
            key: self.fingerprint,
            is_public: u32::from(self.mode == KeyMode::Public),
            is_boolean: u32::from(set.plaintext() == PlaintextKind::Boolean),
            torus_bits: set.torus_bits(),
            glwe_dimension: set.glwe_dimension().0 as u32,
            polynomial_size: set.polynomial_size().get() as u32,
            message_bits: set.message_bits().0,
            carry_bits: set.carry_bits().0,
            body_bits: set.body_bits(),
            public_key_mask_bits: set.public_key_mask_bits(),
        }
    }
}

/// Writes to `out` what `ask` returns for a key file.
///
/// # Safety
/// The caller keeps what the header demands of every caller.
unsafe fn answer<A>(
    key: *const u8,
    key_len: usize,
    out: *mut A,
    ask: impl FnOnce(&Key) -> Result<A, Status>,
) -> Result<(), Status> {
    let written = memory::check(out, 1)?;
    check_apart(&[written], &[memory::check(key, key_len)?])?;
    // SAFETY: the caller's promise.
    let key = Key::parse(unsafe { memory::input(key, key_len)? })?;
    let answer = ask(&key)?;
    // SAFETY: not NULL and aligned; the rest is the caller's promise.
    unsafe { out.write(answer) };
    Ok(())
}
