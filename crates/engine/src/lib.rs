//! What a server does with ciphertexts: key switch, programmable bootstrap, gates and
//! radix integers, always in batches.
//!
//! The path of a ciphertext: [`glwe_key_switch`] brings whole polynomials of readings
//! from a device's own key under the big one; [`key_switch`] takes an LWE ciphertext from
//! the big key to the small one, [`modulus_switch`] rounds it to exponents of `X`,
//! [`blind_rotate`] turns a [`lookup_table`] by them with [`external_product`]s, and
//! coefficient 0 of what comes out is the result under the big key again ([`bootstrap`]).
//! [`gates`] and [`circuit`] are written on top of that and never look below it; a circuit
//! records the lookups of [`integer`] operators and has them done together; [`analytics`] are
//! questions about columns of integers.
//!
//! Nothing here holds a secret; [`server_key`] is where the key owner's secrets become
//! public evaluation keys. [`timing_key`] has the shape of those and nothing in it, for clocks.
#![forbid(unsafe_code)]

pub mod analytics;
pub mod blind_rotate;
pub mod bootstrap;
pub mod bootstrap_key;
mod cache_aligned;
pub mod circuit;
mod filler;
pub mod gadget_product;
pub mod gates;
pub mod glwe_key_switch;
pub mod integer;
pub mod key_switch;
pub mod lookup_table;
pub mod modulus_switch;
pub mod seeded_rows;
pub mod server_key;
pub mod timing_key;
