//! TFHE encryption for small boards.
//!
//! An [`Encryptor`] lives in buffers that the caller provides: it reads a device key
//! file, transforms the secret key once, and from then on turns radix blocks or bits
//! into the bytes of a seeded GLWE message, ready to be sent. Nothing here allocates.
//!
//! The path of a reading: [`encode_readings`] makes radix blocks of it,
//! [`Encryptor::encrypt_blocks`] places them on a polynomial, adds noise and the
//! product of mask and key, and packs the body's top bits into the message.
//!
//! Encryption is constant-time in blocks, key and noise where the parameter set's
//! noise distribution is (all shipped sets); the mask and its seed are public.
//!
//! The crate needs neither `std` nor an allocator: `cargo check -p tfhe-sbc-device
//! --target thumbv7em-none-eabihf` builds it for a board without either, and
//! `tests/no_alloc.rs` counts the allocations of whole sessions, which are none.
//!
//! ```
//! use tfhe_sbc_device::{
//!     Encryptor, ExpanderKind, FixedPoint, Seed, SeedSequence, device_key_parameters,
//!     encode_readings, float_workspace_len, scalar_workspace_len,
//! };
//! # use tfhe_sbc_core::{keys::SecretKey, parameter_sets::MESSAGE_2_CARRY_2};
//! # let mut owner = SeedSequence::new(Seed::from_bytes([1; 32]));
//! # let secret = SecretKey::generate(MESSAGE_2_CARRY_2.validate()?, &mut owner)?;
//! # let device_key = secret.device_key().to_bytes()?;
//! # let mut calls = 0;
//! # let trng = |seed: &mut [u8]| { calls += 1; for (i, byte) in seed.iter_mut().enumerate() { *byte = i as u8 * calls } Ok(()) };
//! // On a board these are static arrays of the sizes that these calls give.
//! let parameters = device_key_parameters(&device_key)?;
//! let mut floats = vec![0.0; float_workspace_len::<u64>(&parameters)];
//! let mut scalars = vec![0; scalar_workspace_len(&parameters)];
//!
//! let seeds = SeedSequence::from_entropy(trng)?; // the board's TRNG
//! let mut board =
//!     Encryptor::<u64>::new(&device_key, ExpanderKind::ChaCha20, seeds, &mut floats, &mut scalars)?;
//!
//! let celsius = FixedPoint::new(-50.0, 0.1, 10)?;
//! let mut blocks = [0; 2 * 5]; // two readings of 10 bits, 2 bits a block
//! encode_readings(parameters.block_encoding(), &celsius, &[-10.6, 21.5], &mut blocks)?;
//! let mut message = vec![0; board.message_len(blocks.len())];
//! let len = board.encrypt_blocks(&blocks, &mut message)?; // ready to be sent
//! # assert_eq!(len, message.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

use thiserror::Error;
use zeroize::Zeroize;

pub use tfhe_sbc_core::encoding::{BlockEncoding, FixedPoint, ReadingError};
pub use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters, PlaintextKind};
pub use tfhe_sbc_core::random::{
    EntropyError, EntropySource, ExpanderKind, NoSource, ReseedPolicy, Seed, SeedSequence,
};
pub use tfhe_sbc_core::wire::WireError;

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::fft::{FftPlan, twiddle_len};
use tfhe_sbc_core::glwe_product::{
    MaskProduct, MaskTorus, mask_product_scratch_len, prepare_key_polynomial,
};
use tfhe_sbc_core::random::{add_noise, fill_uniform};
use tfhe_sbc_core::simd::Isa;
use tfhe_sbc_core::wire::bits::{binary_at, pack_top_bits, packed_len};
use tfhe_sbc_core::wire::glwe::{MAX_ELEMENTS, header, message_len};
use tfhe_sbc_core::wire::key::KeyBytes;
use tfhe_sbc_core::wire::{CHECKSUM_BYTES, HEADER_BYTES};

/// Why a device did not encrypt. Nothing has been written when one is returned.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum DeviceError {
    /// The key file or an output buffer is not right.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The source of randomness failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// A reading has no code.
    #[error("reading {index}: {error}")]
    Reading {
        /// Its place in the input.
        index: usize,
        /// What is wrong with it.
        error: ReadingError,
    },
    /// The key's parameters have another torus than the encryptor's type.
    #[error("the key's parameter set is over a {0}-bit torus: use the encryptor of that width")]
    TorusBits(u32),
    /// The key's parameters encode another kind of plaintext.
    #[error("the key's parameter set does not encode this kind of plaintext")]
    PlaintextKind,
    /// A workspace that is too small.
    #[error("the {name} workspace has {found} places, {needed} are needed")]
    Workspace {
        /// Which.
        name: &'static str,
        /// Places needed.
        needed: usize,
        /// Places given.
        found: usize,
    },
    /// A block that is not below the message modulus.
    #[error("block {index} is {value}: blocks are below {modulus}")]
    BlockOutOfRange {
        /// Its place in the input.
        index: usize,
        /// Its value.
        value: u8,
        /// The message modulus.
        modulus: u64,
    },
    /// No plaintexts, or too many for one message.
    #[error("{0} plaintexts do not fit one message: send between 1 and {MAX_ELEMENTS}")]
    ElementCount(usize),
}

