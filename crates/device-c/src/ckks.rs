//! CKKS: parameters, the sizes that follow from them, and keys. Sessions are in `encryptor`.

mod encryptor;

pub use encryptor::*;

use tfhe_sbc_ckks::seal::{self, SealError};
use tfhe_sbc_ckks::{
    workspace_bytes, CkksError, Format, KeyError, KeyMode, MemoryPlan, Parameters, SealGenerator,
    WorkspaceError, MAX_DATA_PRIMES,
};

use crate::memory::{self, check_apart};
use crate::sizes::plan_of;
use crate::status::Status;

/// The largest number of primes of a ciphertext.
pub const CKKS_MAX_DATA_PRIMES: usize = 16;
const _: () = assert!(CKKS_MAX_DATA_PRIMES == MAX_DATA_PRIMES);

/// The largest number of bytes that a sink is given at a time.
pub const CKKS_MAX_PIECE_BYTES: usize = 1024;
const _: () = assert!(CKKS_MAX_PIECE_BYTES == tfhe_sbc_ckks::MAX_PIECE_BYTES);

/// A ring and its moduli. Every prime is 1 modulo twice the polynomial size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CkksParameters {
    /// The number of coefficients, twice the number of slots: a power of two, 1024 to 16384.
    pub polynomial_size: u32,
    /// The number of primes of ciphertexts.
    pub data_prime_count: u32,
    /// The primes of ciphertexts, in SEAL's order, each of at most 31 bits. Places behind
    /// `data_prime_count` are not read.
    pub data_primes: [u32; CKKS_MAX_DATA_PRIMES],
    /// The last prime of SEAL's parameters, of at most 60 bits, which only keys have; 0 if
    /// there is none.
    pub special_prime: u64,
}

/// The form of a public key in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum CkksKeyForm {
    /// SEAL's `PublicKey`, saved without compression.
    Seal = 0,
    /// SEAL-Embedded's files, one after the other: for each prime `pk0_ntt_…`, then
    /// `pk1_ntt_…`.
    SealEmbedded = 1,
}

/// The generator with which a server expands seeded ciphertexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum CkksGenerator {
    /// BLAKE2Xb, SEAL's default.
    Blake2xb = 1,
    /// SHAKE256.
    Shake256 = 2,
}

/// The form of a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum CkksFormat {
    /// SEAL's serialization, uncompressed, for `Ciphertext::load`.
    Seal = 0,
    /// SEAL's serialization with a seed in place of the second polynomial, half as long. Not for
    /// public keys.
    SealSeeded = 1,
    /// SEAL-Embedded's stream of 32-bit words: for each prime the first polynomial, then the
    /// second.
    Raw = 2,
}

/// Writes SEAL-Embedded's parameters of a polynomial size to `parameters`.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_standard_parameters(
    polynomial_size: u32,
    parameters: *mut CkksParameters,
) -> i32 {
    let run = || {
        memory::check(parameters, 1)?;
        let standard = Parameters::SEAL_EMBEDDED
            .iter()
            .find(|standard| standard.polynomial_size() == polynomial_size as usize)
            .ok_or(Status::Parameters)?;
        // SAFETY: not NULL and aligned; the rest is the caller's promise.
        unsafe { parameters.write(CkksParameters::of(standard)) };
        Ok(())
    };
    Status::of(run())
}

/// Reads SEAL's `EncryptionParameters`, saved without compression, into `parameters`.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_parameters_read(
    object: *const u8,
    object_len: usize,
    parameters: *mut CkksParameters,
) -> i32 {
    let run = || {
        let written = memory::check(parameters, 1)?;
        check_apart(&[written], &[memory::check(object, object_len)?])?;
        // SAFETY: what the header asks of every caller.
        let object = unsafe { memory::input(object, object_len)? };
        let read = seal::encryption_parameters(object)?;
        // SAFETY: not NULL and aligned; the rest is the caller's promise.
        unsafe { parameters.write(CkksParameters::of(&read)) };
        Ok(())
    };
    Status::of(run())
}

/// Writes to `bytes` the size of the workspace of a session with a secret key, or with a public key
/// if `is_public` is not 0.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_workspace_bytes(
    parameters: *const CkksParameters,
    plan: u32,
    is_public: u32,
    bytes: *mut usize,
) -> i32 {
    let mode = match is_public {
        0 => KeyMode::Symmetric,
        _ => KeyMode::Public,
    };
    let needed = |parameters: &_| Ok(workspace_bytes(parameters, ckks_plan(plan)?, mode));
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { answer(parameters, bytes, needed) })
}

/// Writes to `bytes` the number of bytes of a ciphertext.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_ciphertext_bytes(
    parameters: *const CkksParameters,
    format: u32,
    bytes: *mut usize,
) -> i32 {
    let needed = |parameters: &_| Ok(format_of(format)?.ciphertext_bytes(parameters));
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { answer(parameters, bytes, needed) })
}

