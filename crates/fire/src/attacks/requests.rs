//! Requests that a server must refuse from a client that may connect.

use std::sync::Arc;

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_upload::fresh_seeds;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Attack, Expectation, Target, UPLOAD_BYTES, first_line, send};
use crate::Failure;
use crate::link::{Link, tls_stream};
use crate::readings::Uploads;

const INVALID: &str = "tfhe_sbc_rejected_total{reason=\"invalid\"}";
const SEEN_413: &[&str] = &["413"];
const SEEN_422: &[&str] = &["HTTP 422"];
const TOO_LARGE: &str = "tfhe_sbc_rejected_total{reason=\"too_large\"}";

pub(super) async fn all(target: &Arc<Target>, attempts: u64) -> Result<Vec<Attack>, Failure> {
    let mut attacks = Vec::new();
    let log_422: &[&str] = &["request", "status=422"];
    let log_413: &[&str] = &["request", "status=413"];

    // Actions that a device may not take.
    let forbidden = Expectation::refused(
        "a device lists and asks",
        attempts,
        "tfhe_sbc_rejected_total{reason=\"forbidden\"}",
        &["request", "status=403"],
        &["HTTP 403"],
    );
    let attack = target.attack(forbidden, |target, i| async move {
        let path = ["/v1/readings", "/v1/status"][i as usize % 2];
        post_or_get(&target, i, None, path).await
    });
    attacks.push(attack.await?);

    let announced = Expectation::refused(
        "a body announced as 1 TiB",
        attempts,
        TOO_LARGE,
        log_413,
        SEEN_413,
    );
    let attack = target.attack(announced, |target, i| async move {
        let config = target.attacker(&format!("attacker-{i}"))?;
        let head = "POST /v1/readings HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n\
                    content-length: 1099511627776\r\n\r\n";
        Ok(send(&target, &config, head.as_bytes()).await)
    });
    attacks.push(attack.await?);

    let endless =
        Expectation::refused("a body without end", attempts, TOO_LARGE, log_413, SEEN_413);
    let attack = target.attack(endless, |target, i| async move {
        let config = target.attacker(&format!("attacker-{i}"))?;
        let mut bytes = b"POST /v1/readings HTTP/1.1\r\nhost: a\r\n\
                          transfer-encoding: chunked\r\n\r\n"
            .to_vec();
        for _ in 0..=UPLOAD_BYTES / 0x8000 {
            bytes.extend_from_slice(b"8000\r\n");
            bytes.resize(bytes.len() + 0x8000, 7);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        Ok(send(&target, &config, &bytes).await)
    });
    attacks.push(attack.await?);

    // Random bytes, and good ones that are damaged.
    let noise = Expectation::refused("random bytes", attempts, INVALID, log_422, SEEN_422);
    let attack = target.attack(noise, |target, i| async move {
        let mut noise = vec![0; 1 + 397 * i as usize];
        getrandom::fill(&mut noise)?;
        post_or_get(&target, i, Some(noise), "/v1/readings").await
    });
    attacks.push(attack.await?);

    let cut = Expectation::refused("an upload cut short", attempts, INVALID, log_422, SEEN_422);
    let attack = target.attack(cut, |target, i| async move {
        let mut upload = target.uploads.make("cut", i)?;
        upload.truncate(upload.len() * (i as usize + 1) / (attempts as usize + 1));
        post_or_get(&target, i, Some(upload), "/v1/readings").await
    });
    attacks.push(attack.await?);

    let flipped = Expectation::refused(
        "an upload with a bit flipped",
        attempts,
        INVALID,
        log_422,
        SEEN_422,
    );
    let attack = target.attack(flipped, |target, i| async move {
        let mut upload = target.uploads.make("flipped", i)?;
        // The damage is in the ciphertexts: in the header it might make the key's fingerprint
        // another one.
        let place = upload.len() - 1 - (i as usize * 31) % (upload.len() / 4);
        upload[place] ^= 1 << (i % 8);
        post_or_get(&target, i, Some(upload), "/v1/readings").await
    });
    attacks.push(attack.await?);

    let parameters = MESSAGE_2_CARRY_2
        .validate()
        .map_err(|error| error.to_string())?;
    let other = SecretKey::generate(parameters, &mut fresh_seeds()?)?;
    let other = Arc::new(Uploads::of_bytes(other.device_key().to_bytes()?)?);
    let foreign = Expectation::refused(
        "an upload under another key",
        attempts,
        "tfhe_sbc_rejected_total{reason=\"wrong_key\"}",
        log_422,
        SEEN_422,
    );
    let attack = target.attack(foreign, |target, i| {
        let other = Arc::clone(&other);
        async move {
            let upload = other.make("foreign", i)?;
            post_or_get(&target, i, Some(upload), "/v1/readings").await
        }
    });
    attacks.push(attack.await?);

    let broken = Expectation::refused(
        "a body that breaks off",
        attempts,
        INVALID,
        // A 408 is possible as well: the client may come again.
        &["refused a request", "invalid"],
        &["400", "408", "closed"],
    );
    let attack = target.attack(broken, |target, i| async move {
        let config = target.attacker(&format!("attacker-{i}"))?;
        let mut stream = tls_stream(target.server.address, &config).await?;
        let head = b"POST /v1/readings HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nhalf";
        stream.write_all(head).await?;
        stream.shutdown().await?;
        let mut answer = [0; 64];
        let read = stream.read(&mut answer).await.unwrap_or(0);
        Ok(first_line(answer.get(..read).unwrap_or_default()))
    });
    attacks.push(attack.await?);

    let head = Expectation::refused(
        "a head of 1 MiB",
        attempts,
        INVALID,
        &["closed a connection", "invalid"],
        &["431", "closed"],
    );
    let attack = target.attack(head, |target, i| async move {
        let config = target.attacker(&format!("attacker-{i}"))?;
        let mut head = b"GET /healthz HTTP/1.1\r\nx: ".to_vec();
        head.resize(1 << 20, b'a');
        Ok(send(&target, &config, &head).await)
    });
    attacks.push(attack.await?);

    let paths = Expectation::refused(
        "paths that lead nowhere",
        attempts,
        "tfhe_sbc_rejected_total{reason=\"not_found\"}",
        &["request", "status=404"],
        &["HTTP 404"],
    );
    let attack = target.attack(paths, |target, i| async move {
        let paths = ["/../../etc/passwd", "/v1/%2e%2e/index.sqlite", "//", "/v2"];
        post_or_get(&target, i, None, paths[i as usize % paths.len()]).await
    });
    attacks.push(attack.await?);

    attacks.push(replay(target, attempts).await?);
    Ok(attacks)
}

/// The same upload again and again, by many clients at once: the store has it once.
async fn replay(target: &Arc<Target>, attempts: u64) -> Result<Attack, Failure> {
    let upload = target.uploads.make("replayed", 0)?;
    let expectation = Expectation {
        name: "an upload replayed",
        attempts,
        counter: "tfhe_sbc_uploads_total{stored=\"repeated\"}",
        expected: attempts - 1,
        logged: None,
        stored: 1,
        seen: &["HTTP 200", "HTTP 201"],
    };
    target
        .attack(expectation, |target, i| {
            let upload = upload.clone();
            async move { post_or_get(&target, i, Some(upload), "/v1/readings").await }
        })
        .await
}

/// A request of an attacker with a certificate of its own.
async fn post_or_get(
    target: &Target,
    attacker: u64,
    body: Option<Vec<u8>>,
    path: &str,
) -> Result<String, Failure> {
    let config = target.attacker(&format!("attacker-{attacker}"))?;
    let mut link = Link::new(target.server.address, config);
    let reply = match body {
        Some(body) => link.post(path, body.into()).await?,
        None => link.get(path).await?,
    };
    Ok(format!("HTTP {}", reply.status))
}
