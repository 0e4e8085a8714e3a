//! A small certificate authority. One key pair signs the server's certificate and one certificate
//! for every device and owner, with the [`Role`] in the subject. It is for demonstrations and small
//! fleets; a site with its own authority issues certificates with the same organizational units.

mod revoke;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};
use zeroize::Zeroizing;

use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::role::Role;

use crate::revocation::RevocationError;
pub use revoke::{Revoked, revoke};

/// The validity of a certificate: ten years, for a board in a field outlives shorter ones. An owner
/// who loses a key makes a new authority.
const VALIDITY: Duration = Duration::days(3650);
/// The time before now from which a certificate is valid, for the clocks of boards without a
/// battery start in the past.
const CLOCK_ALLOWANCE: Duration = Duration::days(1);
/// X.520's upper bound of a common name.
const MAXIMUM_NAME_LENGTH: usize = 64;

/// The reason why no certificate could be issued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A name that cannot stand in a certificate.
    #[error("{name:?} cannot be the name in a certificate: {reason}")]
    Name {
        /// The name given.
        name: String,
        /// The reason why it cannot be used.
        reason: &'static str,
    },
    /// No name at all for the server.
    #[error(
        "the server's certificate needs at least one DNS name or IP address that clients will connect to"
    )]
    NoServerName,
    /// The files hold no authority.
    #[error(
        "{} and {} hold no certificate authority that can be used: {source}",
        certificate.display(),
        key.display()
    )]
    Authority {
        /// The file that should hold the authority's certificate.
        certificate: PathBuf,
        /// The file that should hold its key.
        key: PathBuf,
        /// The error of the cryptographic library.
        source: rcgen::Error,
    },
    /// The cryptographic library failed.
    #[error("cannot make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
    /// A file that should hold a certificate does not.
    #[error("{} holds no certificate in PEM", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A certificate that cannot be revoked.
    #[error("the certificate {name:?} cannot be revoked: {reason}")]
    Revoke {
        /// The certificate's name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The list of revoked certificates that is there cannot be extended.
    #[error(transparent)]
    List(#[from] RevocationError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The authority that signs the certificates of one installation. Its key is the root of all trust
/// in the installation: keep it off the server.
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate_pem: String,
}

/// The time in which a certificate is valid, to the second. The default is ten years, from a day
/// before now, for boards whose clocks start in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    from: OffsetDateTime,
    until: OffsetDateTime,
}

impl Validity {
    /// Returns the time from one moment until another.
    pub fn between(from: SystemTime, until: SystemTime) -> Self {
        Self {
            from: from.into(),
            until: until.into(),
        }
    }

    /// Returns the default time, ended `days` days from now.
    pub fn days(days: u16) -> Self {
        let now = OffsetDateTime::now_utc();
        Self {
            from: now - CLOCK_ALLOWANCE,
            until: now + Duration::days(days.into()),
        }
    }

    fn set(self, params: &mut CertificateParams) {
        params.not_before = self.from;
        params.not_after = self.until;
    }
}

impl Default for Validity {
    fn default() -> Self {
        let now = OffsetDateTime::now_utc();
        Self {
            from: now - CLOCK_ALLOWANCE,
            until: now + VALIDITY,
        }
    }
}

/// A certificate and its private key, both in PEM.
pub struct IssuedCertificate {
    /// The certificate, for everyone.
    pub certificate_pem: String,
    /// The private key, for its holder alone.
    pub key_pem: Zeroizing<String>,
}

impl IssuedCertificate {
    /// Writes certificate and key to these files.
    ///
    /// # Errors
    /// If one of the files exists, or cannot be written.
    pub fn write(&self, files: &CertificateFiles) -> Result<(), FileError> {
        refuse_existing(files)?;
        files::write_private_new(&files.key, self.key_pem.as_bytes())?;
        files::write_public_new(&files.certificate, self.certificate_pem.as_bytes())
    }
}

fn refuse_existing(files: &CertificateFiles) -> Result<(), FileError> {
    for path in [&files.certificate, &files.key] {
        if path.symlink_metadata().is_ok() {
            return Err(FileError::Exists { path: path.clone() });
        }
    }
    Ok(())
}

impl CertificateAuthority {
    /// Makes a new authority with a fresh key.
    pub fn generate() -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        // Authorities of equal names would be taken for one another.
        let fingerprint = blake3::hash(key.public_key_raw()).to_hex();
        params.distinguished_name =
            distinguished_name(&format!("tfhe-sbc authority {}", &fingerprint[..16]), None);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Validity::default().set(&mut params);
        let certificate_pem = params.self_signed(&key)?.pem();
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate_pem,
        })
    }

    /// Reads the authority that [`write_tls_directory`] left in these two files.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let read = |path: &Path| fs::read_to_string(path).map_err(FileError::io("read", path));
        let certificate_pem = read(certificate)?;
        let key_pem = Zeroizing::new(read(key)?);
        let issuer = KeyPair::from_pem(&key_pem)
            .and_then(|key| Issuer::from_ca_cert_pem(&certificate_pem, key))
            .map_err(|source| CertificateError::Authority {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
                source,
            })?;
        Ok(Self {
            issuer,
            certificate_pem,
        })
    }

    /// Issues a certificate for a server that clients reach under these DNS names and IP addresses.
    pub fn issue_server(&self, names: &[String]) -> Result<IssuedCertificate, CertificateError> {
        let first = names.first().ok_or(CertificateError::NoServerName)?;
        for name in names {
            check_name(name)?;
        }
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = distinguished_name(first, None);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(params, Validity::default())
    }

    /// Issues a certificate for a device or an owner of this name.
    pub fn issue_client(
        &self,
        name: &str,
        role: Role,
    ) -> Result<IssuedCertificate, CertificateError> {
        self.issue_client_for(name, role, Validity::default())
    }

    /// Does what [`Self::issue_client`] does, for another time.
    pub fn issue_client_for(
        &self,
        name: &str,
        role: Role,
        validity: Validity,
    ) -> Result<IssuedCertificate, CertificateError> {
        check_name(name)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished_name(name, Some(role));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params, validity)
    }

    /// Returns the authority's own certificate, which everyone needs in order to trust the ones it
    /// issued.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Returns the authority's private key.
    pub fn key_pem(&self) -> Zeroizing<String> {
        Zeroizing::new(self.issuer.key().serialize_pem())
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        validity: Validity,
    ) -> Result<IssuedCertificate, CertificateError> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        validity.set(&mut params);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(IssuedCertificate {
            certificate_pem: certificate.pem(),
            key_pem: Zeroizing::new(key.serialize_pem()),
        })
    }
}

