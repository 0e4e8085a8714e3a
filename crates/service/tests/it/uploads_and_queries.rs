//! Tests of what devices and owners can do, and of the refusals that they get.

use std::io::{Read, Write};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{ALL, ANY_LENGTH, TestServer, column, damage, eventually, metric, refused};
use tfhe_sbc_service::certificates;
use tfhe_sbc_service::server::Limits;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::client::{Client, ClientError, Timeouts};
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::protocol::{Selection, UploaderName};
use tfhe_sbc_transport::role::Role;

#[test]
fn a_device_uploads_and_the_owner_queries() {
    let server = TestServer::start();
    let receipt = server.device().upload(b"readings of a day").unwrap();
    assert!(receipt.created);
    assert_eq!(receipt.id, BlobId::of(b"readings of a day"));
    assert_eq!((receipt.bytes, receipt.summary.elements), (17, 17));
    assert!(receipt.created_at.ends_with('Z'), "{}", receipt.created_at);

    let owner = server.owner();
    for selection in [Selection::Latest, receipt.id.into()] {
        let reply = owner.query(&selection, b" + query", ANY_LENGTH).unwrap();
        assert_eq!(reply.result, b"readings of a day + query");
        assert_eq!(reply.bootstraps, 42);
        assert!((0.0..10.0).contains(&reply.seconds));
        let list = owner.columns(&selection).unwrap();
        assert_eq!(list.columns, [column(17)]);
        assert_eq!(list.rows, Some(8));
    }
    let unknown = BlobId::of(b"other readings").into();
    refused(owner.columns(&unknown), 404);

    let listed = owner.list(&ALL).unwrap().readings;
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].id, listed[0].uploader.as_str()),
        (receipt.id, "pi-1")
    );
    assert_eq!(listed[0].summary, receipt.summary);

    assert_eq!(owner.metrics_bootstraps().unwrap(), 84);
    assert_eq!(metric(&owner, "tfhe_sbc_queries_total"), 2);
    assert_eq!(metric(&owner, "tfhe_sbc_uploads_total{stored=\"new\"}"), 1);
    assert_eq!(metric(&owner, "tfhe_sbc_upload_bytes_total"), 17);
    assert!(
        server
            .raw(b"GET /readyz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            .starts_with("HTTP/1.1 200")
    );
}

/// Nobody's upload becomes what a question about somebody else's readings is about.
#[test]
fn the_latest_upload_is_that_of_whom_the_owner_names() {
    let server = TestServer::start();
    let owner = server.owner();
    let of = |name: &str| Selection::LatestOf(UploaderName::new(name).unwrap());
    assert!(refused(owner.columns(&of("pi-1")), 404).contains("upload readings first"));
    server.device().upload(b"readings of pi").unwrap();
    let list = owner.columns(&Selection::Latest).unwrap();
    let latest = list.latest.unwrap();
    assert_eq!(latest.id, BlobId::of(b"readings of pi"));
    assert_eq!(latest.uploader, "pi-1");

    let receipt = owner.upload(b"readings of the owner").unwrap();
    for result in [
        owner.columns(&Selection::Latest).map(drop),
        owner.query(&Selection::Latest, b"q", ANY_LENGTH).map(drop),
    ] {
        let words = refused(result, 400);
        for word in ["several", "pi-1", "latest:NAME"] {
            assert!(words.contains(word), "{words}");
        }
    }
    let asked = owner.query(&of("pi-1"), b" + q", ANY_LENGTH).unwrap();
    assert_eq!(asked.result, b"readings of pi + q");
    assert_eq!(owner.columns(&of("pi-1")).unwrap().latest, Some(latest));
    assert!(owner.columns(&receipt.id.into()).unwrap().latest.is_none());
    let words = refused(owner.columns(&of("nobody")), 404);
    assert!(
        words.contains("'nobody'") && words.contains("pi-1"),
        "{words}"
    );
}

