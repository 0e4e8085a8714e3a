//! Keys and certificates on disk: private, never overwritten, and refused with a
//! reason when they do not fit.

use std::fs;
use std::path::Path;

use crate::common::{Site, file_names};
use tfhe_sbc_service::certificates::{self, CertificateAuthority, CertificateError};
use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::identity::{Identity, IdentityError};
use tfhe_sbc_transport::role::{Action, Role};

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
#[test]
fn keys_are_private_and_certificates_are_not() {
    let site = Site::new();
    let tls = &site.tls;
    for pair in [&tls.ca, &tls.server, &tls.device, &tls.owner] {
        assert_eq!((mode(&pair.key), mode(&pair.certificate)), (0o600, 0o644));
    }
    assert_eq!(mode(&site.directory.path().join("tls")), 0o700);
    let names = file_names(&site.directory.path().join("tls"));
    let expected = [
        "ca.key",
        "ca.pem",
        "device.key",
        "device.pem",
        "owner.key",
        "owner.pem",
        "server.key",
        "server.pem",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_tls_directory_is_not_overwritten() {
    let site = Site::new();
    let directory = site.directory.path().join("tls");
    let key = fs::read(&site.tls.ca.key).unwrap();
    // Even if only one of the files is in the way, none is written.
    for name in file_names(&directory) {
        if name != "owner.key" {
            fs::rename(directory.join(&name), site.directory.path().join(&name)).unwrap();
        }
    }
    let error = certificates::write_tls_directory(&directory, &["localhost".to_owned()], "d", "o")
        .unwrap_err();
    assert!(
        matches!(error, CertificateError::File(FileError::Exists { .. })),
        "{error:?}"
    );
    assert_eq!(file_names(&directory), ["owner.key"]);
    assert_eq!(fs::read(site.directory.path().join("ca.key")).unwrap(), key);
}

#[test]
fn private_files_are_whole_private_and_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret.key");
    files::write_private_new(&path, b"secret").unwrap();
    #[cfg(unix)]
    assert_eq!(mode(&path), 0o600);
    let error = files::write_private_new(&path, b"other").unwrap_err();
    assert!(matches!(error, FileError::Exists { .. }), "{error:?}");
    assert!(error.to_string().contains("secret.key"));
    assert_eq!(fs::read(&path).unwrap(), b"secret");
    assert_eq!(file_names(directory.path()), ["secret.key"]);

    // A link that leads nowhere is in the way as well.
    #[cfg(unix)]
    {
        let link = directory.path().join("link.key");
        std::os::unix::fs::symlink(directory.path().join("elsewhere"), &link).unwrap();
        assert!(matches!(
            files::write_private_new(&link, b"x"),
            Err(FileError::Exists { .. })
        ));
        assert!(!directory.path().join("elsewhere").exists());
    }
    let nowhere = directory.path().join("no/such/directory/key");
    assert!(
        files::write_private_new(&nowhere, b"x")
            .unwrap_err()
            .to_string()
            .contains("no/such/directory")
    );
}

#[test]
fn replaced_files_keep_their_permissions() {
    let directory = tempfile::tempdir().unwrap();
    let (private, public) = (
        directory.path().join("private"),
        directory.path().join("public"),
    );
    files::write_private_new(&private, b"1").unwrap();
    for content in [b"1", b"2"] {
        files::write_atomic(&private, content).unwrap();
        files::write_atomic(&public, content).unwrap();
        assert_eq!(
            (fs::read(&private).unwrap(), fs::read(&public).unwrap()),
            (content.to_vec(), content.to_vec())
        );
    }
    #[cfg(unix)]
    assert_eq!((mode(&private), mode(&public)), (0o600, 0o644));
    assert_eq!(file_names(directory.path()), ["private", "public"]);
}

#[test]
fn identities_carry_name_and_role() {
    let site = Site::new();
    let device = site.identity(&site.tls.device).subject().unwrap();
    assert_eq!((&*device.name, device.role), ("pi-1", Some(Role::Device)));
    assert!(device.may(Action::Upload) && device.may(Action::Observe));
    assert!(!device.may(Action::List) && !device.may(Action::Query));
    let owner = site.identity(&site.tls.owner).subject().unwrap();
    assert_eq!((&*owner.name, owner.role), ("alice", Some(Role::Owner)));
    assert!(
        [Action::Upload, Action::List, Action::Query, Action::Observe]
            .into_iter()
            .all(|action| owner.may(action))
    );
    let server = site.identity(&site.tls.server).subject().unwrap();
    assert!(server.role.is_none() && !server.may(Action::Observe));
    assert!(!format!("{:?}", site.identity(&site.tls.owner)).contains("key"));
}

#[test]
fn identities_that_do_not_fit_are_refused_with_a_reason() {
    let site = Site::new();
    let tls = &site.tls;
    let load = |certificate: &Path, key: &Path| {
        let own = CertificateFiles {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        };
        Identity::load(&tls.ca.certificate, &own).unwrap_err()
    };
    let error = load(&tls.device.certificate, &tls.owner.key);
    assert!(
        matches!(error, IdentityError::KeyMismatch { .. }),
        "{error:?}"
    );
    let error = load(&tls.device.key, &tls.device.certificate);
    assert!(matches!(error, IdentityError::NotPem { .. }), "{error:?}");
    let error = load(Path::new("/no/such/file"), &tls.device.key);
    assert!(
        matches!(error, IdentityError::Read { .. }) && error.to_string().contains("/no/such/file"),
        "{error:?}"
    );

    // The error repeats nothing of a damaged key.
    let damaged = site.directory.path().join("damaged.key");
    fs::write(
        &damaged,
        "-----BEGIN PRIVATE KEY-----\nc2VjcmV0IHNlY3JldA==\n-----BEGIN c2VjcmV0",
    )
    .unwrap();
    let error = load(&tls.device.certificate, &damaged);
    assert!(!format!("{error} {error:?}").contains("c2Vj"), "{error:?}");
}

#[test]
fn certificates_refuse_names_that_are_none() {
    let authority = CertificateAuthority::generate().unwrap();
    assert!(matches!(
        authority.issue_server(&[]),
        Err(CertificateError::NoServerName)
    ));
    for name in ["", "a\nb", &"x".repeat(65)] {
        assert!(
            matches!(
                authority.issue_client(name, Role::Device),
                Err(CertificateError::Name { .. })
            ),
            "{name:?}"
        );
    }
    let site = Site::new();
    let directory = site.directory.path().join("tls");
    for name in ["../pi", "a/b", ".hidden", "owner"] {
        assert!(
            certificates::add_client(&directory, name, Role::Device).is_err(),
            "{name:?}"
        );
    }
    let missing = certificates::add_client(site.directory.path(), "pi", Role::Device);
    assert!(matches!(
        missing,
        Err(CertificateError::File(FileError::Io { .. }))
    ));
}
