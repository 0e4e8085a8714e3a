//! Tests of revoked certificates, and of the reasons for which handshakes fail.

use std::fs;
use std::io::{Read, Write};
use std::time::{Duration, SystemTime};

use crate::common::{ALL, Site, TestServer, eventually, metric};
use tfhe_sbc_service::certificates::{
    self, CertificateAuthority, CertificateError, Revoked, Validity,
};
use tfhe_sbc_service::server::ServeError;
use tfhe_sbc_service::tls::TlsError;
use tfhe_sbc_transport::client::{Client, ClientError};
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::role::Role;

fn directory(server: &TestServer) -> std::path::PathBuf {
    server.site.directory.path().join("tls")
}

fn revoke(server: &TestServer, name: &str) -> Revoked {
    certificates::revoke(&directory(server), name).unwrap()
}

fn failures(client: &Client, reason: &str) -> u64 {
    metric(
        client,
        &format!("tfhe_sbc_handshake_failures_total{{reason=\"{reason}\"}}"),
    )
}

#[track_caller]
fn assert_revoked(refused: Result<Client, ClientError>) {
    let refused = refused.err().expect("the certificate should be refused");
    assert!(
        matches!(&refused, ClientError::ClientCertificateRefused { alert, .. }
            if *alert == rustls::AlertDescription::CertificateRevoked),
        "{refused:?}"
    );
}

#[test]
fn a_revoked_certificate_is_refused_without_a_restart_and_others_are_not() {
    let server = TestServer::start();
    let owner = server.owner();
    let second = certificates::add_client(&directory(&server), "pi-2", Role::Device).unwrap();
    server.connect(&second).unwrap();
    assert_eq!(
        revoke(&server, "pi-2"),
        Revoked {
            newly: true,
            listed: 1
        }
    );
    assert_revoked(server.connect(&second));
    server.device().upload(b"readings").unwrap();
    assert_eq!(failures(&owner, "revoked"), 1);
    assert_eq!(metric(&owner, "tfhe_sbc_revoked_certificates"), 1);

    // The first one stays on the list.
    assert_eq!(
        revoke(&server, "device"),
        Revoked {
            newly: true,
            listed: 2
        }
    );
    assert_revoked(server.connect(&second));
    assert_revoked(server.connect(&server.site.tls.device));
    assert_eq!(failures(&owner, "revoked"), 3);
    let again = revoke(&server, "pi-2");
    assert_eq!((again.newly, again.listed), (false, 2));
}

#[test]
fn an_open_connection_ends_with_its_certificate() {
    let server = TestServer::start();
    let mut silent = server.raw_stream();
    silent
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    let mut answer = [0; 12];
    silent.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    // Another owner, who looks on.
    let files = certificates::add_client(&directory(&server), "bob", Role::Owner).unwrap();
    let bob = server.connect(&files).unwrap();

    revoke(&server, "owner");
    // Nothing is sent, and the connection ends all the same.
    let mut rest = Vec::new();
    silent
        .sock
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    silent.read_to_end(&mut rest).unwrap();
    assert_eq!(metric(&bob, "tfhe_sbc_revoked_connections_total"), 1);
}

#[test]
fn a_request_on_an_open_connection_is_refused_at_once() {
    let server = TestServer::start();
    let bob = certificates::add_client(&directory(&server), "bob", Role::Owner).unwrap();
    let bob = server.connect(&bob).unwrap();
    let device = server.device();
    device.upload(b"readings 1").unwrap();
    revoke(&server, "device");
    // The connection that the client kept, or a new one: neither takes anything.
    assert!(device.upload(b"readings 2").is_err());
    assert_eq!(bob.list(&ALL).unwrap().readings.len(), 1);
}

#[test]
fn a_list_that_cannot_be_used_leaves_the_last_good_one_in_force() {
    let server = TestServer::start();
    let owner = server.owner();
    let list = server.site.tls.revoked.clone();
    revoke(&server, "device");
    let good = fs::read(&list).unwrap();
    assert_revoked(server.connect(&server.site.tls.device));

    let foreign = Site::new();
    certificates::revoke(&foreign.directory.path().join("tls"), "device").unwrap();
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] = if flipped[middle] == b'A' { b'B' } else { b'A' };
    let bad = [
        Vec::new(),
        good[..good.len() / 2].to_vec(),
        flipped,
        fs::read(&foreign.tls.revoked).unwrap(),
        fs::read(&server.site.tls.ca.certificate).unwrap(),
    ];
    for (i, bad) in bad.iter().enumerate() {
        fs::write(&list, bad).unwrap();
        eventually("the bad list is counted", || {
            metric(&owner, "tfhe_sbc_revocation_list_errors_total") == i as u64 + 1
        });
        assert_revoked(server.connect(&server.site.tls.device));
    }
    fs::remove_file(&list).unwrap();
    eventually("the missing list is counted", || {
        metric(&owner, "tfhe_sbc_revocation_list_errors_total") == bad.len() as u64 + 1
    });
    assert_revoked(server.connect(&server.site.tls.device));
    // None of them extends a damaged list either.
    fs::write(&list, &bad[1]).unwrap();
    let refused = certificates::revoke(&directory(&server), "owner").unwrap_err();
    assert!(matches!(refused, CertificateError::List(_)), "{refused}");

    fs::write(&list, &good).unwrap();
    assert_revoked(server.connect(&server.site.tls.device));
    server.owner();
}

