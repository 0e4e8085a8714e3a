//! The sender: it takes batches to the server, the oldest first, each until it is acknowledged or
//! refused for good.

mod backoff;
mod https;
mod mqtt;
mod short_form;
mod udp;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agent::board_file;
use crate::clock::Stop;
use crate::config::{Config, SendSettings, Transport};
use crate::error::AgentError;
use crate::metrics::Metrics;
use crate::spool::{Spool, Waiting};
use backoff::Backoff;
use https::Https;
use mqtt::Mqtt;
use short_form::ShortForm;
use tfhe_sbc_frames::{DeviceId, Form};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::signature::SigningKey;
use udp::Udp;

/// The time that the sender sleeps if nothing wakes it.
const IDLE: Duration = Duration::from_secs(60);

/// The reason why a batch is not at the server.
#[derive(Debug)]
pub(crate) enum SendFailure {
    /// The batch may be sent later.
    Later {
        words: String,
        /// The time after which the server said to come back.
        after: Option<Duration>,
    },
    /// The server does not know this board, or does not accept its certificate any more. The
    /// board's operator must settle that; until then every batch is kept.
    Unwelcome { words: String },
    /// The server will never accept these bytes.
    Refused { status: u16, words: String },
}

impl SendFailure {
    pub(crate) fn later(words: impl ToString) -> Self {
        Self::Later {
            words: words.to_string(),
            after: None,
        }
    }

    pub(crate) fn unwelcome(words: impl ToString) -> Self {
        Self::Unwelcome {
            words: words.to_string(),
        }
    }

    pub(crate) fn refused(status: u16, words: impl ToString) -> Self {
        Self::Refused {
            status,
            words: words.to_string(),
        }
    }
}

/// The answer of a server that has an upload on its disk.
#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    /// The id of the whole upload.
    id: BlobId,
    /// True if the server keeps the upload's definitions.
    definitions_kept: bool,
}

/// The connection to the server, and what it is known to have.
pub(crate) struct Link(Batches);

/// The form of batches, with their way to the server.
enum Batches {
    /// Batches are uploads.
    Uploads {
        carrier: Carrier,
        short_form: ShortForm,
        signer: Option<Signer>,
    },
    /// Batches are frames of a board.
    Frames { carrier: Carrier, board: DeviceId },
    /// Batches are frames, and there is no connection.
    Datagrams(Udp),
}

/// A connection by HTTPS or over a broker.
enum Carrier {
    Https(Https),
    Mqtt(Mqtt),
}

impl Carrier {
    fn new(config: &Config) -> Result<Self, AgentError> {
        let identity = config.identity()?;
        Ok(match config.server.is_mqtt() {
            true => Self::Mqtt(Mqtt::new(config, &identity)?),
            false => Self::Https(Https::new(&config.server, identity)),
        })
    }
}

/// The key with which a board signs, and the name that it signs for: the one in its certificate.
struct Signer {
    key: SigningKey,
    name: Arc<str>,
}

impl Signer {
    fn new(config: &Config) -> Result<Option<Self>, AgentError> {
        let Some(key) = config.signing_key()? else {
            return Ok(None);
        };
        let subject = config.identity()?.subject();
        let name = subject.map(|subject| subject.name).ok_or_else(|| {
            AgentError::setting(
                "tls.certificate",
                "it names nobody to sign uploads for",
                "give the certificate that `tfhe-sbc provision` or `tfhe-sbc certs` made",
            )
        })?;
        Ok(Some(Self { key, name }))
    }

    /// The number of bytes by which a signature makes an upload longer.
    fn overhead(&self) -> usize {
        self.key.algorithm().overhead()
    }

    fn sign(&self, upload: &[u8]) -> Result<Vec<u8>, SendFailure> {
        let signed = self.key.sign(&self.name, upload);
        signed.map_err(SendFailure::later)
    }
}

impl Link {
    pub(crate) fn new(config: &Config) -> Result<Self, AgentError> {
        if config.server.transport == Transport::Uploads {
            return Ok(Self(Batches::Uploads {
                carrier: Carrier::new(config)?,
                short_form: ShortForm::open(&config.spool_directory()),
                signer: Signer::new(config)?,
            }));
        }
        let file = board_file(config)?;
        let mac_key = file.key().mac_key();
        let (format, ..) = file.into_parts().map_err(|error| {
            AgentError::setting(
                "device.key",
                error,
                "make new pads with `tfhe-sbc pads make`",
            )
        })?;
        if config.server.is_udp() {
            let udp = Udp::new(&config.server, format, mac_key);
            return Ok(Self(Batches::Datagrams(udp)));
        }
        let carrier = Carrier::new(config)?;
        if let Carrier::Mqtt(mqtt) = &carrier
            && format.form() == Form::Bare
            && !mqtt.is_named(format.id())
        {
            return Err(AgentError::setting(
                "tls.certificate",
                format_args!(
                    "over a broker the frames of this key are found by the certificate's name, which is not {}",
                    format.id()
                ),
                "make the pads with `tfhe-sbc pads make --named`, or a certificate of the board's name",
            ));
        }
        let board = format.id();
        Ok(Self(Batches::Frames { carrier, board }))
    }

