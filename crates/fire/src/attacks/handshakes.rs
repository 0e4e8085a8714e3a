//! Clients that cannot prove who they are.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tfhe_sbc_service::certificates::{CertificateAuthority, Validity, revoke};
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::role::Role;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Attack, Expectation, Target, describe, first_line, knock};
use crate::Failure;
use crate::link::tls_stream;
use crate::site::client_config;

const DAY: Duration = Duration::from_secs(86_400);

pub(super) async fn all(target: &Arc<Target>, attempts: u64) -> Result<Vec<Attack>, Failure> {
    let site = &target.site;
    let mut attacks = Vec::new();
    let now = SystemTime::now();
    let valid = |name: &str, from, until| {
        let validity = Validity::between(from, until);
        let issued = site
            .authority
            .issue_client_for(name, Role::Device, validity)?;
        site.client(Some(&issued))
    };
    let foreign = CertificateAuthority::generate()?;
    let foreign = foreign.issue_client("board-0000", Role::Device)?;
    let revoked = site.board("stolen")?;
    revoked.write(&CertificateFiles::named(
        &site.directory.join("tls"),
        "stolen",
    ))?;
    revoke(&site.directory.join("tls"), "stolen")?;

    let own = site.board("old-fashioned")?;
    for (expectation, config) in [
        (
            Expectation::refused(
                "certificate of another authority",
                attempts,
                "tfhe_sbc_handshake_failures_total{reason=\"unknown_authority\"}",
                &[
                    "refused a certificate",
                    "peer=\"board-0000\"",
                    "UnknownIssuer",
                ],
                &["TLS alert UnknownCA"],
            ),
            site.client(Some(&foreign))?,
        ),
        (
            Expectation::refused(
                "expired certificate",
                attempts,
                "tfhe_sbc_handshake_failures_total{reason=\"expired\"}",
                &["refused a certificate", "peer=\"expired\"", "expired"],
                &["TLS alert CertificateExpired"],
            ),
            valid("expired", now - 2 * DAY, now - DAY)?,
        ),
        (
            Expectation::refused(
                "certificate of the future",
                attempts,
                "tfhe_sbc_handshake_failures_total{reason=\"not_yet_valid\"}",
                &["refused a certificate", "peer=\"early\""],
                &["TLS alert CertificateExpired"],
            ),
            valid("early", now + DAY, now + 2 * DAY)?,
        ),
        (
            Expectation::refused(
                "revoked certificate",
                attempts,
                "tfhe_sbc_handshake_failures_total{reason=\"revoked\"}",
                &["refused a certificate", "peer=\"stolen\"", "Revoked"],
                &["TLS alert CertificateRevoked"],
            ),
            site.client(Some(&revoked))?,
        ),
        (
            Expectation::refused(
                "no certificate",
                attempts,
                "tfhe_sbc_handshake_failures_total{reason=\"no_certificate\"}",
                &["refused a connection", "no_certificate"],
                &["TLS alert CertificateRequired"],
            ),
            site.client(None)?,
        ),
        (
            Expectation::refused(
                "TLS 1.2",
                attempts,
                "tfhe_sbc_handshake_failures_total{reason=\"tls_version\"}",
                &["refused a connection", "tls_version"],
                &["TLS alert ProtocolVersion"],
            ),
            client_config(site.authority.certificate_pem(), Some(&own), true)?,
        ),
    ] {
        let attack = target.attack(expectation, |target, _| {
            let config = Arc::clone(&config);
            async move { Ok(knock(&target, &config).await) }
        });
        attacks.push(attack.await?);
    }
    let expectation = Expectation::refused(
        "HTTP without TLS",
        attempts,
        "tfhe_sbc_handshake_failures_total{reason=\"not_tls\"}",
        &["refused a connection", "not_tls"],
        &["TLS alert", "closed"],
    );
    let attack = target.attack(expectation, |target, _| async move {
        let mut stream = TcpStream::connect(target.server.address).await?;
        stream
            .write_all(b"POST /v1/readings HTTP/1.1\r\nhost: a\r\n\r\n")
            .await?;
        let mut answer = [0; 64];
        let read = stream.read(&mut answer).await.unwrap_or(0);
        Ok(match answer.get(..read) {
            // A TLS record of type alert.
            Some([21, ..]) => "TLS alert".to_owned(),
            _ => "closed".to_owned(),
        })
    });
    attacks.push(attack.await?);
    attacks.push(revoked_while_connected(target).await?);
    Ok(attacks)
}

/// A connection that was opened before its certificate was revoked.
async fn revoked_while_connected(target: &Arc<Target>) -> Result<Attack, Failure> {
    let expectation = Expectation::refused(
        "certificate revoked while connected",
        1,
        "tfhe_sbc_revoked_connections_total",
        &["closing a connection", "peer=\"caught\""],
        &["200 OK, then closed"],
    );
    let issued = target.site.board("caught")?;
    let tls = target.site.directory.join("tls");
    issued.write(&CertificateFiles::named(&tls, "caught"))?;
    let config = target.site.client(Some(&issued))?;
    target
        .attack(expectation, |target, _| {
            let (config, tls) = (Arc::clone(&config), tls.clone());
            async move {
                let mut stream = tls_stream(target.server.address, &config).await?;
                let ask = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
                stream.write_all(ask).await?;
                let mut answer = [0; 4096];
                let read = stream.read(&mut answer).await?;
                let before = first_line(answer.get(..read).unwrap_or_default());
                revoke(&tls, "caught")?;
                let closed = tokio::time::timeout(Duration::from_secs(10), async {
                    while stream.read(&mut answer).await? > 0 {}
                    Ok::<_, Failure>(())
                });
                let then = match closed.await {
                    Ok(Ok(())) => "closed".to_owned(),
                    Ok(Err(error)) => describe(&error),
                    Err(_) => "still open after 10 s".to_owned(),
                };
                Ok(format!("{before}, then {then}"))
            }
        })
        .await
}