/// Number of blocks of `count` readings in this encoding.
pub const fn reading_block_count(
    encoding: BlockEncoding,
    fixed_point: &FixedPoint,
    count: usize,
) -> usize {
    count.saturating_mul(encoding.block_count(fixed_point.bits()))
}

/// Turns readings into radix blocks, least significant block first, reading after
/// reading. `blocks` has [`reading_block_count`] places; it is untouched on error.
pub fn encode_readings(
    encoding: BlockEncoding,
    fixed_point: &FixedPoint,
    readings: &[f64],
    blocks: &mut [u8],
) -> Result<(), DeviceError> {
    let needed = reading_block_count(encoding, fixed_point, readings.len());
    if blocks.len() != needed {
        return Err(DeviceError::Workspace {
            name: "block",
            needed,
            found: blocks.len(),
        });
    }
    let code = |index: usize, reading: f64| {
        fixed_point
            .encode(reading)
            .map_err(|error| DeviceError::Reading { index, error })
    };
    for (index, &reading) in readings.iter().enumerate() {
        code(index, reading)?;
    }
    let each = encoding.block_count(fixed_point.bits());
    for (index, (&reading, blocks)) in readings
        .iter()
        .zip(blocks.chunks_exact_mut(each))
        .enumerate()
    {
        // A code has at most `bits` bits, which is what `each` blocks hold.
        let _ = encoding.split(code(index, reading)?, blocks);
    }
    Ok(())
}

/// A symmetric encryptor in borrowed buffers. `T` is the torus of the key's parameter
/// set: `u32` or `u64`. Drop zeroizes everything secret that the buffers hold.
pub struct Encryptor<'w, T: MaskTorus> {
    parameters: Parameters,
    key: KeyFingerprint,
    expander: ExpanderKind,
    seeds: SeedSequence,
    buffers: Buffers<'w, T>,
}

struct Buffers<'w, T: MaskTorus> {
    plan: FftPlan<'w>,
    prepared_key: &'w mut [f64],
    scratch: &'w mut [f64],
    mask: &'w mut [T],
    body: &'w mut [T],
}

impl<T: MaskTorus> Drop for Encryptor<'_, T> {
    fn drop(&mut self) {
        self.buffers.prepared_key.zeroize();
        self.buffers.scratch.zeroize();
        self.buffers.body.fill(T::ZERO);
        zeroize::optimization_barrier(&*self.buffers.body);
    }
}

/// The parameter set of a device key file, from which the sizes of the workspaces and
/// messages follow.
pub fn device_key_parameters(device_key: &[u8]) -> Result<Parameters, DeviceError> {
    Ok(KeyBytes::parse_device_key(device_key)?.parameters)
}

/// Number of doubles of an encryptor's workspace: twiddles, transformed key, scratch.
pub fn float_workspace_len<T: MaskTorus>(parameters: &Parameters) -> usize {
    let size = parameters.polynomial_size();
    twiddle_len(size) + parameters.big_lwe_dimension().0 + mask_product_scratch_len::<T>(size)
}

/// Number of torus scalars of an encryptor's workspace: one mask polynomial, one body.
pub fn scalar_workspace_len(parameters: &Parameters) -> usize {
    2 * parameters.polynomial_size().get()
}

impl<'w, T: MaskTorus> Encryptor<'w, T> {
    /// Reads a device key file and transforms its key.
    ///
    /// `floats` has at least [`float_workspace_len`] places and `scalars` at least
    /// [`scalar_workspace_len`]; what they hold is lost. `seeds` must be fresh: it is
    /// what makes this session's ciphertexts different from any other's.
    pub fn new(
        device_key: &[u8],
        expander: ExpanderKind,
        seeds: SeedSequence,
        floats: &'w mut [f64],
        scalars: &'w mut [T],
    ) -> Result<Self, DeviceError> {
        let key = KeyBytes::parse_device_key(device_key)?;
        let parameters = key.parameters;
        if parameters.torus_bits != T::BITS {
            return Err(DeviceError::TorusBits(parameters.torus_bits));
        }
        let size = parameters.polynomial_size();
        let floats = sized("float", floats, float_workspace_len::<T>(&parameters))?;
        let scalars = sized("scalar", scalars, scalar_workspace_len(&parameters))?;

        let (twiddles, floats) = floats.split_at_mut(twiddle_len(size));
        let (prepared_key, scratch) = floats.split_at_mut(parameters.big_lwe_dimension().0);
        let plan = FftPlan::new(size, Isa::detect(), twiddles).map_err(|short| {
            DeviceError::Workspace {
                name: "float",
                needed: short.needed,
                found: short.given,
            }
        })?;
        for (index, place) in prepared_key.iter_mut().enumerate() {
            *place = f64::from(binary_at(key.glwe, index));
        }
        for polynomial in prepared_key.chunks_exact_mut(size.get()) {
            prepare_key_polynomial(plan, polynomial);
        }
        let (mask, body) = scalars.split_at_mut(size.get());
        Ok(Self {
            parameters,
            key: key.key,
            expander,
            seeds,
            buffers: Buffers {
                plan,
                prepared_key,
                scratch,
                mask,
                body,
            },
        })
    }

