//! Revocation: the authority's list of certificates that are no longer good.

use std::fs::{self, File};
use std::path::Path;

use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;

use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::role::Subject;

use super::{CertificateAuthority, CertificateError, TlsFiles, VALIDITY};
use crate::revocation::RevocationList;

/// The file that is locked while the list is changed.
const LOCK: &str = "revoked.lock";

/// The result of [`revoke`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revoked {
    /// Whether the certificate was good until now.
    pub newly: bool,
    /// The number of certificates on the list.
    pub listed: usize,
}

/// Puts the certificate `NAME.pem` of an authority's directory on its list of revoked
/// certificates, `revoked.pem`, which is made if there is none. The list is replaced in one step
/// and keeps what was on it; its number rises.
///
/// # Errors
/// If there is no such certificate, another authority issued it, it is the server's own or the
/// authority's, or the list that is there cannot be used.
pub fn revoke(directory: &Path, name: &str) -> Result<Revoked, CertificateError> {
    let tls = TlsFiles::in_directory(directory);
    let authority = CertificateAuthority::load(&tls.ca.certificate, &tls.ca.key)?;
    let ca = read_certificate(&tls.ca.certificate)?;
    let refused = |reason: String| CertificateError::Revoke {
        name: name.to_owned(),
        reason,
    };
    if name.contains(['/', '\\']) {
        return Err(refused("it is no name of a certificate".to_owned()));
    }
    let path = CertificateFiles::named(directory, name).certificate;
    if !path.is_file() {
        return Err(refused(unknown(directory)));
    }
    let certificate = read_certificate(&path)?;
    let unreadable = || refused(format!("{} holds no certificate", path.display()));
    let id = Subject::from_certificate(&certificate)
        .ok_or_else(unreadable)?
        .id;
    let (_, parsed) = X509Certificate::from_der(&certificate).map_err(|_| unreadable())?;
    if certificate == ca {
        return Err(refused(
            "it is the authority itself: make a new one with `tfhe-sbc certs` and give everyone \
             new certificates"
                .to_owned(),
        ));
    }
    if read_certificate(&tls.server.certificate).is_ok_and(|server| server == certificate) {
        return Err(refused(
            "it is the server's own, which no client looks up: issue the server another \
             certificate instead"
                .to_owned(),
        ));
    }
    let (_, issuer) = X509Certificate::from_der(&ca).map_err(|_| unreadable())?;
    if parsed.issuer().as_raw() != issuer.subject().as_raw() {
        return Err(refused("another authority issued it".to_owned()));
    }

    // A process that revokes another certificate at the same time must see this one on the list.
    let lock = directory.join(LOCK);
    let locked = File::create(&lock).and_then(|file| file.lock().map(|()| file));
    let _locked = locked.map_err(FileError::io("lock", &lock))?;
    let existing = RevocationList::read(&tls.revoked, std::slice::from_ref(&ca))?;
    if let Some(list) = &existing
        && list.revoked.contains(&id)
    {
        return Ok(Revoked {
            newly: false,
            listed: list.revoked.len(),
        });
    }
    let now = OffsetDateTime::now_utc();
    let (mut entries, number) = match &existing {
        Some(list) => entries(list),
        None => (Vec::new(), SerialNumber::from(1)),
    };
    entries.push(RevokedCertParams {
        serial_number: SerialNumber::from_slice(parsed.raw_serial()),
        revocation_time: now,
        reason_code: None,
        invalidity_date: None,
    });
    let listed = entries.len();
    let list = CertificateRevocationListParams {
        this_update: now,
        // The list holds until the next one is issued, whenever that is.
        next_update: now + VALIDITY,
        crl_number: number,
        issuing_distribution_point: None,
        revoked_certs: entries,
        key_identifier_method: KeyIdMethod::Sha256,
    };
    let pem = list.signed_by(&authority.issuer)?.pem()?;
    files::write_atomic(&tls.revoked, pem.as_bytes())?;
    Ok(Revoked {
        newly: true,
        listed,
    })
}

/// Returns the entries of a list, and the number after the list's own.
fn entries(list: &RevocationList) -> (Vec<RevokedCertParams>, SerialNumber) {
    // The list was parsed once already.
    let Ok((_, parsed)) = CertificateRevocationList::from_der(&list.der) else {
        return (Vec::new(), SerialNumber::from(1));
    };
    let entries = parsed
        .iter_revoked_certificates()
        .map(|entry| RevokedCertParams {
            serial_number: SerialNumber::from_slice(entry.raw_serial()),
            revocation_time: entry.revocation_date.to_datetime(),
            reason_code: None,
            invalidity_date: None,
        })
        .collect();
    let number = parsed.crl_number().map_or_else(
        || SerialNumber::from(1),
        |number| SerialNumber::from((number + 1_u32).to_bytes_be()),
    );
    (entries, number)
}

fn read_certificate(path: &Path) -> Result<CertificateDer<'static>, CertificateError> {
    let bytes = fs::read(path).map_err(FileError::io("read", path))?;
    CertificateDer::from_pem_slice(&bytes).map_err(|_| CertificateError::NoCertificate {
        path: path.to_owned(),
    })
}

/// Returns a text with the names that there are.
fn unknown(directory: &Path) -> String {
    const SHOWN: usize = 10;
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.strip_suffix(".pem").map(str::to_owned)
        })
        .filter(|name| !["ca", "server", "revoked"].contains(&name.as_str()))
        .collect();
    names.sort();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    format!(
        "there is no such certificate in {}, but {}{more}",
        directory.display(),
        names.join(", ")
    )
}
