//! Clients that are slow, or that take more than their share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::{Attack, Expectation, FLOOD, Target, UPLOAD_BYTES, first_line, send};
use crate::Failure;
use crate::link::tls_stream;

const TOO_SLOW: &str = "tfhe_sbc_rejected_total{reason=\"too_slow\"}";
/// The length that a slow body announces.
const SLOW_BYTES: usize = 4096;
const DRIP: Duration = Duration::from_millis(500);

/// The most connections that an attack has open at once, the good ones besides.
pub(super) fn connections(attempts: u64) -> u64 {
    (10 * attempts).max(FLOOD) + 2
}

pub(super) async fn all(target: &Arc<Target>, attempts: u64) -> Result<Vec<Attack>, Failure> {
    let many = 10 * attempts;
    let mut attacks = Vec::new();

    let silent = Expectation::refused(
        "slow handshakes",
        many,
        "tfhe_sbc_handshake_failures_total{reason=\"too_slow\"}",
        &["refused a connection", "too_slow"],
        &["closed"],
    );
    let attack = target.attack(silent, |target, _| async move {
        let mut stream = TcpStream::connect(target.server.address).await?;
        // The start of a record that never ends.
        drip(&mut stream, &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]).await
    });
    attacks.push(attack.await?);

    let heads = Expectation::refused(
        "slow heads",
        many,
        TOO_SLOW,
        &["closed a connection", "too_slow"],
        &["closed"],
    );
    let attack = target.attack(heads, |target, i| async move {
        let config = target.attacker(&format!("slow-{i}"))?;
        let mut stream = tls_stream(target.server.address, &config).await?;
        drip(
            &mut stream,
            b"GET /healthz HTTP/1.1\r\nhost: a slow one\r\n",
        )
        .await
    });
    attacks.push(attack.await?);

    let bodies = Expectation::refused(
        "slow bodies",
        many,
        TOO_SLOW,
        &["request", "status=408"],
        &["408"],
    );
    let attack = target.attack(bodies, |target, i| async move {
        let config = target.attacker(&format!("slow-{i}"))?;
        let mut stream = tls_stream(target.server.address, &config).await?;
        let head = format!(
            "POST /v1/readings HTTP/1.1\r\nhost: a\r\ncontent-length: {SLOW_BYTES}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        drip(&mut stream, &[7; 64]).await
    });
    attacks.push(attack.await?);

    let flood = Expectation::refused(
        "large bodies, all at once",
        many.max(FLOOD),
        "tfhe_sbc_rejected_total{reason=\"invalid\"}",
        &["request", "status=422"],
        &["422"],
    );
    let attack = target.attack(flood, |target, i| async move {
        let config = target.attacker(&format!("flood-{i}"))?;
        let mut bytes = format!(
            "POST /v1/readings HTTP/1.1\r\nhost: a\r\ncontent-length: {UPLOAD_BYTES}\r\n\r\n"
        )
        .into_bytes();
        bytes.resize(bytes.len() + UPLOAD_BYTES, 7);
        // A client that is told to come back does so.
        for _ in 0..100 {
            let seen = send(&target, &config, &bytes).await;
            if !seen.starts_with("503") && !seen.starts_with("408") {
                return Ok(seen);
            }
            sleep(Duration::from_millis(300)).await;
        }
        Ok("never taken".to_owned())
    });
    attacks.push(attack.await?);

    let one = 16 + attempts;
    let hogs = Expectation {
        name: "all connections for one certificate",
        attempts: one,
        counter: "tfhe_sbc_rejected_total{reason=\"busy\"}",
        expected: attempts,
        logged: Some(&["request", "status=503"]),
        stored: 0,
        seen: &["200", "503"],
    };
    let config = target.attacker("hog")?;
    let attack = target.attack(hogs, |target, _| {
        let config = Arc::clone(&config);
        async move {
            let mut stream = tls_stream(target.server.address, &config).await?;
            let ask = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
            stream.write_all(ask).await?;
            let mut answer = [0; 64];
            let read = stream.read(&mut answer).await?;
            sleep(Duration::from_secs(1)).await;
            Ok(first_line(answer.get(..read).unwrap_or_default()))
        }
    });
    attacks.push(attack.await?);
    Ok(attacks)
}

/// Sends byte after byte until the server ends it, and returns what the server did.
async fn drip<S: AsyncReadExt + AsyncWriteExt + Unpin>(
    stream: &mut S,
    bytes: &[u8],
) -> Result<String, Failure> {
    let started = Instant::now();
    let mut answer = [0; 64];
    for byte in bytes.iter().cycle() {
        let sent = stream.write_all(&[*byte]).await.is_ok() && stream.flush().await.is_ok();
        match timeout(DRIP, stream.read(&mut answer)).await {
            Err(_) if sent => {}
            Ok(Ok(read)) if read > 0 => {
                return Ok(first_line(answer.get(..read).unwrap_or_default()));
            }
            _ => return Ok("closed".to_owned()),
        }
        if started.elapsed() > Duration::from_secs(30) {
            return Ok("still open after 30 s".to_owned());
        }
    }
    Ok("closed".to_owned())
}