#[test]
fn the_same_upload_twice_is_stored_once() {
    let server = TestServer::start();
    let first = server.device().upload(b"readings").unwrap();
    let second = server.owner().upload(b"readings").unwrap();
    assert!(first.created && !second.created);
    assert_eq!((first.id, first.created_at), (second.id, second.created_at));
    assert_eq!(server.owner().list(&ALL).unwrap().readings.len(), 1);
    assert_eq!(
        metric(
            &server.owner(),
            "tfhe_sbc_uploads_total{stored=\"repeated\"}"
        ),
        1
    );
}

#[test]
fn an_upload_counts_once_in_a_query() {
    let server = TestServer::start();
    let upload = |bytes: &[u8]| server.device().upload(bytes).unwrap().id;
    let (one, two) = (upload(b"readings 1"), upload(b"readings 2"));
    let ask = |ids: &[BlobId]| {
        server
            .owner()
            .query(&Selection::Ids(ids.to_vec()), b"", ANY_LENGTH)
    };
    assert_eq!(ask(&[one, two]).unwrap().result, b"readings 1readings 2");
    for ids in [&[one, one][..], &[one, two, one]] {
        let words = refused(ask(ids), 400);
        assert!(words.contains("twice"), "{words}");
    }
}

#[test]
fn a_device_may_neither_query_nor_list() {
    let server = TestServer::start();
    let device = server.device();
    device.upload(b"readings").unwrap();
    let words = refused(
        device.query(&Selection::Latest, &[0; 1 << 20], ANY_LENGTH),
        403,
    );
    assert!(words.contains("pi-1") && words.contains("owner"), "{words}");
    refused(device.list(&ALL), 403);
    refused(device.columns(&Selection::Latest), 403);
    assert_eq!(
        metric(&device, "tfhe_sbc_rejected_total{reason=\"forbidden\"}"),
        3
    );
}

#[test]
fn a_device_added_later_uploads_under_its_own_name() {
    let server = TestServer::start();
    let directory = server.site.directory.path().join("tls");
    let files = certificates::add_client(&directory, "pi-2", Role::Device).unwrap();
    server.connect(&files).unwrap().upload(b"readings").unwrap();
    assert_eq!(
        server.owner().list(&ALL).unwrap().readings[0].uploader,
        "pi-2"
    );
}

#[test]
fn a_certificate_without_a_role_may_do_nothing() {
    let server = TestServer::start();
    let ca = &server.site.tls.ca;
    let key = rcgen::KeyPair::from_pem(&std::fs::read_to_string(&ca.key).unwrap()).unwrap();
    let issuer =
        rcgen::Issuer::from_ca_cert_pem(&std::fs::read_to_string(&ca.certificate).unwrap(), key)
            .unwrap();
    let mut params = rcgen::CertificateParams::default();
    params
        .distinguished_name
        .push(rcgen::DnType::OrganizationalUnitName, "tfhe-sbc admin");
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let key = rcgen::KeyPair::generate().unwrap();
    let files = CertificateFiles::named(server.site.directory.path(), "nobody");
    std::fs::write(
        &files.certificate,
        params.signed_by(&key, &issuer).unwrap().pem(),
    )
    .unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    let words = refused(server.connect(&files).map(drop), 403);
    assert!(words.contains("role"), "{words}");
}

#[test]
fn oversized_uploads_are_refused_and_not_stored() {
    let server = TestServer::with_limits(Limits {
        upload_bytes: 100_000,
        query_bytes: 1000,
        ..Limits::default()
    });
    let device = server.device();
    let mut upload = b"readings".to_vec();
    upload.resize(100_001, 0);
    let words = refused(device.upload(&upload), 413);
    assert!(words.contains("100000"), "{words}");

    // The same without saying beforehand how large it is.
    let mut request =
        b"POST /v1/readings HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    request.extend_from_slice(format!("{:x}\r\n", upload.len()).as_bytes());
    request.extend_from_slice(&upload);
    request.extend_from_slice(b"\r\n0\r\n\r\n");
    let mut stream = server.raw_stream();
    stream.write_all(&request).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 413");

    assert!(server.store.all().unwrap().is_empty());
    upload.truncate(100_000);
    device.upload(&upload).unwrap();
    refused(
        server
            .owner()
            .query(&Selection::Latest, &[0; 1001], ANY_LENGTH),
        413,
    );
    assert_eq!(
        metric(&device, "tfhe_sbc_rejected_total{reason=\"too_large\"}"),
        3
    );
}

