//! The ground that every other crate of tfhe-sbc stands on: torus scalars, the
//! ring `Z_q[X]/(X^N + 1)` and its transforms, randomness, LWE and GLWE
//! ciphertexts, encodings, validated parameters and the wire format.
//!
//! Nothing here knows a file, a socket or a thread. Without the `alloc` feature
//! everything works on slices that the caller provides; `alloc` adds owning
//! types, `std` adds run-time detection of instruction sets.
//!
//! The path of a reading through this crate: [`encoding`] turns it into radix
//! blocks, [`glwe_product`] adds the mask product that [`fft`]
//! multiplies, [`random`] draws mask and noise, [`wire`] gives it bytes, and on the far side
//! [`sample_extract`] takes it out of its polynomial as an LWE ciphertext.
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod description;
pub mod device_issue;
#[cfg(feature = "alloc")]
pub mod device_public_key;
pub mod dimensions;
pub mod encoding;
pub mod fft;
#[cfg(feature = "alloc")]
pub mod glwe;
pub mod glwe_product;
#[cfg(feature = "alloc")]
pub mod keys;
#[cfg(feature = "alloc")]
pub mod lwe;
pub mod ntt;
mod packed_len;
pub mod padded_text;
pub mod parameter_sets;
pub mod parameters;
pub mod polynomial;
pub mod random;
pub mod sample_extract;
pub mod simd;
#[cfg(test)]
mod test_words;
pub mod torus;
pub mod wire;
pub mod workspace;
