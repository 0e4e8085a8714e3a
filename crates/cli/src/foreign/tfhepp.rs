//! TFHEpp.

mod convert;
mod decrypt;
mod import;

use tfhe_sbc_foreign::tfhepp::LIBRARY;

use super::library::{Commands, Conversion, Decryption, KeySource, LibraryOptions};

/// The entry of the registry.
pub(super) const COMMANDS: Commands = Commands {
    library: &LIBRARY,
    key_sources: &[KeySource {
        name: "tfhepp",
        help: "A `SecretKey` of TFHEpp, written by cereal",
        takes_parms: false,
        import: import::run,
    }],
    conversion: Some(Conversion {
        help: "Uploads under a key of TFHEpp, as its TLWE or TRLWE ciphertexts",
        options: LibraryOptions::of::<convert::Options>(),
        run: convert::run,
    }),
    decryption: Some(Decryption {
        help: "TLWE or TRLWE ciphertexts of TFHEpp, written by cereal",
        options: LibraryOptions::of::<decrypt::Options>(),
        run: decrypt::run,
    }),
};
