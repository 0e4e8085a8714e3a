//! Microsoft SEAL and SEAL-Embedded.

mod convert;
mod import;

use tfhe_sbc_foreign::seal::LIBRARY;

use super::library::{Commands, Conversion, KeySource, LibraryOptions};

/// The entry of the registry.
pub(super) const COMMANDS: Commands = Commands {
    library: &LIBRARY,
    key_sources: &[
        KeySource {
            name: "seal",
            help: "A `SecretKey` or `PublicKey` of Microsoft SEAL",
            takes_parms: true,
            import: import::run,
        },
        KeySource {
            name: "seal-embedded",
            help: "The key files of SEAL-Embedded",
            takes_parms: true,
            import: import::run_embedded,
        },
    ],
    conversion: Some(Conversion {
        help: "Raw streams and seeded ciphertexts of CKKS, as Microsoft SEAL's ciphertexts",
        options: LibraryOptions::of::<convert::Options>(),
        run: convert::run,
    }),
    decryption: None,
};