#[test]
fn rejected_uploads_are_not_stored() {
    let server = TestServer::start();
    let device = server.device();
    assert_eq!(
        refused(device.upload(b"garbage"), 422),
        "these are no readings | send readings"
    );
    assert_eq!(
        refused(device.upload(b"foreign readings"), 422),
        "made under key 2, not key 1 | encrypt with key 1"
    );
    assert!(server.owner().list(&ALL).unwrap().readings.is_empty());
    assert!(server.store.all().unwrap().is_empty());
    assert_eq!(
        metric(&device, "tfhe_sbc_rejected_total{reason=\"invalid\"}"),
        1
    );
    assert_eq!(
        metric(&device, "tfhe_sbc_rejected_total{reason=\"wrong_key\"}"),
        1
    );
}

#[test]
fn queries_on_nothing_or_nonsense_say_what_is_wrong() {
    let server = TestServer::start();
    let owner = server.owner();
    assert!(refused(owner.query(&Selection::Latest, b"q", ANY_LENGTH), 404).contains("upload"));
    owner.upload(b"readings").unwrap();
    let unknown = BlobId::of(b"never uploaded");
    assert!(
        refused(owner.query(&unknown.into(), b"q", ANY_LENGTH), 404).contains(&unknown.to_string())
    );
    assert_eq!(
        refused(
            owner.query(&Selection::Latest, b"nonsense", ANY_LENGTH),
            422
        ),
        "no query | send a query"
    );
    refused(owner.query(&Selection::Latest, b"panic", ANY_LENGTH), 500);
    owner
        .query(&Selection::Latest, b"and it still works", ANY_LENGTH)
        .unwrap();

    let post = |path: &str| {
        server.raw(
            format!(
                "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )
            .as_bytes(),
        )
    };
    for (path, status) in [
        ("/v1/query/..", 400),
        ("/v1/query/%ff", 400),
        ("/v1/nothing", 404),
        ("/metrics", 405),
    ] {
        let answer = post(path);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{path}: {answer}"
        );
        assert!(answer.contains("\"hint\":"), "{path}: {answer}");
    }
}

#[test]
fn damaged_readings_are_not_evaluated() {
    let server = TestServer::start();
    let owner = server.owner();
    let id = owner.upload(b"readings").unwrap().id;
    damage(&server.store, &id);
    let words = refused(owner.query(&Selection::Latest, b"q", ANY_LENGTH), 500);
    assert!(
        words.contains("damaged") && words.contains("again"),
        "{words}"
    );
    assert!(
        !words.contains(server.site.directory.path().to_str().unwrap()),
        "{words}"
    );
    assert!(!owner.upload(b"readings").unwrap().created);
    owner.query(&Selection::Latest, b"q", ANY_LENGTH).unwrap();
}

#[test]
fn a_full_queue_says_when_to_come_back() {
    let server = TestServer::with_limits(Limits {
        waiting_queries: 0,
        ..Limits::default()
    });
    let owner = server.owner();
    owner.upload(b"readings").unwrap();
    thread::scope(|scope| {
        let held = scope.spawn(|| owner.query(&Selection::Latest, b"hold", ANY_LENGTH));
        let watcher = server.owner();
        // Bootstraps move, also seen through the client that is waiting.
        eventually("bootstraps move", || {
            watcher.metrics_bootstraps().unwrap() == 7
        });
        eventually("bootstraps move", || {
            owner.metrics_bootstraps().unwrap() == 7
        });
        assert_eq!(metric(&watcher, "tfhe_sbc_evaluations_running"), 1);
        // The client that waits knows its query among others'.
        let running = owner.running().unwrap().unwrap();
        assert_eq!((running.bootstraps, running.expected), (7, 42));
        assert!(watcher.running().unwrap().is_none());
        assert_eq!(watcher.status().unwrap().running.len(), 1);
        refused(server.device().status(), 403);
        match watcher.query(&Selection::Latest, b"q", ANY_LENGTH) {
            Err(ClientError::Busy { retry_after, .. }) => assert_eq!(retry_after.as_secs(), 10),
            other => panic!("{other:?}"),
        }
        server.backend.released.store(true, Ordering::SeqCst);
        assert_eq!(held.join().unwrap().unwrap().bootstraps, 42);
        assert_eq!(watcher.metrics_bootstraps().unwrap(), 42);
        eventually("it is no longer there", || {
            watcher.status().unwrap().running.is_empty()
        });
        watcher.query(&Selection::Latest, b"q", ANY_LENGTH).unwrap();
        assert_eq!(metric(&watcher, "tfhe_sbc_evaluations_running"), 0);
    });
}

