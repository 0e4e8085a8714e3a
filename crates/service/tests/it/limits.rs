//! Tests that a client with a good certificate cannot harm others.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{ALL, TestServer, eventually, metric};
use tfhe_sbc_service::certificates;
use tfhe_sbc_service::server::Limits;
use tfhe_sbc_transport::client::{Client, ClientError};
use tfhe_sbc_transport::protocol::Selection;
use tfhe_sbc_transport::role::Role;

fn rejected(client: &Client, reason: &str) -> u64 {
    metric(
        client,
        &format!("tfhe_sbc_rejected_total{{reason=\"{reason}\"}}"),
    )
}

/// Another owner: tests look at metrics under its certificate.
fn observer(server: &TestServer) -> Client {
    let directory = server.site.directory.path().join("tls");
    let files = certificates::add_client(&directory, "observer", Role::Owner).unwrap();
    server.connect(&files).unwrap()
}

#[test]
fn one_certificate_cannot_take_all_connections() {
    let server = TestServer::with_limits(Limits {
        connections_per_client: 2,
        ..Limits::default()
    });
    let observer = observer(&server);
    let (first, second) = (server.device(), server.device());
    let refused = server.connect(&server.site.tls.device).err().unwrap();
    assert!(
        matches!(&refused, ClientError::Busy { message, .. } if message.contains("2 connections")),
        "{refused:?}"
    );
    assert_eq!(rejected(&observer, "busy"), 1);
    first.upload(b"readings 1").unwrap();
    server.owner().list(&ALL).unwrap();
    // One place is free again.
    drop(second);
    eventually("the place is free", || {
        server.connect(&server.site.tls.device).is_ok()
    });
}

/// A client cannot do so by sending a body slowly, nor by sending much of it.
#[test]
fn a_connection_too_many_is_over_at_once() {
    let server = TestServer::with_limits(Limits {
        connections_per_client: 1,
        ..Limits::default()
    });
    let observer = observer(&server);
    let mut first = server.raw_stream();
    let ask = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    first.write_all(ask).unwrap();
    first.read_exact(&mut [0; 12]).unwrap();

    let head = "POST /v1/readings HTTP/1.1\r\nhost: a\r\ncontent-length: 67108864\r\n\r\n";
    let started = Instant::now();
    let mut silent = server.raw_stream();
    silent.write_all(head.as_bytes()).unwrap();
    let mut dripping = server.raw_stream();
    dripping.write_all(head.as_bytes()).unwrap();
    let deadline = started + Duration::from_secs(8);
    while dripping
        .write_all(b"r")
        .and_then(|()| dripping.flush())
        .is_ok()
    {
        assert!(Instant::now() < deadline, "the body is still read");
        thread::sleep(Duration::from_millis(50));
    }
    let mut answer = Vec::new();
    let _ = silent.read_to_end(&mut answer);
    assert!(started.elapsed() < Duration::from_secs(8));
    assert!(answer.starts_with(b"HTTP/1.1 503"));

    let mut fast = server.raw_stream();
    fast.write_all(head.as_bytes()).unwrap();
    let mut sent = 0;
    while sent < 16 << 20 && fast.write_all(&[7; 1 << 16]).is_ok() {
        sent += 1 << 16;
    }
    assert!(sent < 16 << 20, "the server took {sent} bytes");
    assert_eq!(rejected(&observer, "busy"), 3);
}

#[test]
fn connections_do_not_stay_open_where_there_are_few_left() {
    let server = TestServer::with_limits(Limits {
        connections: 4,
        ..Limits::default()
    });
    let mut kept: Vec<_> = (0..3).map(|_| server.raw_stream()).collect();
    let ask = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    for stream in &mut kept {
        stream.write_all(ask).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
    }
    // The last place serves one after the other.
    for _ in 0..5 {
        let answer = server.raw(ask);
        assert!(answer.contains("connection: close"), "{answer}");
    }
}

#[test]
fn a_head_that_does_not_end_is_refused_and_silence_is_not() {
    let server = TestServer::with_limits(Limits {
        header_timeout: Duration::from_millis(300),
        ..Limits::default()
    });
    let started = Instant::now();
    let mut slow = server.raw_stream();
    slow.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let mut slow_writer = server.raw_stream();
    slow_writer
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    let _ = slow.read_to_end(&mut Vec::new());
    // Answered, then silent.
    let _ = slow_writer.read_to_end(&mut Vec::new());
    assert!(started.elapsed() < Duration::from_secs(8));
    assert_eq!(rejected(&server.owner(), "too_slow"), 1);
}

/// Its connection would count against its certificate for ever.
#[test]
fn a_client_that_does_not_take_its_answer_is_cut_off() {
    let server = TestServer::with_limits(Limits {
        answer_idle_timeout: Duration::from_millis(300),
        ..Limits::default()
    });
    // More than the network holds on both sides.
    let large = [&b"readings"[..], &vec![7; 32 << 20]].concat();
    server.device().upload(&large).unwrap();
    let observer = observer(&server);
    let mut stuck = server.raw_stream();
    let ask = b"POST /v1/query/latest HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nq";
    stuck.write_all(ask).unwrap();
    eventually("it is cut off", || rejected(&observer, "too_slow") == 1);
    // One that reads gets all of it.
    let reply = server
        .owner()
        .query(&Selection::Latest, b"q", 1 << 30)
        .unwrap();
    assert_eq!(reply.result.len(), large.len() + 1);
}

#[test]
fn a_head_of_any_size_is_refused() {
    let server = TestServer::start();
    let head = [
        &b"GET /healthz HTTP/1.1\r\nx: "[..],
        &vec![b'a'; 256 * 1024],
        b"\r\n\r\n",
    ]
    .concat();
    let mut stream = server.raw_stream();
    let _ = stream.write_all(&head);
    let _ = stream.read_to_end(&mut Vec::new());
    eventually("the head is counted", || {
        rejected(&server.owner(), "invalid") == 1
    });
    assert!(server.raw(b"not http\r\n\r\n").starts_with("HTTP/1.1 400"));
    eventually("what is no HTTP is counted", || {
        rejected(&server.owner(), "invalid") == 2
    });
}

/// A client that announces much and sends little has little of the memory for bodies.
#[test]
fn announcing_bodies_does_not_keep_others_out() {
    let server = TestServer::with_limits(Limits {
        upload_bytes: 1 << 20,
        query_bytes: 1 << 20,
        buffered_bytes: 2 << 20,
        ..Limits::default()
    });
    let mut drips: Vec<_> = (0..3).map(|_| server.raw_stream()).collect();
    for drip in &mut drips {
        let head =
            "POST /v1/readings HTTP/1.1\r\nhost: a\r\ncontent-length: 1048576\r\n\r\nreadings";
        drip.write_all(head.as_bytes()).unwrap();
    }
    thread::sleep(Duration::from_millis(200));
    let started = Instant::now();
    server
        .device()
        .upload(b"readings of somebody else")
        .unwrap();
    assert!(started.elapsed() < Duration::from_secs(2));
    // A large one that does come is taken once there is room.
    drop(drips);
    let large = [&b"readings"[..], &vec![7; (1 << 20) - 8]].concat();
    assert_eq!(server.device().upload(&large).unwrap().bytes, 1 << 20);
}
