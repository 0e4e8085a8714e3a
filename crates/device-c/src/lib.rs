//! The C interface of the device library. `cargo xtask header` makes `include/tfhe_sbc.h` from this
//! crate.
//!
//! Every function checks its pointers, lengths and overlaps (`memory`), does what the
//! function of the same name of `tfhe_sbc_device` does, and returns a [`Status`]. A session
//! is an [`Encryptor`], a struct in the caller's memory, and a workspace (`encryptor`). The module
//! `key` reports the content of a key file, `sizes` has constants for static arrays, `readings`
//! makes blocks of numbers, `columns` encrypts columns with encodings of their own, `derived` is what is derived from them, `description` writes the message that describes them, and `ckks` has the
//! functions for `tfhe_sbc_ckks`.
//!
//! No panic crosses into C: none is meant to happen, and `extern "C"` functions abort if
//! one does. A callback must return normally: throwing an exception from it into Rust is undefined
//! behaviour.
#![cfg_attr(not(feature = "std"), no_std)]
#![allow(
    clippy::missing_safety_doc,
    reason = "what every function asks of its caller stands once, at the head of the header"
)]

#[cfg(not(any(feature = "torus-32", feature = "torus-64")))]
compile_error!("no key can be used: choose the feature 'torus-32', 'torus-64' or both");

mod callbacks;
mod columns;
mod derived;
mod description;
mod encryptor;
mod key;
mod memory;
mod readings;
mod sizes;
mod status;
mod storage;

// The header lists CKKS after everything else too.
#[cfg(feature = "ckks")]
mod ckks;

pub use callbacks::{Entropy, Sink};
#[cfg(feature = "ckks")]
pub use ckks::*;
pub use columns::*;
pub use derived::*;
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
    // A panic is a bug, after which nothing is trusted: a watchdog, if there is one, resets the board.
    loop {
        core::hint::spin_loop();
    }
}
