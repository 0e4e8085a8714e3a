//! The sections that hold keys, or say where they lie.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use zeroize::Zeroizing;

use super::Config;
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

impl Secret {
    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// `[device]`: the key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSettings {
    key: Option<PathBuf>,
    key_base64: Option<Secret>,
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
        let no_such = |key, names: &[&str]| {
            let advice = format!("give one of {}", names.join(", "));
            AgentError::setting(key, "there is none of this name", advice)
        };
        if self.expander.is_some() && self.expander().is_none() {
            let names = ExpanderKind::ALL.map(ExpanderKind::name);
            return Err(no_such("device.expander", &names));
        }
        if self.plan.is_some() && self.plan().is_none() {
            let names = MemoryPlan::ALL.map(MemoryPlan::name);
            return Err(no_such("device.plan", &names));
        }
        Ok(())
    }

    pub(super) fn expander(&self) -> Option<ExpanderKind> {
        let name = self.expander.as_deref()?;
        ExpanderKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    pub(super) fn plan(&self) -> Option<MemoryPlan> {
        let name = self.plan.as_deref()?;
        MemoryPlan::ALL.into_iter().find(|plan| plan.name() == name)
    }

    /// The bytes of the device's key.
    pub(crate) fn key_bytes(&self, config: &Config) -> Result<Zeroizing<Vec<u8>>, AgentError> {
        match (&self.key, &self.key_base64) {
            (Some(path), _) => read("device.key", &config.path(path)),
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

/// `[tls]`: who the agent is, and whom it trusts. Each is a file's name or PEM.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    ca: Option<PathBuf>,
    ca_pem: Option<Secret>,
    certificate: Option<PathBuf>,
    certificate_pem: Option<Secret>,
    key: Option<PathBuf>,
    key_pem: Option<Secret>,
}

/// What [`TlsSettings`] hold: a name for errors, and PEM.
pub(crate) struct NamedPem {
    pub(crate) name: PathBuf,
    pub(crate) pem: Zeroizing<Vec<u8>>,
}

impl TlsSettings {
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

    /// Authority, certificate and key.
    pub(crate) fn pems(&self, config: &Config) -> Result<[NamedPem; 3], AgentError> {
        let [ca, certificate, key] = self.all().map(|(key, file, pem)| match (file, pem) {
            (Some(path), _) => {
                let name = config.path(path);
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

/// A path that is none may be a key, and is not repeated.
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

fn one_of(file: &str, content: &str, has_file: bool, has_content: bool) -> Result<(), AgentError> {
    match (has_file, has_content) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => {
            let problem = format!("{content} is given too");
            Err(AgentError::setting(file, problem, "remove one of them"))
        }
        (false, false) => {
            let advice = format!("name the file, or give its content as {content}");
            Err(AgentError::setting(file, "it is missing", advice))
        }
    }
}
