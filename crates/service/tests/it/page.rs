//! Tests of the status page: it is well-formed, only those who may read it get it, and it has
//! nothing to run.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use crate::common::{ALL, ANY_LENGTH, Site, TestServer, eventually, free_address};
use tfhe_sbc_service::certificates::CertificateAuthority;
use tfhe_sbc_service::server::{Limits, ServeError};
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::protocol::Selection;
use tfhe_sbc_transport::role::Role;

const ASK: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// The text between the tags, table rows as lines with bars; fails unless every tag that is
/// opened is closed in its turn.
fn read(html: &str) -> String {
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("a page");
    let (mut open, mut text) = (Vec::new(), String::new());
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        let end = start + rest[start..].find('>').expect("the tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.split(' ').next().unwrap();
        match name.strip_prefix('/') {
            Some(closed) => {
                assert_eq!(open.pop(), Some(closed), "{text}");
                match closed {
                    "td" | "th" => text.push_str(" | "),
                    "tr" | "p" | "h2" | "span" => text.push('\n'),
                    _ => {}
                }
            }
            None if ["meta", "link"].contains(&name) => {}
            None => open.push(name),
        }
        assert!(!["script", "img", "iframe"].contains(&name));
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    text
}

fn split(answer: &str) -> (&str, &str) {
    answer.split_once("\r\n\r\n").expect("head and body")
}

fn get(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_page_tells_who_uploaded_what_and_what_is_computed() {
    let server = TestServer::start();
    let ca = &server.site.tls.ca;
    let authority = CertificateAuthority::load(&ca.certificate, &ca.key).unwrap();
    let nasty = "<script>alert('x')</script> & \"co\"";
    let files = CertificateFiles::named(server.site.directory.path(), "nasty");
    let issued = authority.issue_client(nasty, Role::Device).unwrap();
    issued.write(&files).unwrap();
    let id = server.device().upload(b"readings 1").unwrap().id;
    server.device().upload(b"readings 22").unwrap();
    server
        .connect(&files)
        .unwrap()
        .upload(b"readings 3")
        .unwrap();
    server.device().upload(b"no such thing").unwrap_err();
    server
        .owner()
        .query(&Selection::from(id), b"what?", ANY_LENGTH)
        .unwrap();
    let waiting = {
        let (url, identity) = (server.url(), server.site.identity(&server.site.tls.owner));
        thread::spawn(move || {
            let client = tfhe_sbc_transport::client::Client::connect(&url, &identity).unwrap();
            client.query(&Selection::from(id), b"hold", ANY_LENGTH)
        })
    };
    eventually("the query runs", || {
        !server.owner().status().unwrap().running.is_empty()
    });

    let answer = server.raw(ASK);
    let (head, html) = split(&answer);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(
        head.contains("content-security-policy: default-src 'none'"),
        "{head}"
    );
    assert!(!html.contains("<script"), "{html}");
    assert!(!html.contains("//"), "nothing from elsewhere: {html}");
    let text = read(html);
    for line in [
        "pi-1 | 2 | 21 B | ",
        "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;co&quot; | 1 | 10 B | ",
        "7 of 42 bootstraps.",
        "| alice | 1 | 42 | ",
        "| answered | ",
        "request | invalid | 1",
        &format!(
            "{}… | pi-1 | 5 | 11 B | ",
            &server.store.list(&ALL).unwrap().readings[1].id.to_string()[..12]
        ),
    ] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
    server
        .backend
        .released
        .store(true, std::sync::atomic::Ordering::SeqCst);
    waiting.join().unwrap().unwrap();
    assert!(read(split(&server.raw(ASK)).1).contains("No query is being evaluated."));
    let style = server.raw(b"GET /status.css HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    assert!(style.contains("text/css"), "{style}");
}

#[test]
fn a_query_that_nobody_waited_for_is_remembered_as_such() {
    let server = TestServer::start();
    server.device().upload(b"readings").unwrap();
    server
        .owner()
        .query(&Selection::Latest, b"nonsense", ANY_LENGTH)
        .unwrap_err();
    let text = read(split(&server.raw(ASK)).1.to_owned().as_str());
    assert!(text.contains("| invalid | "), "{text}");
}

#[test]
fn a_device_may_not_see_it() {
    let server = TestServer::start();
    let config =
        tfhe_sbc_transport::tls::client_config(&server.site.identity(&server.site.tls.device));
    let name = "localhost".try_into().unwrap();
    let connection = rustls::ClientConnection::new(config.unwrap(), name).unwrap();
    let stream = TcpStream::connect(server.address).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, stream);
    stream.write_all(ASK).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 403"));
}

#[test]
fn a_browser_on_this_machine_sees_the_page_and_nothing_else() {
    // Another test may take the port in the moment before the server does.
    let started = (0..5).find_map(|_| {
        let address = free_address();
        let server = TestServer::with_status(Limits::default(), Some(address));
        let device = server.connect(&server.site.tls.device).ok()?;
        Some((address, server, device))
    });
    let (address, _server, device) = started.unwrap();
    device.upload(b"readings 1").unwrap();
    let answer = get(
        address,
        &format!("GET / HTTP/1.1\r\nhost: {address}\r\n\r\n"),
    );
    assert!(read(split(&answer).1).contains("pi-1 | 1 | 10 B | "));
    for (request, status) in [
        ("GET / HTTP/1.1\r\nhost: localhost:1\r\n\r\n", "200"),
        ("GET /status.css HTTP/1.1\r\nhost: localhost\r\n\r\n", "200"),
        // A site that has its name resolve to this machine.
        ("GET / HTTP/1.1\r\nhost: elsewhere.example\r\n\r\n", "403"),
        ("GET / HTTP/1.1\r\n\r\n", "403"),
        (
            "GET /v1/readings HTTP/1.1\r\nhost: localhost\r\n\r\n",
            "404",
        ),
        ("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n", "404"),
        (
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n",
            "405",
        ),
    ] {
        let answer = get(address, request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{request}: {answer}"
        );
    }
}

#[test]
fn the_page_without_certificate_is_for_this_machine_alone() {
    let site = Site::new();
    for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
        let refused = TestServer::try_start_with(&site, Some(address.parse().unwrap()));
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, ServeError::StatusNotLocal { .. }),
            "{refused:?}"
        );
        assert!(refused.to_string().contains("127.0.0.1"));
    }
}
