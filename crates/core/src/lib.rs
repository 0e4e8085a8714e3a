//! The foundation of all crates of tfhe-sbc: torus scalars, the
//! ring `Z_q[X]/(X^N + 1)` and its transforms, randomness, LWE and GLWE
//! ciphertexts, encodings, validated parameters and the wire format.
//!
//! Nothing here uses files, sockets or threads. Without the `alloc` feature
//! everything works on slices that the caller provides; `alloc` adds owning
//! types, `std` adds run-time detection of instruction sets.
//!
//! The path of a reading through this crate: [`encoding`] turns it into radix
//! blocks, [`glwe_product`] adds the product of mask and key, [`random`] draws mask and noise, and
//! [`wire`] puts the result into bytes. On the server,
//! [`sample_extract`] takes the reading out of its polynomial as an LWE ciphertext.
//!
//! The algorithms and their sources:
//!
//! | module | source |
//! |---|---|
//! | [`encoding::boolean`], [`sample_extract`] | Chillotti, Gama, Georgieva and Izabachène, "TFHE: Fast Fully Homomorphic Encryption over the Torus", section 4.2 |
//! | [`fft`] | the folded transform as a tree of remainders, explained in the module |
//! | `packing` | the same authors, "TFHE: Fast Fully Homomorphic Encryption over the Torus", Journal of Cryptology 2020, algorithm 2 |
//! | [`ntt`] | Lyubashevsky and Seiler, "NTTRU", 2019; Seiler 2018 |
//! | `device_public_key`, `public_zeros` | Lyubashevsky, Peikert and Regev 2010, section 1.1 |
//! | `lwe` | keys of blocks: ePrint 2023/958, section 3 |
//! | [`random::ExpanderKind`] | RFC 8439, FIPS 197 with SP 800-38A, BLAKE2X 2016, BLAKE3 2020, FIPS 202 |
//! | [`random::add_noise`] | Box and Muller 1958; TUniform of TFHE-rs |
//! | [`random::SeedSequence`] | RFC 8439; health tests after SP 800-90B, section 4.4 |
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
pub mod memcheck;
#[cfg(feature = "std")]
pub mod memory;
pub mod ntt;
mod packed_len;
#[cfg(feature = "alloc")]
pub mod packing;
pub mod padded_text;
pub mod parameter_sets;
pub mod parameters;
pub mod polynomial;
pub mod process;
#[cfg(feature = "alloc")]
pub mod public_zeros;
pub mod random;
pub mod sample_extract;
pub mod simd;
#[cfg(test)]
mod test_words;
pub mod torus;
pub mod wire;
pub mod workspace;
