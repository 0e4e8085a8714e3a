//! The settings of a session: `SET tfhe_sbc.…`.

use datafusion::common::extensions_options;
use datafusion::config::{ConfigExtension, ConfigOptions};

extensions_options! {
    /// What a client may set.
    pub(crate) struct Settings {
        /// The most bootstraps of one statement; 0 leaves the limit to the server
        pub max_bootstraps: u64, default = 0

        /// Whether the server may see the constants in conditions
        pub clear_constants: bool, default = false
    }
}

impl ConfigExtension for Settings {
    const PREFIX: &'static str = "tfhe_sbc";
}

impl Settings {
    /// The settings of a session's options.
    pub(crate) fn of(options: &ConfigOptions) -> Self {
        let settings = options.extensions.get::<Self>();
        settings.cloned().unwrap_or_default()
    }
}
