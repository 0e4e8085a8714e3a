//! Fully homomorphic encryption that starts on a small computer.
//!
//! A device encrypts its readings, a server computes on them without seeing them, and the owner of
//! the secret key decrypts the answers. This crate is the entrance to the project's libraries: it
//! names what most programs need and says which crate has the rest.
//!
//! # From keys to an answer
//!
//! The key owner makes keys: a secret key that stays with them, a device key for boards, and a server
//! key. A device turns a table of numbers into an upload. The server loads uploads as encrypted
//! columns; operators on them cost nothing until [`Server::compute`] evaluates everything that is
//! asked for together.
//!
//! ```
//! use tfhe_sbc::{Definition, KeySet, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The key owner.
//! let keys = KeySet::generate()?;
//!
//! // A device, which holds `keys.device_key_bytes()`. Temperatures from -40 to 88 °C in steps of
//! // 0.5 °C have codes of 8 bits. Their form is the default one, which means need.
//! let temperature = Definition {
//!     name: "temperature_c".to_owned(),
//!     unit: "°C".to_owned(),
//!     offset: -40.0,
//!     scale: 0.5,
//!     bits: 8,
//!     usage: None,
//!     compact: None,
//!     derived: Default::default(),
//! };
//! let hours = ["12:00", "13:00", "14:00"].map(str::to_owned);
//! let mut device = keys.device_session()?;
//! let columns = device.columns(&[temperature])?;
//! let upload = device.encrypt_table(
//!     tfhe_sbc::ExpanderKind::ChaCha20,
//!     &columns,
//!     &hours,
//!     &[[29.5, 31.0, 32.5]],
//! )?;
//!
//! // The server, which holds the server key.
//! let server = Server::new(keys.server_key().prepare(&|_| ()));
//! let readings = server.load(&[&upload])?;
//! let temperature = readings.column("temperature_c")?;
//! let hot = temperature.gt(30.0)?.count();
//! let warmest = temperature.max();
//! let [hot, warmest] = server.compute([&hot, &warmest])?;
//!
//! // The key owner again.
//! assert_eq!(hot.decrypt(keys.secret_key())?.number(), Some(2.0));
//! assert_eq!(warmest.decrypt(keys.secret_key())?.number(), Some(32.5));
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | task | here | more |
//! |---|---|---|
//! | make keys, store them, issue a key to one device | [`KeySet`], [`keys`] | `tfhe_sbc_core::keys` |
//! | encrypt on a computer with a heap | [`DeviceSession`] | [`upload`] |
//! | encrypt on a board without one | [`device`] | its C interface, `tfhe_sbc.h` |
//! | compute on columns, count bootstraps, rehearse in the clear | [`Server`], [`Table`], [`Number`], [`Mask`] | [`columns`] |
//! | ask questions in words | [`query`] | |
//! | compute on integers and bits one by one | [`engine`] | |
//! | choose parameters, know their security and failure probability | [`parameters`] | [`oracle`] |
//!
//! Servers, agents and the command line are crates and programs of their own; keys and ciphertexts
//! of TFHE-rs, TFHEpp and Microsoft SEAL are in `tfhe-sbc-foreign`.
#![forbid(unsafe_code)]

mod key_set;
pub mod keys;
pub mod parameters;

pub use key_set::{KeySet, KeySetError};

pub use tfhe_sbc_columns as columns;
pub use tfhe_sbc_columns::{Answer, Mask, Number, OptionalNumber, Server, Table, Value};
pub use tfhe_sbc_device as device;
pub use tfhe_sbc_device::{ExpanderKind, MemoryPlan};
pub use tfhe_sbc_engine as engine;
pub use tfhe_sbc_oracle as oracle;
pub use tfhe_sbc_query as query;
pub use tfhe_sbc_upload as upload;
pub use tfhe_sbc_upload::DeviceSession;
pub use tfhe_sbc_upload::definition::{Definition, Use};
pub use tfhe_sbc_upload::readings::Column;
