//! The sections with keys or with the names of their files.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_transport::signature::SigningKey;
use zeroize::Zeroizing;

use super::embedded::from_base64;
use crate::error::AgentError;

/// A text that is wiped when dropped and that `Debug` does not show.
#[derive(Clone, Deserialize)]
#[serde(from = "String")]
pub struct Secret(Zeroizing<String>);

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<Zeroizing<String>> for Secret {
    fn from(text: Zeroizing<String>) -> Self {
        Self(text)
    }
}

impl Secret {
    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// `[device]`: the device's key and its use.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSettings {
    key: Option<PathBuf>,
    key_base64: Option<Secret>,
    signing_key: Option<PathBuf>,
    signing_key_pem: Option<Secret>,
    expander: Option<String>,
    plan: Option<String>,
}

impl DeviceSettings {
    pub(super) fn check(&self) -> Result<(), AgentError> {
        one_of(
            "device.key",
            "device.key_base64",
            self.key.is_some(),
            self.key_base64.is_some(),
        )?;
        check_path("device.key", self.key.as_deref())?;
        if let (Some(_), Some(_)) = (&self.signing_key, &self.signing_key_pem) {
            return Err(given_twice("device.signing_key", "device.signing_key_pem"));
        }
        check_path("device.signing_key", self.signing_key.as_deref())
    }

    /// Returns the place of the secret that this key of the section sets.
    pub(super) fn secret_mut(&mut self, key: &str) -> Option<&mut Option<Secret>> {
        match key {
            "key_base64" => Some(&mut self.key_base64),
            "signing_key_pem" => Some(&mut self.signing_key_pem),
            _ => None,
        }
    }

    /// Returns the key with which uploads are signed, if there is one. A relative path starts from `base`.
    pub(super) fn signing_key(&self, base: &Path) -> Result<Option<SigningKey>, AgentError> {
        let pem = match (&self.signing_key, &self.signing_key_pem) {
            (Some(path), _) => read("device.signing_key", &base.join(path))?,
            (None, Some(pem)) => Zeroizing::new(pem.text().as_bytes().to_vec()),
            (None, None) => return Ok(None),
        };
        let key = SigningKey::from_pem(&pem).map_err(|error| {
            AgentError::setting(
                "device.signing_key",
                error,
                "provision the device again with `tfhe-sbc provision --sign`, or make a key with `openssl genpkey -algorithm ed25519`",
            )
        })?;
        Ok(Some(key))
    }

    /// Returns the generator and the plan that the settings name, or the defaults.
    ///
    /// # Errors
    /// If there is no generator or plan of that name.
    pub(super) fn encryption(&self) -> Result<Encryption, AgentError> {
        let default = Encryption::default();
        let (expander, plan) = (self.expander.as_deref(), self.plan.as_deref());
        Ok(Encryption {
            expander: match expander {
                Some(name) => named(
                    "device.expander",
                    name,
                    ExpanderKind::ALL,
                    ExpanderKind::name,
                )?,
                None => default.expander,
            },
            plan: match plan {
                Some(name) => named("device.plan", name, MemoryPlan::ALL, MemoryPlan::name)?,
                None => default.plan,
            },
        })
    }

    /// Returns the bytes of the device's key. A relative path starts from `base`.
    pub(super) fn key_bytes(&self, base: &Path) -> Result<Zeroizing<Vec<u8>>, AgentError> {
        match (&self.key, &self.key_base64) {
            (Some(path), _) => read("device.key", &base.join(path)),
            (None, text) => {
                let bytes = text.as_ref().and_then(|text| from_base64(text.text()));
                bytes.ok_or_else(|| {
                    AgentError::setting(
                        "device.key_base64",
                        "it is no base64",
                        "provision the device again, or name a key file with device.key",
                    )
                })
            }
        }
    }
}

/// The settings with which a device encrypts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encryption {
    /// The generator of masks and noise.
    pub(super) expander: ExpanderKind,
    /// The memory plan: the parts of the key that stay prepared in memory between messages.
    pub(super) plan: MemoryPlan,
}

impl Default for Encryption {
    fn default() -> Self {
        Self {
            expander: ExpanderKind::ChaCha20,
            plan: MemoryPlan::recommended(),
        }
    }
}

