//! Tests of which clients get a connection, over which TLS, and what the others are told.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use crate::common::{Site, TestServer, free_address};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{AlertDescription, NamedGroup, ProtocolVersion};
use tfhe_sbc_transport::client::{Client, ClientError};
use tfhe_sbc_transport::identity::Identity;

#[track_caller]
fn error(result: Result<Client, ClientError>) -> ClientError {
    match result {
        Err(error) => error,
        Ok(_) => panic!("the connection was accepted"),
    }
}

#[test]
fn the_key_exchange_is_post_quantum() {
    let server = TestServer::start();
    let mut stream = server.raw_stream();
    stream.conn.complete_io(&mut stream.sock).unwrap();
    let group = stream.conn.negotiated_key_exchange_group().unwrap();
    assert_eq!(group.name(), NamedGroup::X25519MLKEM768);
    assert_eq!(
        stream.conn.protocol_version(),
        Some(ProtocolVersion::TLSv1_3)
    );
}

#[test]
fn tls_1_2_is_refused() {
    let server = TestServer::start();
    let tls = &server.site.tls;
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(&tls.ca.certificate).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(
            vec![CertificateDer::from_pem_file(&tls.owner.certificate).unwrap()],
            PrivateKeyDer::from_pem_file(&tls.owner.key).unwrap(),
        )
        .unwrap();
    let mut connection =
        rustls::ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let refused = connection.complete_io(&mut stream).unwrap_err();
    let refused = refused
        .get_ref()
        .unwrap()
        .downcast_ref::<rustls::Error>()
        .unwrap();
    assert_eq!(
        *refused,
        rustls::Error::AlertReceived(AlertDescription::ProtocolVersion)
    );
}

#[test]
fn a_client_without_certificate_is_told_so() {
    let server = TestServer::start();
    let identity = Identity::without_certificate(&server.site.tls.ca.certificate).unwrap();
    for _ in 0..10 {
        let refused = error(Client::connect(&server.url(), &identity));
        assert!(
            matches!(refused, ClientError::NoClientCertificate { .. }),
            "{refused:?}"
        );
        assert!(
            refused.to_string().contains("certificate and key"),
            "{refused}"
        );
    }
}

#[test]
fn a_certificate_of_a_foreign_authority_is_refused() {
    let (server, foreign) = (TestServer::start(), Site::new());
    let identity = Identity::load(&server.site.tls.ca.certificate, &foreign.tls.owner).unwrap();
    let refused = error(Client::connect(&server.url(), &identity));
    assert!(
        matches!(refused, ClientError::ClientCertificateRefused { .. }),
        "{refused:?}"
    );
}

#[test]
fn the_servers_certificate_is_none_for_a_client() {
    let server = TestServer::start();
    let refused = error(server.connect(&server.site.tls.server));
    assert!(
        matches!(refused, ClientError::ClientCertificateRefused { .. }),
        "{refused:?}"
    );
}

#[test]
fn a_server_of_a_foreign_authority_is_not_trusted() {
    let (server, foreign) = (TestServer::start(), Site::new());
    let refused = error(Client::connect(
        &server.url(),
        &foreign.identity(&foreign.tls.owner),
    ));
    assert!(
        matches!(refused, ClientError::ServerNotTrusted { .. }),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("ca.pem"), "{refused}");
}

#[test]
fn a_server_under_another_name_is_not_trusted() {
    let server = TestServer::start();
    // Loopback too, but not a name in the certificate.
    let url = format!("https://127.0.0.2:{}", server.address.port());
    let listener = TcpListener::bind(("127.0.0.2", server.address.port()));
    let Ok(listener) = listener else { return };
    let target = server.address;
    std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let upstream = TcpStream::connect(target).unwrap();
        let (mut from, mut to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        let (mut from, mut to) = (upstream, client);
        std::io::copy(&mut from, &mut to)
    });
    let refused = error(Client::connect(
        &url,
        &server.site.identity(&server.site.tls.owner),
    ));
    assert!(
        matches!(refused, ClientError::ServerNameMismatch { .. }),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("localhost"), "{refused}");
}

#[test]
fn a_server_that_is_down_is_reported_as_such() {
    let site = Site::new();
    let address = free_address();
    let refused = error(Client::connect(
        &format!("https://{address}"),
        &site.identity(&site.tls.device),
    ));
    assert!(
        matches!(refused, ClientError::Unreachable { .. }),
        "{refused:?}"
    );
    assert!(
        refused.to_string().contains(&address.to_string())
            && refused.to_string().contains("running"),
        "{refused}"
    );
}

#[test]
fn a_server_that_goes_down_is_reported_as_such() {
    let mut server = TestServer::start();
    let device = server.device();
    server.join().unwrap();
    let refused = device.upload(b"readings").unwrap_err();
    assert!(
        matches!(refused, ClientError::Unreachable { .. }),
        "{refused:?}"
    );
}

#[test]
fn a_server_without_tls_is_reported_as_such() {
    let site = Site::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    let refused = error(Client::connect(
        &format!("https://{address}"),
        &site.identity(&site.tls.device),
    ));
    assert!(matches!(refused, ClientError::Tls { .. }), "{refused:?}");
}

#[test]
fn addresses_that_are_none_are_refused() {
    let site = Site::new();
    let identity = site.identity(&site.tls.device);
    for url in [
        "",
        "localhost:8443",
        "http://localhost",
        "https://",
        "https://host/path",
        "https://a b",
        "https://[::1",
    ] {
        let refused = error(Client::connect(url, &identity));
        assert!(
            matches!(refused, ClientError::Url { .. }),
            "{url}: {refused:?}"
        );
        assert!(refused.to_string().contains("https://HOST:PORT"));
    }
}
