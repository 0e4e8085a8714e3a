//! Counts over HTTP, to this machine only.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::Metrics;
use crate::error::AgentError;

/// Most bytes of a request.
const MAX_REQUEST: u64 = 4096;
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers every request with the counts, one at a time, on a thread of its own.
pub(crate) fn listen(address: SocketAddr, metrics: Arc<Metrics>) -> Result<SocketAddr, AgentError> {
    let failed = |error| {
        let problem = format!("cannot listen on {address}: {error}");
        AgentError::setting("metrics.listen", problem, "choose a port that is free")
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            match stream {
                // Who goes away misses the answer, nothing else.
                Ok(stream) => drop(answer(stream, &metrics)),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    });
    Ok(bound)
}

fn answer(mut stream: TcpStream, metrics: &Metrics) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = Vec::new();
    let mut request = (&stream).take(MAX_REQUEST);
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && request.read(&mut byte)? == 1 {
        head.push(byte[0]);
    }
    let (status, body) = match head.starts_with(b"GET /metrics ") {
        true => ("200 OK", metrics.render()),
        false => ("404 Not Found", "the counts are at /metrics\n".to_owned()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_served_and_nothing_else() {
        let metrics = Arc::new(Metrics::default());
        metrics.row();
        let address = listen(([127, 0, 0, 1], 0).into(), Arc::clone(&metrics)).unwrap();
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        let answer = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(
            answer.contains("\ntfhe_sbc_agent_rows_total 1\n"),
            "{answer}"
        );
        assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    }
}
