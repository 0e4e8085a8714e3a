//! Attacks that a server must refuse, one kind after the other. Each attempt is made for real. Then
//! the server's counters and log must tell of it, nothing must be stored, and a board that does
//! nothing wrong must get its receipt while the attack goes on.

mod handshakes;
mod requests;
mod slow;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::Failure;
use crate::counters::Counters;
use crate::link::{Link, tls_stream};
use crate::readings::Uploads;
use crate::server::Server;
use crate::site::Site;

/// The limits of the server under attack: small ones, so that attacks on them are short.
pub(crate) const UPLOAD_BYTES: usize = 1 << 20;
pub(crate) const BUFFERED_BYTES: usize = 8 << 20;
const OPTIONS: [&str; 12] = [
    "--max-upload-bytes",
    "1048576",
    "--max-buffered-bytes",
    "8388608",
    "--handshake-timeout",
    "2",
    "--header-timeout",
    "2",
    "--body-idle-timeout",
    "2",
    "--body-timeout",
    "4",
];
/// The number of bodies of the largest size that are sent at once, at least: without limits they
/// would take more memory than the limits allow.
pub(crate) const FLOOD: u64 = 64;
const _: () =
    assert!(FLOOD * UPLOAD_BYTES as u64 > 4 * BUFFERED_BYTES as u64 + (FLOOD + 2) * PER_CONNECTION);
/// The memory of each connection beside that of bodies: bytes that TLS and HTTP may have read.
const PER_CONNECTION: u64 = 128 * 1024;

/// The number of uploads of a good board during an attack, if the attack takes long enough, and the
/// least number.
const GOOD_UPLOADS: u64 = 20;
const GOOD_UPLOADS_LEAST: u64 = 3;
const GOOD_PAUSE: Duration = Duration::from_millis(50);
/// The time within which it must have its receipt, on a machine that it shares with all attackers.
const GOOD_UPLOAD_MOST: Duration = Duration::from_secs(3);

/// One kind of attack and how it went.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) attempts: u64,
    /// The answers that the attackers got, and how often.
    pub(crate) seen: BTreeMap<String, u64>,
    /// The counter that must rise by `expected`.
    pub(crate) counter: &'static str,
    pub(crate) expected: u64,
    pub(crate) counted: u64,
    /// The number of lines of the log that tell of it; `None` if it is no refusal that is logged.
    pub(crate) logged: Option<u64>,
    /// The number of uploads that got in.
    pub(crate) stored: u64,
    /// The number of uploads of a good board meanwhile.
    pub(crate) good_uploads: u64,
    /// The longest time that it waited for a receipt.
    pub(crate) good_upload_ms: f64,
    pub(crate) passed: bool,
}

/// The server's memory under attack.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Memory {
    pub(crate) idle: u64,
    pub(crate) peak: u64,
    /// The memory that the limits allow: that when idle, four times that of bodies (the allocator
    /// keeps what was freed), and a share for each connection.
    pub(crate) bound: u64,
    pub(crate) most_connections: u64,
}

/// All attacks.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Attacks {
    pub(crate) attacks: Vec<Attack>,
    pub(crate) memory: Memory,
}

impl Attacks {
    pub(crate) fn passed(&self) -> bool {
        self.attacks.iter().all(|attack| attack.passed) && self.memory.peak <= self.memory.bound
    }
}

/// The target of the attacks.
struct Target {
    site: Arc<Site>,
    server: Server,
    uploads: Uploads,
    owner: Mutex<Link>,
    good: Mutex<Link>,
    good_uploads: AtomicU64,
}

/// The traces that an attack must leave at the server.
struct Expectation {
    name: &'static str,
    attempts: u64,
    counter: &'static str,
    /// The number by which the counter must rise.
    expected: u64,
    /// The words of a line of the log for each attempt.
    logged: Option<&'static [&'static str]>,
    /// The number of uploads that get in.
    stored: u64,
    /// The beginnings of the answers that an attacker may get.
    seen: &'static [&'static str],
}

