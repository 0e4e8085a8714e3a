//! One installation in a directory: its keys and certificates.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use tfhe_sbc_service::certificates::{
    CertificateAuthority, IssuedCertificate, TlsFiles, write_tls_directory,
};
use tfhe_sbc_transport::role::Role;

use crate::Failure;

/// Keys and certificates below one directory.
pub(crate) struct Site {
    pub(crate) directory: PathBuf,
    /// The program under fire.
    pub(crate) program: PathBuf,
    pub(crate) tls: TlsFiles,
    pub(crate) authority: CertificateAuthority,
}

impl Site {
    /// Makes everything anew.
    pub(crate) fn make(program: &Path, directory: &Path) -> Result<Self, Failure> {
        let made = Command::new(program)
            .args(["keygen", "--out"])
            .arg(directory.join("keys"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if !made.success() {
            return Err(format!("{} keygen: {made}", program.display()).into());
        }
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let tls = write_tls_directory(&directory.join("tls"), &names, "device", "owner")?;
        let authority = CertificateAuthority::load(&tls.ca.certificate, &tls.ca.key)?;
        Ok(Self {
            directory: directory.to_owned(),
            program: program.to_owned(),
            tls,
            authority,
        })
    }

    /// Returns a device's certificate that is written nowhere.
    pub(crate) fn board(&self, name: &str) -> Result<IssuedCertificate, Failure> {
        Ok(self.authority.issue_client(name, Role::Device)?)
    }

    /// Returns the TLS settings of a client that shows this certificate, or none.
    pub(crate) fn client(
        &self,
        issued: Option<&IssuedCertificate>,
    ) -> Result<Arc<ClientConfig>, Failure> {
        client_config(self.authority.certificate_pem(), issued, false)
    }

    /// Returns the owner's.
    pub(crate) fn owner(&self) -> Result<Arc<ClientConfig>, Failure> {
        let read = |path: &Path| std::fs::read_to_string(path);
        let issued = IssuedCertificate {
            certificate_pem: read(&self.tls.owner.certificate)?,
            key_pem: read(&self.tls.owner.key)?.into(),
        };
        self.client(Some(&issued))
    }

    pub(crate) fn key(&self, name: &str) -> PathBuf {
        self.directory.join("keys").join(name)
    }
}

/// Returns TLS settings of a client; of TLS 1.2, which servers refuse, if `old`.
pub(crate) fn client_config(
    ca_pem: &str,
    issued: Option<&IssuedCertificate>,
    old: bool,
) -> Result<Arc<ClientConfig>, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes())?)?;
    let versions = if old { [&TLS12] } else { [&TLS13] };
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&versions)?
        .with_root_certificates(roots);
    let mut config = match issued {
        Some(issued) => builder.with_client_auth_cert(
            vec![CertificateDer::from_pem_slice(
                issued.certificate_pem.as_bytes(),
            )?],
            PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes())?,
        )?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Each board proves itself at every connection, as boards of many sites do.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}
