//! CKKS encoding and encryption for small boards, for servers that run Microsoft SEAL.
//!
//! An [`Encryptor`] has a secret key, a [`PublicEncryptor`] a public one. Both work in one buffer
//! that the caller provides. They turn up to `n / 2` real or complex values ([`Slots`]) into a
//! ciphertext and send it piece by piece, in one of three forms ([`Format`]): SEAL's native
//! serialization in full, the same with a seed in place of the second polynomial, or
//! SEAL-Embedded's raw stream. Nothing here allocates. A [`MemoryPlan`] determines the size of the
//! buffer and what is kept in it; the ciphertexts are the same under every plan.
//!
//! ```text
//! values ─encoding─▶ integer coefficients ─ntt, one prime at a time─▶ + noise + mask · key ─▶ sink
//! ```
//!
//! The owner of the secret key decrypts what a server returns: [`seal::ciphertext`] reads it, and
//! `decrypt` (feature `alloc`) gives the values.
//!
//! Keys stay where they are, without a copy: [`seal::secret_key`] and [`seal::public_key`] read
//! SEAL's files, [`SecretKey::from_packed`] and [`PublicKey::from_parts`] those of SEAL-Embedded.
//! [`Parameters`] are SEAL-Embedded's sets or a choice of one's own.
//!
//! | module | algorithm |
//! |---|---|
//! | `encoding` | CKKS encoding (Cheon, Kim, Kim and Song 2017, section 3.2) |
//! | `modulus` | Montgomery multiplication (Montgomery 1985) |
//! | `ntt`, `wide` | the negacyclic transform (Longa and Naehrig 2016, algorithms 1 and 2) |
//! | `plan` | memory plans (Natarajan and Dai, "SEAL-Embedded", 2021) |
//! | `parameters` | HomomorphicEncryption.org security standard (2018), table 1 |
//! | `decrypt` | reconstruction from residues (Garner 1959) |
//!
//! Everything that touches a secret is constant-time on processors whose multiplication and
//! arithmetic in doubles are; where doubles are computed in software, the time of encoding
//! depends on the values. Every ciphertext has seeds of its own, one for the mask and an
//! independent one for the noise.
//!
//! Ciphertexts are not authenticated: whoever can change one changes its values. And the
//! *decryption* of a CKKS ciphertext reveals its noise, and so part of the key (Li and Micciancio,
//! "On the security of homomorphic encryption on approximate numbers", 2021): give decryptions only
//! to those who have the key.
//!
//! ```
//! use tfhe_sbc_ckks::{
//!     Encryptor, Format, KeyMode, MemoryPlan, Parameters, SealGenerator, SecretKey, Seed,
//!     SeedSequence, Slots, Workspace, workspace_bytes,
//! };
//! # use tfhe_sbc_ckks::packed_bytes;
//! # let mut sk_4096 = vec![0; packed_bytes(4096)];
//! # let mut owner = SeedSequence::new(Seed::from_bytes([1; 32]));
//! # SecretKey::generate(&Parameters::N4096, &mut owner, &mut sk_4096)?;
//! # let mut calls = 0;
//! # let trng = |seed: &mut [u8]| { calls += 1; for (i, byte) in seed.iter_mut().enumerate() { *byte = i as u8 * calls } Ok(()) };
//! const PARAMETERS: Parameters = Parameters::N4096;
//! const PLAN: MemoryPlan = MemoryPlan::Small;
//! const BYTES: usize = workspace_bytes(&PARAMETERS, PLAN, KeyMode::Symmetric);
//! let mut workspace = Workspace::<BYTES>::new(); // on a board, a static
//!
//! let key = SecretKey::from_packed(&PARAMETERS, &sk_4096)?; // in flash
//! let seeds = SeedSequence::from_entropy(trng)?; // the board's TRNG
//! let mut board = Encryptor::new(
//!     &PARAMETERS,
//!     key,
//!     PLAN,
//!     SealGenerator::Blake2xb,
//!     seeds,
//!     workspace.as_mut_slice(),
//! )?;
//!
//! let readings = [21.5, 22.0, 19.25];
//! let scale = (1 << 25) as f64;
//! let mut file = Vec::new(); // or a socket, a radio, a serial line
//! let len = board.encrypt(Slots::Real(&readings), scale, Format::SealSeeded, &mut |piece| {
//!     file.extend_from_slice(piece);
//!     Ok(())
//! })?;
//! assert_eq!(len, file.len()); // what SEAL's `Ciphertext::load` takes
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "alloc")]
mod decrypt;
mod encoding;
mod error;
mod mask;
mod modulus;
mod ntt;
mod numbers;
mod output;
mod parameters;
mod plan;
mod public;
mod public_key;
pub mod seal;
mod state;
mod symmetric;
mod ternary;
mod wide;

#[cfg(feature = "alloc")]
pub use decrypt::decrypt;
pub use encoding::Slots;
pub use error::{CkksError, KeyError, SinkError};
pub use output::{Format, MAX_PIECE_BYTES};
pub use parameters::{MAX_DATA_PRIMES, Parameters, ParametersError};
pub use plan::{KeyMode, MemoryPlan, workspace_bytes};
pub use public::PublicEncryptor;
pub use public_key::PublicKey;
pub use symmetric::Encryptor;
pub use ternary::{SecretKey, packed_bytes};

pub use tfhe_sbc_core::random::{
    EntropyError, EntropySource, NoSource, ReseedPolicy, SealGenerator, Seed, SeedSequence,
};
pub use tfhe_sbc_core::workspace::{Workspace, WorkspaceError};
