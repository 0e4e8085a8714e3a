//! The operations of a server on ciphertexts: key switch, programmable bootstrap, gates and radix
//! integers, all in batches.
//!
//! The path of a ciphertext: [`glwe_key_switch`] switches whole polynomials of readings from a
//! device's own key to the big key; `key_switch` switches an LWE ciphertext from the big key to
//! the small one; [`modulus_switch`] rounds it to exponents of `X`; [`blind_rotate`] multiplies a
//! [`lookup_table`] by that power of `X`, with a [`gadget_product`] for each block of key bits;
//! and the extracted coefficients are the results, under the big key again ([`bootstrap`]).
//! [`gates`] and [`circuit`] use nothing below [`bootstrap`]. A circuit records the lookups of
//! [`integer`] operators and evaluates them together; [`analytics`] computes on columns of
//! integers. [`compact`] takes whole readings in one ciphertext apart. [`packing_key`] packs answers for
//! their way back, and [`sanitise`] covers their noise before, if their owner asks for that.
//!
//! No value of this crate holds a secret. [`server_key`] makes the public evaluation keys from the
//! key owner's secrets; [`timing_key`] makes keys of the same shape that encrypt nothing, for
//! measuring times. [`nodes`] are the parts of a machine's memory, each of which can have a copy of a key.
#![forbid(unsafe_code)]

pub mod analytics;
pub mod blind_rotate;
pub mod bootstrap;
pub mod bootstrap_key;
mod cache_aligned;
pub mod caches;
mod chunk_table;
pub mod circuit;
pub mod compact;
mod filler;
pub mod gadget_product;
pub mod gates;
pub mod glwe_key_switch;
pub mod integer;
mod key_switch;
mod large_buffer;
pub mod lookup_table;
pub mod modulus_switch;
pub mod nodes;
pub mod packing_key;
mod processors;
pub mod requests;
pub mod sanitise;
pub mod seeded_rows;
pub mod server_key;
pub mod timing_key;
