//! The C interface of the device library: `include/tfhe_sbc.h`, made of this crate by
//! `cargo xtask header`.
//!
//! Every function checks its pointers, lengths and overlaps (`memory`), does what the
//! function of the same name of `tfhe_sbc_device` does, and gives a [`Status`]. A session
//! lives in an [`Encryptor`], a struct in the caller's memory, and in a workspace
//! (`encryptor`); what a key file says and how large things are comes from `key` and
//! `sizes`; `readings` makes blocks of numbers, `description` the message that says
//! what they are. `ckks` does all of this for `tfhe_sbc_ckks`.
//!
//! No panic crosses into C: none is meant to happen, and `extern "C"` functions abort if
//! one does. Callbacks return: an exception thrown out of one into Rust is undefined.
#![cfg_attr(not(feature = "std"), no_std)]
#![allow(
    clippy::missing_safety_doc,
    reason = "what every function asks of its caller stands once, at the head of the header"
)]

#[cfg(not(any(feature = "torus-32", feature = "torus-64")))]
compile_error!("no key can be used: choose the feature 'torus-32', 'torus-64' or both");

mod callbacks;
mod description;
mod encryptor;
mod key;
mod memory;
mod readings;
mod sizes;
mod status;
mod storage;

// The header has it behind the others too.
#[cfg(feature = "ckks")]
mod ckks;

pub use callbacks::{Entropy, Sink};
#[cfg(feature = "ckks")]
pub use ckks::*;
pub use description::*;
pub use encryptor::*;
pub use key::*;
pub use readings::*;
pub use sizes::*;
pub use status::*;
pub use storage::{Encryptor, ENCRYPTOR_WORDS};

#[cfg(all(feature = "panic-handler", not(feature = "std"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Nothing may follow a bug: a watchdog, where there is one, starts the board again.
    loop {
        core::hint::spin_loop();
    }
}