impl Expectation {
    /// Returns the traces of attempts that are each refused, counted there and logged with these
    /// words.
    fn refused(
        name: &'static str,
        attempts: u64,
        counter: &'static str,
        logged: &'static [&'static str],
        seen: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            attempts,
            counter,
            expected: attempts,
            logged: Some(logged),
            stored: 0,
            seen,
        }
    }

    /// Returns whether no attacker got another answer.
    fn allows(&self, seen: &BTreeMap<String, u64>) -> bool {
        let allowed = |what: &str| self.seen.iter().any(|start| what.starts_with(start));
        seen.keys().all(|what| allowed(what))
    }
}

/// Makes all attacks on a server of its own. Every kind is tried `attempts` times.
pub(crate) async fn run(site: Arc<Site>, attempts: u64) -> Result<Attacks, Failure> {
    let any = ([127, 0, 0, 1], 0).into();
    let store = site.directory.join("attacked");
    let log = site.directory.join("attacked.log");
    let server = Server::start(&site, any, &store, &log, &OPTIONS)?;
    let target = Arc::new(Target {
        owner: Mutex::new(Link::new(server.address, site.owner()?)),
        good: Mutex::new(Link::new(
            server.address,
            site.client(Some(&site.board("good")?))?,
        )),
        uploads: Uploads::new(&site.key("device.tsbc"))?,
        site,
        server,
        good_uploads: AtomicU64::new(0),
    });
    target.good_upload().await?;
    target.server.reset_peak();
    let idle = target.server.figures().memory;
    let mut attacks = handshakes::all(&target, attempts).await?;
    attacks.extend(requests::all(&target, attempts).await?);
    attacks.extend(slow::all(&target, attempts).await?);
    let peak = target.server.figures().peak_memory;
    let most_connections = slow::connections(attempts);
    let bound = idle + 4 * BUFFERED_BYTES as u64 + most_connections * PER_CONNECTION;
    Ok(Attacks {
        attacks,
        memory: Memory {
            idle,
            peak,
            bound,
            most_connections,
        },
    })
}

impl Target {
    /// Makes an upload that must be taken. Returns the milliseconds that it took.
    async fn good_upload(&self) -> Result<f64, Failure> {
        let number = self.good_uploads.fetch_add(1, Ordering::Relaxed);
        let upload = self.uploads.make("good", number)?;
        let started = Instant::now();
        let reply = self
            .good
            .lock()
            .await
            .post("/v1/readings", upload.into())
            .await?;
        if reply.status == 201 {
            Ok(started.elapsed().as_secs_f64() * 1e3)
        } else {
            Err(format!("a good board's upload was refused: {}", reply.status).into())
        }
    }

    async fn counters(&self) -> Result<Counters, Failure> {
        Counters::read(&mut *self.owner.lock().await).await
    }

    /// Returns a certificate's TLS settings.
    fn attacker(&self, name: &str) -> Result<Arc<ClientConfig>, Failure> {
        self.site.client(Some(&self.site.board(name)?))
    }

