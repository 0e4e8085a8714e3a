//! Randomness: seeds, the expanders that stretch them, and the typed draws from
//! the streams of expanders.
//!
//! The data flows one way:
//!
//! 1. [`SeedSequence`] holds the 32-byte root [`Seed`] of a session. It asks the OS or
//!    the board's TRNG for it, and again as its [`ReseedPolicy`] says. It gives
//!    every ciphertext a fresh pair: a [`MaskSeed`], which is sent in the header, and
//!    a [`NoiseSeed`], which is never sent.
//! 2. [`ExpanderKind`] identifies a generator on the wire; with a seed and a stream
//!    number it opens an [`AnyExpander`]. Mask and noise come from independently
//!    keyed streams, so the mask reveals nothing about the noise.
//! 3. [`fill_uniform`] and [`fill_binary`] read masks and secrets from a stream,
//!    [`add_noise`] reads errors of a [`NoiseDistribution`].
//!
//! A receiver repeats steps 2 and 3 for the mask alone. It must find the same
//! mask on any machine, so every byte of a stream and every number made from it is
//! fixed by the documentation of this module, the Gaussian included: no libm, no
//! fused multiplication, no host byte order.
//!
//! Everything here is constant-time in the seeds and in the values drawn, on
//! processors whose integer and floating-point additions and multiplications are. Gaussian
//! noise of up to 2^16 steps of q needs `f32` alone, wider noise `f64`; where these are
//! emulated in software, prefer [`NoiseDistribution::TUniform`].
#![forbid(unsafe_code)]

#[cfg(feature = "aes")]
mod aes128_ctr;
#[cfg(any(feature = "blake2", feature = "blake3-xof"))]
mod blake;
#[cfg(feature = "blake2")]
mod blake2x;
#[cfg(feature = "blake3-xof")]
mod blake3;
mod centered_binomial;
mod chacha20;
mod entropy;
mod expander;
mod expander_kind;
mod gaussian;
mod health;
mod keystream;
mod noise;
#[cfg(feature = "blake2")]
mod seal;
mod seed;
#[cfg(feature = "shake256")]
mod shake256;
#[cfg(feature = "aes")]
mod tfhe_rs;
mod tuniform;
mod uniform;

#[cfg(all(test, feature = "std"))]
mod tests;

pub(crate) use keystream::Scratch;

#[cfg(feature = "blake2")]
pub use blake2x::blake2b_256;
pub use entropy::{EntropyError, EntropySource, NoSource};
pub use expander::Expander;
pub use expander_kind::{AnyExpander, ExpanderKind, UnsupportedExpander};
pub use noise::{NoiseDistribution, NoiseDistributionError, add_noise, add_noise_with};
#[cfg(feature = "blake2")]
pub use seal::{SealGenerator, SealPrng};
pub use seed::{MaskSeed, NoiseSeed, ReseedPolicy, Seed, SeedSequence};
#[cfg(feature = "aes")]
pub use tfhe_rs::{TfheRsStream, tfhe_rs_seed};
pub use uniform::{
    add_uniform, fill_binary, fill_packed_secret, fill_secret, fill_ternary, fill_uniform,
};
