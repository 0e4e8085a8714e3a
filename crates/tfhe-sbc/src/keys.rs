//! Keys: who holds which, and the types of their files.
//!
//! | key | held by | type |
//! |---|---|---|
//! | secret key | the key owner alone | [`SecretKey`] |
//! | device key, shared or one for each device | devices | [`DeviceKey`] |
//! | public key for devices, which decrypts nothing | devices | [`DevicePublicKey`] |
//! | server key, as it travels | the server | [`SeededServerKey`] |
//! | server key, ready to compute | the server | [`ServerKey`] |
//! | switch keys of devices with keys of their own | the server | [`DeviceKeys`] |

pub use tfhe_sbc_columns::device_keys::DeviceKeys;
pub use tfhe_sbc_core::device_public_key::DevicePublicKey;
pub use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
pub use tfhe_sbc_core::parameters::KeyFingerprint;
pub use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey};
