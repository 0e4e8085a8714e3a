//! Packed answers: the blocks that a server returns, brought into the coefficients of few GLWE
//! ciphertexts, for decryption only.
//!
//! Every block is a ciphertext of its own, whose mask takes a thousand times the bits of its value. A
//! packing key switch (Chillotti, Gama, Georgieva and Izabachène, "TFHE: Fast Fully Homomorphic
//! Encryption over the Torus", Journal of Cryptology 2020, algorithm 2 with the functions `X^j`) brings
//! `N` of them into the *slots* of one ciphertext under a [`PackingSecret`]. Nothing is computed on it
//! any more, so that a message fills its slot up to the top of the torus, without a padding bit, and
//! both masks and bodies are cut to the few bits that decryption needs. A slot has room for as many flags
//! as a message has bits.
//!
//! - [`PackingParameters`]: the shape and the noise of the packing key, and the bits of cut ciphertexts.
//! - [`PackingSecret`]: the key owner's key, derived from the secret key, so that no file holds it.
//! - [`cut`]: the rounding of packed ciphertexts.
//!
//! The engine crate has the packing key and the key switch; [`wire::packed`](crate::wire::packed) has
//! the bytes of packed answers.

mod cut;
mod parameters;
mod secret;

pub use cut::cut;
pub use parameters::{PACKING_PARAMETERS_BYTES, PackingParameters, SlotBits, slot_scale_log2};
pub use secret::PackingSecret;
