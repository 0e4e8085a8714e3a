//! TFHE encryption for small boards.
//!
//! An [`Encryptor`] works in one buffer that the caller provides: it reads a device key
//! file and then turns radix blocks or bits into the bytes of a seeded GLWE
//! message, in a buffer or piece by piece for a radio or a socket. Nothing here allocates.
//! A [`MemoryPlan`] determines the size of the buffer and what is kept in it; the messages are the
//! same under every plan.
//!
//! The path of a reading: [`encode_readings`] makes radix blocks of it, and
//! [`Encryptor::encrypt_blocks`] places them on a polynomial, adds noise and the
//! product of mask and key, and packs the body's top bits into the message. A server that answers
//! questions needs to know what the blocks mean: [`Session::describe`] writes the message that is
//! sent before them.
//!
//! | module | algorithm |
//! |---|---|
//! | `public` | public-key encryption (Lyubashevsky, Peikert and Regev, 2010) |
//! | `product::number_theoretic` | the product in integers (Lyubashevsky and Seiler, "NTTRU", 2019) |
//! | `product::fourier` | the product in doubles, by [`tfhe_sbc_core::fft`] |
//! | `description` | CBOR (RFC 8949) |
//!
//! Encryption is constant-time in blocks, key and noise; the mask and its seed are
//! public. There are two exceptions. On a processor that computes doubles in software,
//! [`MemoryPlan::Fast`] and Gaussian noise of more than 2^16 steps of q, which no shipped parameter
//! set has, are not constant-time. On a processor without any floating-point unit, no Gaussian noise
//! is.
//!
//! The crate needs neither `std` nor an allocator: `cargo check -p tfhe-sbc-device
//! --target thumbv7em-none-eabihf` builds it for a board without either, and
//! `tests/it/no_alloc.rs` verifies that whole sessions allocate nothing.
//!
//! ```
//! use tfhe_sbc_device::{
//!     Encryptor, ExpanderKind, FixedPoint, KeyMode, MemoryPlan, Seed, SeedSequence, Workspace,
//!     encode_readings, workspace_bytes,
//! };
//! use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
//! # use tfhe_sbc_core::keys::SecretKey;
//! # let mut owner = SeedSequence::new(Seed::from_bytes([1; 32]));
//! # let secret = SecretKey::generate(MESSAGE_2_CARRY_2.validate()?, &mut owner)?;
//! # let device_key = secret.device_key().to_bytes()?;
//! # let mut calls = 0;
//! # let trng = |seed: &mut [u8]| { calls += 1; for (i, byte) in seed.iter_mut().enumerate() { *byte = i as u8 * calls } Ok(()) };
//! const PLAN: MemoryPlan = MemoryPlan::recommended();
//! const BYTES: usize = workspace_bytes(&MESSAGE_2_CARRY_2, PLAN, KeyMode::Symmetric);
//! let mut workspace = Workspace::<BYTES>::new(); // on a board, a static
//!
//! let seeds = SeedSequence::from_entropy(trng)?; // the board's TRNG
//! let mut board = Encryptor::<u64>::new(
//!     &device_key,
//!     PLAN,
//!     ExpanderKind::ChaCha20,
//!     seeds,
//!     workspace.as_mut_slice(),
//! )?;
//!
//! let celsius = FixedPoint::new(-50.0, 0.1, 10)?;
//! let mut blocks = [0; 2 * 5]; // two readings of 10 bits, 2 bits a block
//! encode_readings(board.parameters().block_encoding(), &celsius, &[-10.6, 21.5], &mut blocks)?;
//! let mut message = vec![0; board.message_len(blocks.len())];
//! let len = board.encrypt_blocks(&blocks, &mut message)?; // ready to be sent
//! # assert_eq!(len, message.len());
//!
//! // Or without room for a message:
//! let mut sent = 0;
//! board.encrypt_blocks_to(&blocks, &mut |piece| { sent += piece.len(); Ok(()) })?;
//! # assert_eq!(sent, len);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(not(any(feature = "fft", feature = "ntt")))]
compile_error!("tfhe-sbc-device needs a transform: switch on its feature `fft`, `ntt` or both");

mod columns;
mod description;
mod error;
mod masks;
mod output;
mod plaintext;
mod plan;
mod product;
mod public;
mod readings;
mod session;
mod symmetric;

pub use columns::{ColumnSource, ColumnValues};
pub use description::{Column, Derived, Description};
pub use error::{DeviceError, SinkError};
pub use output::MAX_PIECE_BYTES;
pub use plan::{KeyMode, MemoryPlan, workspace_bytes};
pub use public::{Public, PublicEncryptor, device_public_key_parameters};
pub use readings::{encode_readings, reading_block_count};
pub use session::{Session, SessionMode};
pub use symmetric::{Encryptor, Symmetric, device_key_parameters};

pub use tfhe_sbc_core::encoding::{
    BlockEncoding, BodyRounding, CompactEncoding, CompactError, Derivation, FixedPoint,
    ReadingError, are_cuts,
};
pub use tfhe_sbc_core::parameters::{KeyFingerprint, ParameterSet, Parameters, PlaintextKind};
pub use tfhe_sbc_core::random::{
    EntropyError, EntropySource, ExpanderKind, NoSource, ReseedPolicy, Seed, SeedSequence,
};
pub use tfhe_sbc_core::wire::{UploadSize, WireError};
pub use tfhe_sbc_core::workspace::{Workspace, WorkspaceError};