/// Returns the one of `all` whose name is `wanted`. `key` names the setting in the error.
fn named<T: Copy>(
    key: &str,
    wanted: &str,
    all: impl IntoIterator<Item = T>,
    name: impl Fn(T) -> &'static str,
) -> Result<T, AgentError> {
    let all: Vec<T> = all.into_iter().collect();
    all.iter()
        .copied()
        .find(|&one| name(one) == wanted)
        .ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|&one| name(one)).collect();
            let advice = format!("give one of {}", names.join(", "));
            AgentError::setting(key, "there is none of this name", advice)
        })
}

/// `[tls]`: the agent's certificate and the trusted authority. Each is given as a file's name or as
/// PEM.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    ca: Option<PathBuf>,
    ca_pem: Option<Secret>,
    certificate: Option<PathBuf>,
    certificate_pem: Option<Secret>,
    key: Option<PathBuf>,
    key_pem: Option<Secret>,
}

/// A PEM text, and its name for errors.
pub(crate) struct NamedPem {
    pub(crate) name: PathBuf,
    pub(crate) pem: Zeroizing<Vec<u8>>,
}

impl TlsSettings {
    /// Returns the place of the secret that this key of the section sets.
    pub(super) fn secret_mut(&mut self, key: &str) -> Option<&mut Option<Secret>> {
        match key {
            "ca_pem" => Some(&mut self.ca_pem),
            "certificate_pem" => Some(&mut self.certificate_pem),
            "key_pem" => Some(&mut self.key_pem),
            _ => None,
        }
    }

    fn all(&self) -> [(&'static str, &Option<PathBuf>, &Option<Secret>); 3] {
        [
            ("tls.ca", &self.ca, &self.ca_pem),
            ("tls.certificate", &self.certificate, &self.certificate_pem),
            ("tls.key", &self.key, &self.key_pem),
        ]
    }

    pub(super) fn check(&self) -> Result<(), AgentError> {
        self.all().into_iter().try_for_each(|(key, file, pem)| {
            one_of(key, &format!("{key}_pem"), file.is_some(), pem.is_some())?;
            check_path(key, file.as_deref())
        })
    }

    /// Reads authority, certificate and key. Relative paths start from `base`.
    pub(super) fn pems(&self, base: &Path) -> Result<[NamedPem; 3], AgentError> {
        let [ca, certificate, key] = self.all().map(|(key, file, pem)| match (file, pem) {
            (Some(path), _) => {
                let name = base.join(path);
                read(key, &name).map(|pem| NamedPem { name, pem })
            }
            (None, pem) => Ok(NamedPem {
                name: format!("{key}_pem").into(),
                pem: Zeroizing::new(
                    pem.as_ref()
                        .map_or_else(Vec::new, |pem| pem.text().as_bytes().to_vec()),
                ),
            }),
        });
        Ok([ca?, certificate?, key?])
    }
}

fn read(key: &str, path: &Path) -> Result<Zeroizing<Vec<u8>>, AgentError> {
    std::fs::read(path).map(Zeroizing::new).map_err(|error| {
        AgentError::setting(
            key,
            format_args!("cannot read {}: {error}", path.display()),
            "copy the file to the board, or correct the path; relative paths start from the settings' directory",
        )
    })
}

/// Refuses a path of several lines, without repeating it: it may be a key at the wrong place.
fn check_path(key: &str, path: Option<&Path>) -> Result<(), AgentError> {
    let has_break = |path: &Path| path.as_os_str().as_encoded_bytes().contains(&b'\n');
    match path.is_some_and(has_break) {
        false => Ok(()),
        true => Err(AgentError::setting(
            key,
            "it has several lines, and is to be the name of a file",
            "name the file, or give its content under the key with _pem or _base64",
        )),
    }
}

fn given_twice(file: &str, content: &str) -> AgentError {
    let problem = format!("{content} is given too");
    AgentError::setting(file, problem, "remove one of them")
}

fn one_of(file: &str, content: &str, has_file: bool, has_content: bool) -> Result<(), AgentError> {
    match (has_file, has_content) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => Err(given_twice(file, content)),
        (false, false) => {
            let advice = format!("name the file, or give its content as {content}");
            Err(AgentError::setting(file, "it is missing", advice))
        }
    }
}