    /// Makes the attempts, all at once, and checks their traces.
    async fn attack<F>(
        self: &Arc<Self>,
        expectation: Expectation,
        attempt: impl Fn(Arc<Self>, u64) -> F,
    ) -> Result<Attack, Failure>
    where
        F: Future<Output = Result<String, Failure>> + Send + 'static,
    {
        let Expectation {
            name,
            attempts,
            counter,
            expected,
            logged,
            stored: allowed,
            ..
        } = expectation;
        let before = self.counters().await?;
        let lines = |words| self.server.logged(words).map(|lines| lines as u64);
        let lines_before = logged.map(lines).transpose()?;
        let mut attackers = JoinSet::new();
        for i in 0..attempts {
            attackers.spawn(attempt(Arc::clone(self), i));
        }
        let mut seen = BTreeMap::new();
        let (mut good_uploads, mut good_upload_ms) = (0, 0.0_f64);
        while good_uploads < GOOD_UPLOADS_LEAST
            || (good_uploads < GOOD_UPLOADS && !attackers.is_empty())
        {
            good_upload_ms = good_upload_ms.max(self.good_upload().await?);
            good_uploads += 1;
            let pause = tokio::time::sleep(GOOD_PAUSE);
            let mut pause = std::pin::pin!(pause);
            loop {
                tokio::select! {
                    () = &mut pause => break,
                    Some(ended) = attackers.join_next() => *seen.entry(ended??).or_default() += 1,
                }
            }
        }
        while let Some(ended) = attackers.join_next().await {
            *seen.entry(ended??).or_default() += 1;
        }
        // The client may learn of its end before the server has counted it.
        let mut after = self.counters().await?;
        for _ in 0..50 {
            if after.get(counter) - before.get(counter) >= expected as f64 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            after = self.counters().await?;
        }
        let rise = |name: &str| (after.get(name) - before.get(name)) as u64;
        let counted = rise(counter);
        // The good board's own uploads are subtracted. A missing one is no gain of an attack.
        let stored = rise("tfhe_sbc_uploads_total{stored=\"new\"}");
        let good_all_stored = stored >= good_uploads;
        let stored = stored.saturating_sub(good_uploads);
        let logged = match (logged, lines_before) {
            (Some(words), Some(before)) => Some(lines(words)? - before),
            _ => None,
        };
        let passed = counted == expected
            && expectation.allows(&seen)
            && good_all_stored
            && good_upload_ms <= GOOD_UPLOAD_MOST.as_secs_f64() * 1e3
            && stored == allowed
            && logged.is_none_or(|logged| logged >= expected);
        let attack = Attack {
            name,
            attempts,
            seen,
            counter,
            expected,
            counted,
            logged,
            stored,
            good_uploads,
            good_upload_ms,
            passed,
        };
        eprintln!(
            "{} {name}: {counted} of {expected} counted, {} logged, {:?}, {:.1} MB",
            if passed { "ok  " } else { "FAIL" },
            logged.map_or("none".to_owned(), |logged| logged.to_string()),
            attack.seen,
            self.server.figures().memory as f64 / 1e6,
        );
        Ok(attack)
    }
}

/// Connects, asks for the server's health, and returns the outcome in words.
async fn knock(target: &Target, config: &Arc<ClientConfig>) -> String {
    send(target, config, b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await
}

/// Connects, sends these bytes, and returns the first line of the answer or what came instead.
async fn send(target: &Target, config: &Arc<ClientConfig>, bytes: &[u8]) -> String {
    let exchange = async {
        let mut stream = tls_stream(target.server.address, config).await?;
        // A request that is refused early cannot be sent whole; the answer tells why.
        let _ = stream.write_all(bytes).await;
        let mut answer = vec![0; 64];
        let read = stream.read(&mut answer).await?;
        answer.truncate(read);
        Ok::<_, Failure>(first_line(&answer))
    };
    exchange.await.unwrap_or_else(|error| describe(&error))
}

fn first_line(answer: &[u8]) -> String {
    if answer.is_empty() {
        return "closed".to_owned();
    }
    let text = String::from_utf8_lossy(answer);
    text.lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches("HTTP/1.1 ")
        .to_owned()
}

/// Returns what ended a connection.
fn describe(error: &Failure) -> String {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&**error);
    while let Some(error) = cause {
        if let Some(rustls::Error::AlertReceived(alert)) = error.downcast_ref() {
            return format!("TLS alert {alert:?}");
        }
        cause = match error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
        {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    "closed".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_should_have_seen_does_not_pass() {
        let expectation = Expectation::refused("a", 2, "b", &[], &["TLS alert", "closed"]);
        let seen = |seen: &[&str]| seen.iter().map(|what| ((*what).to_owned(), 1)).collect();
        assert!(expectation.allows(&seen(&["TLS alert UnknownCA", "closed"])));
        assert!(!expectation.allows(&seen(&["TLS alert UnknownCA", "200 OK"])));
    }
}