    /// The parameter set of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Number of bytes of the message that encrypts `element_count` blocks or bits.
    pub fn message_len(&self, element_count: usize) -> usize {
        message_len(
            element_count,
            self.parameters.polynomial_size().get(),
            self.parameters.body_bits,
        )
    }

    /// Encrypts radix blocks, each below the message modulus, into the first
    /// [`message_len`](Self::message_len) bytes of `out`, and gives their number.
    pub fn encrypt_blocks(&mut self, blocks: &[u8], out: &mut [u8]) -> Result<usize, DeviceError> {
        if self.parameters.plaintext != PlaintextKind::Radix {
            return Err(DeviceError::PlaintextKind);
        }
        let encoding = self.parameters.block_encoding();
        let modulus = encoding.message_modulus();
        if let Some(index) = blocks.iter().position(|&b| u64::from(b) >= modulus) {
            return Err(DeviceError::BlockOutOfRange {
                index,
                value: blocks[index],
                modulus,
            });
        }
        self.encrypt(blocks, |block| encoding.encode(i64::from(block)), out)
    }

    /// Encrypts bits, each 0 or 1, into the first [`message_len`](Self::message_len)
    /// bytes of `out`, and gives their number.
    pub fn encrypt_bits(&mut self, bits: &[u8], out: &mut [u8]) -> Result<usize, DeviceError> {
        if self.parameters.plaintext != PlaintextKind::Boolean {
            return Err(DeviceError::PlaintextKind);
        }
        if let Some(index) = bits.iter().position(|&bit| bit > 1) {
            return Err(DeviceError::BlockOutOfRange {
                index,
                value: bits[index],
                modulus: 2,
            });
        }
        // ±1/8 without a branch on the bit.
        let (low, high) = (boolean::encode::<T>(false), boolean::encode::<T>(true));
        let step = high.sub(low);
        self.encrypt(
            bits,
            |bit| low.add(step.mul(T::from_i64(i64::from(bit)))),
            out,
        )
    }

    fn encrypt(
        &mut self,
        values: &[u8],
        plaintext: impl Fn(u8) -> T,
        out: &mut [u8],
    ) -> Result<usize, DeviceError> {
        if values.is_empty() || values.len() > MAX_ELEMENTS {
            return Err(DeviceError::ElementCount(values.len()));
        }
        let needed = self.message_len(values.len());
        let found = out.len();
        let message = out
            .get_mut(..needed)
            .ok_or(WireError::BufferTooSmall { needed, found })?;
        let (mask_seed, noise_seed) = self.seeds.next_pair()?;

        let size = self.parameters.polynomial_size().get();
        let body_bits = self.parameters.body_bits;
        let mut payload = &mut message[HEADER_BYTES..needed - CHECKSUM_BYTES];
        for (stream, values) in values.chunks(size).enumerate() {
            let stream = stream as u32;
            let Buffers {
                plan,
                prepared_key,
                scratch,
                mask,
                body,
            } = &mut self.buffers;
            body.fill(T::ZERO);
            for (place, &value) in body.iter_mut().zip(values) {
                *place = plaintext(value);
            }
            let mut noise_stream = self.expander.noise_stream(&noise_seed, stream);
            add_noise(
                self.parameters.glwe_noise,
                &mut noise_stream,
                &mut body[..values.len()],
            );
            let mut mask_stream = self.expander.mask_stream(&mask_seed, stream);
            let mut product = MaskProduct::new::<T>(*plan, scratch);
            for key in prepared_key.chunks_exact(size) {
                fill_uniform(&mut mask_stream, mask);
                product.add(mask, key);
            }
            product.finish_into(body);

            let used = &body[..values.len()];
            let (packed, rest) =
                core::mem::take(&mut payload).split_at_mut(packed_len(used.len(), body_bits));
            pack_top_bits(used, body_bits, packed);
            payload = rest;
        }
        header(
            &self.parameters,
            self.key,
            self.expander,
            mask_seed,
            values.len() as u32,
        )
        .seal(message)?;
        Ok(needed)
    }
}

fn sized<'w, T>(
    name: &'static str,
    buffer: &'w mut [T],
    needed: usize,
) -> Result<&'w mut [T], DeviceError> {
    let found = buffer.len();
    buffer.get_mut(..needed).ok_or(DeviceError::Workspace {
        name,
        needed,
        found,
    })
}