#[test]
fn queries_wait_their_turn() {
    let server = TestServer::start();
    let owner = server.owner();
    owner.upload(b"readings").unwrap();
    thread::scope(|scope| {
        let held = scope.spawn(|| {
            server
                .owner()
                .query(&Selection::Latest, b"hold", ANY_LENGTH)
        });
        eventually("one runs", || {
            metric(&owner, "tfhe_sbc_evaluations_running") == 1
        });
        let waiting = scope.spawn(|| server.owner().query(&Selection::Latest, b"q", ANY_LENGTH));
        eventually("one waits", || {
            metric(&owner, "tfhe_sbc_evaluations_waiting") == 1
        });
        server.backend.released.store(true, Ordering::SeqCst);
        held.join().unwrap().unwrap();
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn a_query_nobody_waits_for_is_called_off() {
    let server = TestServer::start();
    server.device().upload(b"readings").unwrap();
    let identity = server.site.identity(&server.site.tls.owner);
    let timeouts = Timeouts {
        query: Duration::from_millis(300),
        ..Timeouts::default()
    };
    let hasty = Client::connect_with(&server.url(), &identity, timeouts).unwrap();
    let result = hasty.query(&Selection::Latest, b"hold", ANY_LENGTH);
    assert!(
        matches!(result, Err(ClientError::Timeout { .. })),
        "{result:?}"
    );
    assert!(result.unwrap_err().to_string().contains("300ms"));
    drop(hasty);
    eventually("the evaluation is told", || {
        server.backend.cancelled.load(Ordering::SeqCst)
    });
    server
        .owner()
        .query(&Selection::Latest, b"q", ANY_LENGTH)
        .unwrap();
}

#[test]
fn silent_senders_are_cut_off() {
    let quick = Duration::from_millis(200);
    let limits = Limits {
        handshake_timeout: quick,
        header_timeout: quick,
        body_idle_timeout: quick,
        body_timeout: 3 * quick,
        ..Limits::default()
    };
    let server = TestServer::with_limits(limits);
    let started = Instant::now();

    // No handshake.
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    // No end to the header.
    assert!(
        !server
            .raw(b"POST /v1/readings HTTP/1.1\r\n")
            .contains("200")
    );
    // No body.
    let answer =
        server.raw(b"POST /v1/readings HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nreadings");
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    // A body in drops, each in time.
    let mut stream = server.raw_stream();
    stream
        .write_all(b"POST /v1/readings HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n")
        .unwrap();
    for _ in 0..5 {
        thread::sleep(quick / 2);
        stream.write_all(b"r").unwrap();
    }
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 408");
    assert!(started.elapsed() < Duration::from_secs(8));
    assert_eq!(
        metric(
            &server.owner(),
            "tfhe_sbc_handshake_failures_total{reason=\"too_slow\"}"
        ),
        1
    );
}

#[test]
fn a_client_outlives_the_connections_that_the_server_closes() {
    let limits = Limits {
        header_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = TestServer::with_limits(limits);
    let device = server.device();
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(250));
        device.upload(b"readings").unwrap();
    }
}

#[test]
fn connections_beyond_the_limit_wait() {
    let server = TestServer::with_limits(Limits {
        connections: 1,
        ..Limits::default()
    });
    let first = server.device();
    let identity = server.site.identity(&server.site.tls.owner);
    let hasty = Timeouts {
        connect: Duration::from_millis(300),
        ..Timeouts::default()
    };
    let second = Client::connect_with(&server.url(), &identity, hasty).map(drop);
    assert!(
        matches!(second, Err(ClientError::Timeout { .. })),
        "{second:?}"
    );
    drop(first);
    server.owner().upload(b"readings").unwrap();
}
