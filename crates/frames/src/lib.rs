//! Frames: readings that are masked with a one-time pad instead of encrypted as lattice ciphertexts.
//!
//! A board without the memory, the time or the radio for a GLWE ciphertext holds a 32-byte [`BoardKey`] and a
//! [`Counter`]. It sends `c = (m + r) mod 2^(bits + headroom)` for each code `m`, where `r` is the pad that
//! [`Pads`] gives at the frame's counter. Whoever has encrypted `-r` in advance turns `c` into a ciphertext
//! of `m` by adding it. `docs/frames.md` describes the frames byte by byte, and `c/` has the same encoder in C.
//!
//! | module | content |
//! |---|---|
//! | `chacha` | the block function of ChaCha20 (RFC 8439, section 2.3) |
//! | `siphash` | SipHash-2-4 (Aumasson and Bernstein, 2012) |
//! | `format` | columns, rows and device id: everything that both ends know and that is not secret |
//! | `pads` | the pads of a frame, from the board's key |
//! | `counter`, `journal` | the counter, and its place in flash |
//! | `encoder` | a board's end |
//! | `receiver`, `arrivals` | the server's end |
//! | `acknowledgement` | the server's answer, where the network has none |
//!
//! Encoding is constant-time in codes and keys, and allocates nothing.
//!
//! ```
//! use tfhe_sbc_frames::{BoardKey, Column, Counter, DeviceId, Encoder, Form, Format, Pads, Receiver};
//! # #[derive(Default)] struct Ram(Option<u32>);
//! # impl tfhe_sbc_frames::CounterStore for Ram {
//! #     type Error = ();
//! #     fn read(&mut self) -> Result<Option<u32>, ()> { Ok(self.0) }
//! #     fn write(&mut self, limit: u32) -> Result<(), ()> { self.0 = Some(limit); Ok(()) }
//! # }
//! # let mut store = Ram::default();
//! // One column of 12 bits below one bit of headroom, 24 rows a frame, pads for 365 frames.
//! let column = Column::new(12, 1)?;
//! let format = Format::new(DeviceId([1; 8]), Form::Bare, &[column], 24, 365)?;
//! let key = || BoardKey::from_bytes([7; 32]); // random, and of this board alone
//!
//! Counter::provision(&mut store)?; // once, when the board gets its key
//! let counter = Counter::open(store, 16, &format)?;
//! let mut board = Encoder::new(format, key(), counter);
//! let mut buffer = [0; 51];
//! let frame = board.encode(&[813_u16; 24], &mut buffer)?;
//!
//! let server = Receiver::new(format, key().mac_key());
//! let received = server.read(frame)?;
//! let owner = key();
//! let pads = Pads::new(&owner, &format, received.counter());
//! let unmasked = received.codes().zip(pads).map(|(masked, pad)| masked.wrapping_sub(pad) % (1 << 13));
//! assert!(unmasked.eq([813; 24]));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod acknowledgement;
#[cfg(feature = "alloc")]
mod arrivals;
mod bits;
mod chacha;
mod counter;
mod encoder;
mod format;
mod journal;
mod key;
mod pads;
mod receiver;
mod siphash;

pub use acknowledgement::Acknowledgement;
#[cfg(feature = "alloc")]
pub use arrivals::{Arrival, Arrivals, PadUsedTwice};
pub use counter::{Counter, CounterError, CounterStore};
pub use encoder::{EncodeError, Encoder};
pub use format::{Column, DeviceId, Form, Format, FormatError, ParseDeviceIdError};
pub use journal::{Flash, Journal};
pub use key::{BoardKey, MacKey};
pub use pads::Pads;
pub use receiver::{Frame, FrameError, Receiver};