/// An older list that is put back, for example from a copy, makes no revoked certificate good
/// again.
#[test]
fn an_older_list_and_two_lists_in_one_file_are_not_taken() {
    let server = TestServer::start();
    let owner = server.owner();
    let list = server.site.tls.revoked.clone();
    let second = certificates::add_client(&directory(&server), "pi-2", Role::Device).unwrap();
    revoke(&server, "device");
    let older = fs::read(&list).unwrap();
    revoke(&server, "pi-2");
    let newer = fs::read(&list).unwrap();
    assert_revoked(server.connect(&second));

    let both = [&newer[..], &older[..]].concat();
    for (i, bad) in [older, both].iter().enumerate() {
        fs::write(&list, bad).unwrap();
        eventually("the list is counted", || {
            metric(&owner, "tfhe_sbc_revocation_list_errors_total") == i as u64 + 1
        });
        assert_revoked(server.connect(&second));
        assert_eq!(metric(&owner, "tfhe_sbc_revoked_certificates"), 2);
    }
    // The same list again is no error.
    fs::write(&list, &newer).unwrap();
    revoke(&server, "owner");
    assert_revoked(server.connect(&server.site.tls.owner));
}

#[test]
fn certificates_revoked_at_the_same_time_are_all_on_the_list() {
    let site = Site::new();
    let tls = site.directory.path().join("tls");
    let names: Vec<String> = (0..8).map(|i| format!("pi-{i}")).collect();
    for name in &names {
        certificates::add_client(&tls, name, Role::Device).unwrap();
    }
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| assert!(certificates::revoke(&tls, name).unwrap().newly));
        }
    });
    assert_eq!(certificates::revoke(&tls, "device").unwrap().listed, 9);
}

/// No bit of the list can change without it being refused.
#[test]
fn a_server_does_not_start_with_a_damaged_list() {
    let site = Site::new();
    let tls = site.directory.path().join("tls");
    certificates::revoke(&tls, "device").unwrap();
    let good = fs::read_to_string(&site.tls.revoked).unwrap();
    let body = good.lines().nth(1).unwrap().len();
    let start = good.find('\n').unwrap() + 1;
    for place in (start..start + body).step_by(7) {
        let mut bad = good.clone().into_bytes();
        bad[place] = if bad[place] == b'A' { b'B' } else { b'A' };
        fs::write(&site.tls.revoked, bad).unwrap();
        let refused = TestServer::try_start(&site).unwrap_err();
        assert!(
            matches!(&refused, ServeError::Tls(TlsError::Revocation(_))),
            "{refused:?}"
        );
    }
    fs::write(&site.tls.revoked, good).unwrap();
    TestServer::try_start(&site).unwrap();
}

#[test]
fn what_cannot_be_revoked_is_refused_with_advice() {
    let site = Site::new();
    let tls = site.directory.path().join("tls");
    let foreign = Site::new();
    fs::copy(&foreign.tls.device.certificate, tls.join("foreign.pem")).unwrap();
    for (name, says) in [
        ("server", "the server another certificate"),
        ("ca", "make a new one"),
        ("nobody", "but device, foreign, owner"),
        ("../device", "no name"),
        ("foreign", "another authority"),
    ] {
        let refused = certificates::revoke(&tls, name).unwrap_err().to_string();
        assert!(refused.contains(says), "{name}: {refused}");
    }
    assert!(!site.tls.revoked.exists());
}

#[test]
fn handshakes_fail_for_reasons_that_are_counted() {
    let server = TestServer::start();
    let owner = server.owner();
    let ca = &server.site.tls.ca;
    let authority = CertificateAuthority::load(&ca.certificate, &ca.key).unwrap();
    let (now, day) = (SystemTime::now(), Duration::from_secs(86400));
    let issued = |name: &str, from, until| {
        let validity = Validity::between(from, until);
        let files = CertificateFiles::named(server.site.directory.path(), name);
        let issued = authority.issue_client_for(name, Role::Device, validity);
        issued.unwrap().write(&files).unwrap();
        files
    };
    for (reason, files) in [
        ("expired", issued("old", now - 2 * day, now - day)),
        ("not_yet_valid", issued("early", now + day, now + 2 * day)),
        ("other_certificate", server.site.tls.server.clone()),
    ] {
        let before = failures(&owner, reason);
        let identity = Identity::load(&ca.certificate, &files).unwrap();
        assert!(Client::connect(&server.url(), &identity).is_err());
        // The client may see the refusal before the server has counted it.
        eventually(reason, || failures(&owner, reason) == before + 1);
    }
    let foreign = Site::new();
    let identity = Identity::load(&ca.certificate, &foreign.tls.device).unwrap();
    assert!(Client::connect(&server.url(), &identity).is_err());
    eventually("unknown_authority", || {
        failures(&owner, "unknown_authority") == 1
    });

    let none = Identity::without_certificate(&ca.certificate).unwrap();
    assert!(Client::connect(&server.url(), &none).is_err());
    eventually("no_certificate", || failures(&owner, "no_certificate") == 1);

    let mut plain = std::net::TcpStream::connect(server.address).unwrap();
    plain
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    let _ = plain.read_to_end(&mut Vec::new());
    eventually("not_tls", || failures(&owner, "not_tls") == 1);

    drop(std::net::TcpStream::connect(server.address).unwrap());
    eventually("a connection that breaks off is counted", || {
        failures(&owner, "broken_off") == 1
    });
}
