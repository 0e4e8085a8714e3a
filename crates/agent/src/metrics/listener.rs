//! Metrics over HTTP, to this machine only.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tfhe_sbc_transport::exposition;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::Metrics;
use crate::error::AgentError;

/// The most bytes of a request's head, the least that hyper allows.
const MAX_HEAD: usize = 8192;
/// The most connections at a time; further ones wait.
const MAX_CONNECTIONS: usize = 16;
/// The time that a request's head has to arrive.
const HEAD_PATIENCE: Duration = Duration::from_secs(2);
/// The time that a connection has from its beginning to the end of its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers `GET /metrics` at `address` from a thread of its own, one request per connection, for as
/// long as the process runs. A slow client delays no other. Returns the address with the port that
/// was taken.
///
/// # Errors
/// If the address cannot be listened on.
pub(crate) fn listen(address: SocketAddr, metrics: Arc<Metrics>) -> Result<SocketAddr, AgentError> {
    let failed = |error| {
        let problem = format!("cannot listen on {address}: {error}");
        AgentError::setting("metrics.listen", problem, "choose a port that is free")
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let listener = runtime
        .block_on(TcpListener::bind(address))
        .map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    std::thread::spawn(move || runtime.block_on(accept(listener, metrics)));
    Ok(bound)
}

async fn accept(listener: TcpListener, metrics: Arc<Metrics>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let metrics = Arc::clone(&metrics);
                tokio::spawn(async move {
                    serve(stream, metrics).await;
                    drop(place);
                });
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Answers one request. A client that breaks off misses its answer, and nothing else happens.
async fn serve(stream: TcpStream, metrics: Arc<Metrics>) {
    let service = service_fn(|request| {
        let answer = answer(&request, &metrics);
        async { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(MAX_HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let _ = timeout(PATIENCE, connection).await;
}

fn answer<B>(request: &Request<B>, metrics: &Metrics) -> Response<Full<Bytes>> {
    let is_known = request.method() == Method::GET && request.uri().path() == "/metrics";
    let (status, text) = match is_known {
        true => (StatusCode::OK, metrics.render()),
        false => (
            StatusCode::NOT_FOUND,
            "the counts are at /metrics\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(exposition::CONTENT_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    use super::*;

    fn server() -> SocketAddr {
        let metrics = Arc::new(Metrics::default());
        metrics.row();
        listen(([127, 0, 0, 1], 0).into(), metrics).unwrap()
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }

    const GOOD: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

    #[test]
    fn counts_are_served_and_nothing_else() {
        let address = server();
        let answer = ask(address, GOOD);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
        assert!(
            answer.contains("\ntfhe_sbc_agent_rows_total 1\n"),
            "{answer}"
        );
        for request in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            b"POST /metrics HTTP/1.1\r\n\r\n",
        ] {
            assert!(ask(address, request).starts_with("HTTP/1.1 404"));
        }
    }

    #[test]
    fn a_slow_client_delays_no_other_and_is_cut_off() {
        let address = server();
        let start = Instant::now();
        let mut slow: Vec<_> = (0..MAX_CONNECTIONS - 1)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        for stream in &mut slow {
            stream.write_all(b"GET /metr").unwrap();
        }
        assert!(ask(address, GOOD).starts_with("HTTP/1.1 200"));
        assert!(start.elapsed() < HEAD_PATIENCE, "{:?}", start.elapsed());
        for mut stream in slow {
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            assert!(!answer.starts_with(b"HTTP/1.1 200"));
        }
        assert!(start.elapsed() < PATIENCE + HEAD_PATIENCE);
    }

    #[test]
    fn a_head_without_end_is_refused() {
        let long = [
            b"GET /metrics HTTP/1.1\r\nx: ".to_vec(),
            vec![b'x'; 4 * MAX_HEAD],
        ]
        .concat();
        assert!(!ask(server(), &long).starts_with("HTTP/1.1 200"));
    }
}
