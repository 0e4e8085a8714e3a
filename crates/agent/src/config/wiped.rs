//! Secrets on their way from TOML into the settings, so that they are wiped also if the settings are refused.
//!
//! The texts are taken out of the table before anything else reads it. Only the TOML parser's own buffers are not
//! wiped.

use zeroize::Zeroizing;

use super::Config;
use super::keys::Secret;

/// The settings that are secrets: section and key.
const SECRETS: [(&str, &str); 6] = [
    ("device", "key_base64"),
    ("device", "signing_key_pem"),
    ("tls", "ca_pem"),
    ("tls", "certificate_pem"),
    ("tls", "key_pem"),
    ("topics", "password"),
];

/// The secrets of a table, wiped when dropped.
pub(super) struct Secrets([Option<Zeroizing<String>>; SECRETS.len()]);

impl Secrets {
    /// Takes the secrets out of a table, in which empty texts remain.
    pub(super) fn take(table: &mut toml::Table) -> Self {
        Self(SECRETS.map(|(section, key)| {
            let value = table.get_mut(section)?.as_table_mut()?.get_mut(key)?;
            match value {
                toml::Value::String(text) => Some(Zeroizing::new(std::mem::take(text))),
                _ => None,
            }
        }))
    }

    /// Puts the secrets into the settings that were made of the table.
    pub(super) fn put(self, config: &mut Config) {
        for ((section, key), text) in SECRETS.into_iter().zip(self.0) {
            let place = match section {
                "device" => config.device.secret_mut(key),
                "tls" => config.tls.secret_mut(key),
                _ => config.topics.as_mut().map(|topics| &mut topics.password),
            };
            if let (Some(place), Some(text)) = (place, text) {
                *place = Some(Secret::from(text));
            }
        }
    }
}
