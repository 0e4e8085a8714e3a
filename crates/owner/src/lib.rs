//! Functions that both programs of a key owner use, the command-line program and the SQL gateway.
//!
//! [`seal`] makes a request of questions, with a device key or a public key of the key set. [`largest_result`] bounds the answer.
//! [`each_upload`] reads the list of a server page by page, and [`presumed_labels`] says when the rows of a listed upload are
//! presumably of, for prices that are known without fetching it. [`device_keys_at_hand`] finds the switch keys of boards.
#![forbid(unsafe_code)]

mod device_keys;
mod listing;
mod seal;

pub use device_keys::{device_keys_at_hand, device_keys_directory};
pub use listing::{LARGEST_UPLOAD, each_upload, presumed_labels};
pub use seal::{SealError, largest_result, seal};
