//! TFHE-rs.

mod convert;
mod import;

use tfhe_sbc_foreign::tfhe_rs::LIBRARY;

use super::library::{Commands, Conversion, KeySource, LibraryOptions};

/// The entry of the registry.
pub(super) const COMMANDS: Commands = Commands {
    library: &LIBRARY,
    key_sources: &[KeySource {
        name: "tfhe-rs",
        help: "A `ClientKey` of TFHE-rs, written by `safe_serialize`",
        takes_parms: false,
        import: import::run,
    }],
    conversion: Some(Conversion {
        help: "Uploads under a key of TFHE-rs, as its FheUint, FheInt and FheBool",
        options: LibraryOptions::of::<convert::Options>(),
        run: convert::run,
    }),
    decryption: None,
};