    /// Sends a batch. Returns the number of bytes that the server has accepted for it.
    fn send(&mut self, waiting: &Waiting) -> Result<usize, SendFailure> {
        let bytes = &waiting.bytes;
        match &mut self.0 {
            Batches::Uploads {
                carrier,
                short_form,
                signer,
            } => {
                let signature = signer.as_ref().map_or(0, Signer::overhead);
                let sent = short_form.send(waiting, |upload| {
                    let signed = signer.as_ref().map(|signer| signer.sign(upload));
                    let signed = signed.transpose()?;
                    let sent = signed.as_deref().unwrap_or(upload);
                    match carrier {
                        Carrier::Https(https) => https.send(sent),
                        Carrier::Mqtt(mqtt) => mqtt.send(sent),
                    }
                })?;
                return Ok(sent + signature);
            }
            Batches::Frames { carrier, board } => match carrier {
                Carrier::Https(https) => https.send_frame(*board, bytes)?,
                Carrier::Mqtt(mqtt) => mqtt.send_frame(bytes)?,
            },
            Batches::Datagrams(udp) => udp.send(bytes)?,
        }
        Ok(bytes.len())
    }
}

/// Sends what the spool has, until it is time to stop.
pub(crate) fn run(
    spool: &Spool,
    link: &mut Link,
    settings: &SendSettings,
    stop: &Stop,
    metrics: &Metrics,
) {
    let mut backoff = Backoff::new(settings.retry_first, settings.retry_most);
    while !stop.is_stopped() {
        let seen = stop.news();
        let Some(waiting) = spool.take() else {
            stop.wait_news(seen, IDLE);
            continue;
        };
        match send_one(spool, link, &waiting, metrics) {
            Ok(_) | Err(SendFailure::Refused { .. }) => {
                backoff.reset();
                stop.notify();
            }
            Err(SendFailure::Later { words, after }) => {
                // No answer silences the board for longer than its owner says.
                let after = after.unwrap_or_default().min(settings.retry_most);
                let pause = backoff.pause().max(after);
                tracing::warn!(
                    ?words,
                    seconds = pause.as_secs(),
                    "a batch was not sent; it is tried again"
                );
                stop.wait_until(Instant::now() + pause);
            }
            Err(SendFailure::Unwelcome { words }) => {
                let pause = backoff.longest();
                tracing::error!(
                    ?words,
                    seconds = pause.as_secs(),
                    "the server does not accept this board: batches are kept until it does. If its certificate was revoked or has expired, give it another"
                );
                stop.wait_until(Instant::now() + pause);
            }
        }
    }
}

/// The result of [`drain`].
#[derive(Debug, Default)]
pub(crate) struct Drained {
    pub(crate) sent: u64,
    pub(crate) bytes: u64,
    /// The server's words for each batch that it refused.
    pub(crate) refused: Vec<String>,
    /// The reason why it ended before the spool was empty.
    pub(crate) failed: Option<String>,
}

/// Sends what the spool has, trying each batch once, up to the first failure.
pub(crate) fn drain(spool: &Spool, link: &mut Link, metrics: &Metrics, drained: &mut Drained) {
    while drained.failed.is_none()
        && let Some(waiting) = spool.take()
    {
        match send_one(spool, link, &waiting, metrics) {
            Ok(bytes) => {
                drained.sent += 1;
                drained.bytes += bytes as u64;
            }
            Err(SendFailure::Refused { words, .. }) => drained.refused.push(words),
            Err(SendFailure::Later { words, .. } | SendFailure::Unwelcome { words }) => {
                drained.failed = Some(words);
            }
        }
    }
}

fn send_one(
    spool: &Spool,
    link: &mut Link,
    waiting: &Waiting,
    metrics: &Metrics,
) -> Result<usize, SendFailure> {
    let sent = link.send(waiting);
    match &sent {
        Ok(bytes) => {
            spool.acknowledge(waiting.sequence);
            metrics.sent(*bytes as u64);
            tracing::info!(id = %waiting.id, bytes, "a batch is at the server");
        }
        Err(SendFailure::Refused { words, .. }) => {
            tracing::error!(id = %waiting.id, ?words, "a batch was refused for good and set aside");
            spool.refuse(waiting.sequence, words);
        }
        Err(failure) => {
            metrics.failure(matches!(failure, SendFailure::Unwelcome { .. }));
            spool.release();
        }
    }
    sent
}

/// Calls [`run`] on a thread of its own, which ends with the process at the latest.
pub(crate) fn start(
    spool: Arc<Spool>,
    mut link: Link,
    settings: SendSettings,
    stop: Stop,
    metrics: Arc<Metrics>,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || run(&spool, &mut link, &settings, &stop, &metrics))
}