/// Packs SEAL's `SecretKey`, saved without compression, into the form that sessions take, of
/// `polynomial_size / 4` bytes. `scratch` has `polynomial_size` numbers, for which a workspace is
/// large enough. It is overwritten with zeros at the end.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_secret_key_pack(
    parameters: *const CkksParameters,
    object: *const u8,
    object_len: usize,
    packed: *mut u8,
    packed_len: usize,
    scratch: *mut u32,
    scratch_count: usize,
) -> i32 {
    let run = || {
        let read = [
            memory::check(parameters, 1)?,
            memory::check(object, object_len)?,
        ];
        let written = [
            memory::check(packed, packed_len)?,
            memory::check(scratch, scratch_count)?,
        ];
        check_apart(&written, &read)?;
        // SAFETY: what the header asks of every caller.
        let parameters = unsafe { parameters.read() }.validated()?;
        // SAFETY: as above.
        let object = unsafe { memory::input(object, object_len)? };
        // SAFETY: it overlaps nothing that is used here.
        let (packed, scratch) = unsafe {
            (
                memory::output(packed, packed_len)?,
                memory::output(scratch, scratch_count)?,
            )
        };
        seal::secret_key(&parameters, object, packed, scratch)?;
        Ok(())
    };
    Status::of(run())
}

impl CkksParameters {
    fn of(parameters: &Parameters) -> Self {
        let primes = parameters.data_primes();
        let mut data_primes = [0; CKKS_MAX_DATA_PRIMES];
        for (place, &prime) in data_primes.iter_mut().zip(primes) {
            *place = prime;
        }
        Self {
            polynomial_size: parameters.polynomial_size() as u32,
            data_prime_count: primes.len() as u32,
            data_primes,
            special_prime: parameters.special_prime().unwrap_or(0),
        }
    }

    fn validated(&self) -> Result<Parameters, Status> {
        let count = self.data_prime_count as usize;
        let primes = self.data_primes.get(..count).ok_or(Status::Parameters)?;
        let special = (self.special_prime != 0).then_some(self.special_prime);
        // The test whether numbers are primes takes a board a long time; known parameters skip it.
        let known = Parameters::SEAL_EMBEDDED.iter().find(|known| {
            known.polynomial_size() == self.polynomial_size as usize
                && known.data_primes() == primes
                && known.special_prime() == special
        });
        match known {
            Some(known) => Ok(*known),
            None => Parameters::new(self.polynomial_size as usize, primes, special)
                .map_err(|_| Status::Parameters),
        }
    }
}

fn ckks_plan(plan: u32) -> Result<MemoryPlan, Status> {
    plan_of(plan).map(|plan| match plan {
        tfhe_sbc_device::MemoryPlan::Small => MemoryPlan::Small,
        tfhe_sbc_device::MemoryPlan::Balanced => MemoryPlan::Balanced,
        tfhe_sbc_device::MemoryPlan::Fast => MemoryPlan::Fast,
    })
}

fn generator_of(generator: u32) -> Result<SealGenerator, Status> {
    const BLAKE2XB: u32 = CkksGenerator::Blake2xb as u32;
    #[cfg(feature = "shake256")]
    const SHAKE256: u32 = CkksGenerator::Shake256 as u32;
    match generator {
        BLAKE2XB => Ok(SealGenerator::Blake2xb),
        #[cfg(feature = "shake256")]
        SHAKE256 => Ok(SealGenerator::Shake256),
        _ => Err(Status::Expander),
    }
}

fn format_of(format: u32) -> Result<Format, Status> {
    [Format::Seal, Format::SealSeeded, Format::Raw]
        .get(format as usize)
        .copied()
        .ok_or(Status::Format)
}

const _: () = assert!(CkksFormat::Seal as u32 == 0);
const _: () = assert!(CkksFormat::SealSeeded as u32 == 1);
const _: () = assert!(CkksFormat::Raw as u32 == 2);

/// Writes to `out` what `ask` returns for valid parameters.
///
/// # Safety
/// The caller keeps what the header demands of every caller.
unsafe fn answer(
    parameters: *const CkksParameters,
    out: *mut usize,
    ask: impl FnOnce(&Parameters) -> Result<usize, Status>,
) -> Result<(), Status> {
    let written = memory::check(out, 1)?;
    check_apart(&[written], &[memory::check(parameters, 1)?])?;
    // SAFETY: the caller's promise.
    let answer = ask(&unsafe { parameters.read() }.validated()?)?;
    // SAFETY: not NULL and aligned; the rest is the caller's promise.
    unsafe { out.write(answer) };
    Ok(())
}

impl From<CkksError> for Status {
    fn from(error: CkksError) -> Self {
        match error {
            CkksError::Workspace(WorkspaceError::TooSmall { .. }) => Self::WorkspaceTooSmall,
            CkksError::Workspace(WorkspaceError::Misaligned) => Self::Misaligned,
            CkksError::Parameters(_) => Self::Parameters,
            CkksError::Entropy(error) => error.into(),
            CkksError::Sink(_) => Self::SinkFailed,
            CkksError::Key(error) => error.into(),
            CkksError::TooManyValues { .. } => Self::ElementCount,
            CkksError::NotFinite { .. } => Self::ReadingNotFinite,
            CkksError::Scale => Self::Scale,
            CkksError::TooLarge => Self::TooLarge,
            CkksError::NotSeedable => Self::Format,
            _ => Self::Other,
        }
    }
}

impl From<KeyError> for Status {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::NotReduced | KeyError::PrimeCount { .. } => Self::KeyParameters,
            KeyError::NotTernary => Self::KeyFormat,
            _ => Self::KeyDamaged,
        }
    }
}

impl From<SealError> for Status {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Version(..) => Self::KeyVersion,
            SealError::Compressed | SealError::Seeded => Self::KeyCompressed,
            SealError::Length { .. } => Self::KeyDamaged,
            SealError::OtherParameters => Self::KeyParameters,
            SealError::Buffer { .. } => Self::OutputTooSmall,
            SealError::Parameters(_) => Self::Parameters,
            SealError::Key(error) => error.into(),
            _ => Self::KeyFormat,
        }
    }
}