/// The files of an installation's certificates and keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// `ca.pem` (everyone needs it) and `ca.key` (whoever issues certificates).
    pub ca: CertificateFiles,
    /// `server.pem` and `server.key`.
    pub server: CertificateFiles,
    /// `device.pem` and `device.key`.
    pub device: CertificateFiles,
    /// `owner.pem` and `owner.key`.
    pub owner: CertificateFiles,
    /// `revoked.pem`, the list of certificates that are no longer good; absent as long as
    /// there are none.
    pub revoked: PathBuf,
}

impl TlsFiles {
    /// Returns the names of the files in a directory, whether they exist or not.
    pub fn in_directory(directory: &Path) -> Self {
        let named = |name| CertificateFiles::named(directory, name);
        Self {
            ca: named("ca"),
            server: named("server"),
            device: named("device"),
            owner: named("owner"),
            revoked: directory.join("revoked.pem"),
        }
    }
}

/// Makes an authority and the certificates of a small installation: for the server, a first device
/// and the owner. Overwrites nothing: if one of the files exists, none is written.
pub fn write_tls_directory(
    directory: &Path,
    server_names: &[String],
    device_name: &str,
    owner_name: &str,
) -> Result<TlsFiles, CertificateError> {
    let files = TlsFiles::in_directory(directory);
    for pair in [&files.ca, &files.server, &files.device, &files.owner] {
        refuse_existing(pair)?;
    }
    let authority = CertificateAuthority::generate()?;
    let server = authority.issue_server(server_names)?;
    let device = authority.issue_client(device_name, Role::Device)?;
    let owner = authority.issue_client(owner_name, Role::Owner)?;
    let ca = IssuedCertificate {
        certificate_pem: authority.certificate_pem().to_owned(),
        key_pem: authority.key_pem(),
    };

    files::create_private_directory(directory)?;
    ca.write(&files.ca)?;
    server.write(&files.server)?;
    device.write(&files.device)?;
    owner.write(&files.owner)?;
    Ok(files)
}

/// Issues a certificate for one more device or owner from the authority in a
/// directory that [`write_tls_directory`] made, as `NAME.pem` and `NAME.key`
/// beside it.
pub fn add_client(
    directory: &Path,
    name: &str,
    role: Role,
) -> Result<CertificateFiles, CertificateError> {
    add_client_for(directory, name, role, Validity::default())
}

/// Does what [`add_client`] does, for another time.
pub fn add_client_for(
    directory: &Path,
    name: &str,
    role: Role,
    validity: Validity,
) -> Result<CertificateFiles, CertificateError> {
    let (issued, files) = issue_client_for(directory, name, role, validity)?;
    issued.write(&files)?;
    Ok(files)
}

/// Returns what [`add_client_for`] would write, and where, for a caller that puts the key
/// elsewhere. The certificate must lie there for [`revoke`] to find it.
pub fn issue_client_for(
    directory: &Path,
    name: &str,
    role: Role,
    validity: Validity,
) -> Result<(IssuedCertificate, CertificateFiles), CertificateError> {
    if !name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        || name.starts_with('.')
        || name == "revoked"
    {
        let reason = "it names files too, so only letters, digits, '-', '_' and '.' may be in it, \
                      and `revoked` is the list of revoked certificates";
        return Err(CertificateError::Name {
            name: name.to_owned(),
            reason,
        });
    }
    let ca = TlsFiles::in_directory(directory).ca;
    let authority = CertificateAuthority::load(&ca.certificate, &ca.key)?;
    let issued = authority.issue_client_for(name, role, validity)?;
    Ok((issued, CertificateFiles::named(directory, name)))
}

fn check_name(name: &str) -> Result<(), CertificateError> {
    let refused = |reason| {
        Err(CertificateError::Name {
            name: name.to_owned(),
            reason,
        })
    };
    if name.is_empty() {
        refused("it is empty")
    } else if name.len() > MAXIMUM_NAME_LENGTH {
        refused("it is longer than 64 bytes")
    } else if name.chars().any(char::is_control) {
        refused("it has control characters")
    } else if name.contains(['+', '#']) {
        refused(
            "'+' and '#' are wildcards in the topics of a broker, where boards are known by their names",
        )
    } else {
        Ok(())
    }
}

fn distinguished_name(common_name: &str, role: Option<Role>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(role) = role {
        name.push(DnType::OrganizationalUnitName, role.organizational_unit());
    }
    name.push(DnType::CommonName, common_name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_broker_would_read_as_patterns_are_refused() {
        for name in ["+", "hill/#", "#", "a+b"] {
            let refused = check_name(name).unwrap_err();
            assert!(refused.to_string().contains("broker"), "{refused}");
        }
        for name in ["hill", "station-7.north", "Zürich 3"] {
            check_name(name).unwrap();
        }
    }
}
