//! The settings that a person begins with, and those that a board is given.

use zeroize::Zeroizing;

use super::embedded::base64_lines;

const SETTINGS: &str = include_str!("template.toml");
const COLUMNS: &str = include_str!("columns.toml");

/// The unit for systemd.
pub const SYSTEMD_UNIT: &str = include_str!("../../systemd/tfhe-sbc-agent.service");

const BY_FILES: &str = r#"# Settings of `tfhe-sbc agent`. `tfhe-sbc agent --config FILE --test` tries them out.
# A variable of the environment like TFHE_SBC_AGENT_SERVER_URL goes before the file.
# Relative paths start from the directory of this file.

# The board's own key, of `tfhe-sbc device-key`: it encrypts, and reads what it encrypted.
[device]
key = "device.tsbc"
# signing_key = "device.sign.key"
# expander = "ChaCha20"
# plan = "fast"

# Where batches go: https://HOST:PORT of the server, or mqtts://HOST:PORT of a broker that it
# listens to. With transport = "frames" and a key of `tfhe-sbc pads make --agent` also udp://HOST:PORT.
[server]
url = "https://server.example:8443"
# transport = "uploads"
# timeout = "2m"

# Who the board is, and whom it trusts: of `tfhe-sbc certs --add NAME --role device`.
[tls]
ca = "tls/ca.pem"
certificate = "tls/device.pem"
key = "tls/device.key"

"#;

/// Returns the settings that `tfhe-sbc agent init` writes.
pub fn template() -> String {
    format!("{BY_FILES}{SETTINGS}\n{COLUMNS}")
}

/// The content of a board's settings.
pub struct Provision<'a> {
    /// Its name.
    pub name: &'a str,
    /// The server's address.
    pub url: &'a str,
    /// The bytes of its key.
    pub device_key: &'a [u8],
    /// The authority's certificate, PEM.
    pub ca: &'a str,
    /// Its certificate, PEM.
    pub certificate: &'a str,
    /// The certificate's key, PEM.
    pub key: &'a str,
    /// Its key for signatures, PEM, if it signs.
    pub signing_key: Option<&'a str>,
    /// `[[column]]` tables with sources, or nothing for an example.
    pub columns: Option<&'a str>,
}

impl Provision<'_> {
    /// Returns settings with all keys inside, with which the agent runs as they are.
    pub fn settings(&self) -> Zeroizing<String> {
        let key = base64_lines(self.device_key);
        let signing = match self.signing_key {
            Some(key) => ["signing_key_pem = \"\"\"\n", key.trim(), "\n\"\"\"\n"],
            None => ["", "", ""],
        };
        let parts = [
            "# The settings, the key and the certificate of the board '",
            self.name,
            "'. Whoever has this file reads what the\n# board encrypts: keep it on the board, with mode 0600.\n",
            "# Try it with `tfhe-sbc agent --config FILE --test`, run it without --test.\n\n",
            "[server]\nurl = \"",
            self.url,
            "\"\n# timeout = \"2m\"\n\n",
            "[device]\n# expander = \"ChaCha20\"\n# plan = \"fast\"\nkey_base64 = \"\"\"\n",
            &key,
            "\"\"\"\n",
            signing[0],
            signing[1],
            signing[2],
            "\n[tls]\nca_pem = \"\"\"\n",
            self.ca.trim(),
            "\n\"\"\"\ncertificate_pem = \"\"\"\n",
            self.certificate.trim(),
            "\n\"\"\"\nkey_pem = \"\"\"\n",
            self.key.trim(),
            "\n\"\"\"\n\n",
            SETTINGS,
            "\n",
            self.columns.unwrap_or(COLUMNS),
        ];
        // The text is never grown, which would leave copies behind.
        let len = parts.iter().map(|part| part.len()).sum();
        let mut text = Zeroizing::new(String::with_capacity(len));
        parts.iter().for_each(|part| text.push_str(part));
        text
    }
}
