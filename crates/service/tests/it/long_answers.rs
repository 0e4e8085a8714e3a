//! Tests that a client does not read what no server of good will sends.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tfhe_sbc_transport::client::{Client, ClientError};
use tfhe_sbc_transport::protocol::Selection;
use tfhe_sbc_transport::provider::provider;

use crate::common::{ALL, ANY_LENGTH, Site};

/// The bytes of the long answers.
const LONG: u64 = 1 << 30;

/// A server with a good certificate that answers the first request well and all others at length.
struct Talkative {
    url: String,
    /// The bytes that the network took from it.
    sent: Arc<AtomicU64>,
}

impl Talkative {
    /// Starts the server. Its long answers have this first line, and their length in the head or in chunks.
    fn start(site: &Site, status: &'static str, in_chunks: bool) -> Self {
        let own = &site.tls.server;
        let chain = CertificateDer::pem_file_iter(&own.certificate).unwrap();
        let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::from_pem_file(&own.key).unwrap());
        let config = Arc::new(config.unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let sent = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&sent);
        let is_greeted = Arc::new(AtomicBool::new(false));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = StreamOwned::new(connection, stream.unwrap());
                let (is_greeted, counter) = (Arc::clone(&is_greeted), Arc::clone(&counter));
                thread::spawn(move || {
                    while take_request(&mut stream).is_some() {
                        if is_greeted.swap(true, Ordering::SeqCst) {
                            let _ = talk(&mut stream, status, in_chunks, &counter);
                            return;
                        }
                        let well = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                        let _ = stream.write_all(well);
                    }
                });
            }
        });
        Self { url, sent }
    }
}

/// Reads a request with a short body, if one comes.
fn take_request(stream: &mut impl Read) -> Option<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        request.push(byte[0]);
    }
    let head = String::from_utf8(request).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.map_or(0, |rest| {
        rest.split("\r\n").next().unwrap().parse().unwrap()
    });
    stream.read_exact(&mut vec![0; length]).ok()
}

fn talk(
    stream: &mut impl Write,
    status: &str,
    in_chunks: bool,
    sent: &AtomicU64,
) -> std::io::Result<()> {
    let length = match in_chunks {
        true => "transfer-encoding: chunked".to_owned(),
        false => format!("content-length: {LONG}"),
    };
    write!(stream, "HTTP/1.1 {status}\r\n{length}\r\n\r\n")?;
    let spaces = vec![b' '; 1 << 16];
    while sent.load(Ordering::SeqCst) < LONG {
        if in_chunks {
            write!(stream, "{:x}\r\n", spaces.len())?;
        }
        stream.write_all(&spaces)?;
        if in_chunks {
            stream.write_all(b"\r\n")?;
        }
        sent.fetch_add(spaces.len() as u64, Ordering::SeqCst);
    }
    Ok(())
}

#[test]
fn answers_that_are_longer_than_what_was_asked_for_are_not_read() {
    let site = Site::new();
    let identity = site.identity(&site.tls.device);
    type Call = fn(&Client) -> Result<(), ClientError>;
    let calls: [(Call, u64); 5] = [
        (|client| client.upload(b"readings").map(drop), 1 << 16),
        (|client| client.health(), 1 << 12),
        (|client| client.list(&ALL).map(drop), 16 << 20),
        (
            |client| client.columns(&Selection::Latest).map(drop),
            4 << 20,
        ),
        (
            |client| {
                let reply = client.query(&Selection::Latest, b"q", ANY_LENGTH);
                reply.map(drop)
            },
            ANY_LENGTH,
        ),
    ];
    for (call, limit) in calls {
        for in_chunks in [false, true] {
            for (status, limit) in [("201 Created", limit), ("400 Bad Request", 1 << 16)] {
                let server = Talkative::start(&site, status, in_chunks);
                let client = Client::connect(&server.url, &identity).unwrap();
                match call(&client) {
                    Err(ClientError::TooLong { most, .. }) => assert_eq!(most, limit),
                    other => panic!("{other:?} of {status}"),
                }
                // The rest is what the network holds on both sides.
                let sent = server.sent.load(Ordering::SeqCst);
                assert!(sent < limit + (16 << 20), "{sent} bytes of {status}");
            }
        }
    }
}
