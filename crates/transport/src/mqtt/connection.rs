//! One connection to a broker.

use std::io;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::packet::{Incoming, Outgoing, PacketError};
use crate::identity::Identity;
use crate::scheme::Scheme;
use crate::tls::{self, TlsError};

/// The time for a connection to be made, and for each step of beginning a session.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time for the network to take a packet.
const SEND_PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes of a packet that is read whole. A larger message is read without its payload.
const MAX_PACKET: usize = 2 << 20;

/// The reason why a broker cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MqttError {
    /// The broker's address cannot be used.
    #[error("{url:?} is no address of a broker; write mqtts://HOST:PORT")]
    Url {
        /// The address given.
        url: String,
    },
    /// Nobody answers, or the connection broke.
    #[error("the connection to the broker at {address} failed: {source}")]
    Io {
        /// Host and port.
        address: String,
        /// The reason.
        source: io::Error,
    },
    /// The broker took too long.
    #[error("the broker at {address} did not answer in time")]
    Late {
        /// Host and port.
        address: String,
    },
    /// The broker does not accept this client.
    #[error("the broker at {address} refused the connection: {reason}")]
    Refused {
        /// Host and port.
        address: String,
        /// The reason in words.
        reason: &'static str,
    },
    /// The broker may accept this client later.
    #[error("the broker at {address} is not available")]
    Unavailable {
        /// Host and port.
        address: String,
    },
    /// The broker does not let this client read these topics.
    #[error("the broker at {address} refused the subscription; check its access rules")]
    Subscription {
        /// Host and port.
        address: String,
    },
    /// The broker does not speak MQTT.
    #[error("the broker at {address} cannot be understood: {source}")]
    Packet {
        /// Host and port.
        address: String,
        /// The error of the packet.
        source: PacketError,
    },
    /// TLS could not be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A broker's address, and what a client shows to begin a session there.
#[derive(Clone)]
pub struct Broker {
    host: String,
    port: u16,
    /// `None` without TLS.
    identity: Option<Identity>,
    login: Option<(String, String)>,
}

impl Broker {
    /// Returns the broker at `mqtts://HOST[:PORT]`, or without TLS at `mqtt://HOST[:PORT]`.
    ///
    /// # Errors
    /// If the address cannot be used, or needs a certificate and there is none.
    pub fn new(
        url: &str,
        identity: Option<&Identity>,
        login: Option<(String, String)>,
    ) -> Result<Self, MqttError> {
        let wrong = || MqttError::Url {
            url: url.to_owned(),
        };
        let (scheme, address) = Scheme::split(url).ok_or_else(wrong)?;
        let identity = match scheme {
            Scheme::Mqtts => Some(identity.ok_or_else(wrong)?.clone()),
            Scheme::Mqtt => None,
            Scheme::Https | Scheme::Udp => return Err(wrong()),
        };
        let (host, port) = match address.rsplit_once(':') {
            Some((host, digits)) if !digits.contains(']') => {
                (host, digits.parse().map_err(|_| wrong())?)
            }
            _ => (address, scheme.default_port()),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(['/', ' ', '?']) {
            return Err(wrong());
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            identity,
            login,
        })
    }

    fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// A session with a broker.
pub struct Connection {
    stream: Box<dyn Stream>,
    address: String,
    received: Vec<u8>,
    /// The number of bytes at the beginning of `received` that were returned already.
    given: usize,
    /// The number of bytes to skip before the next packet.
    skipped: usize,
    next_id: u16,
}

impl Connection {
    /// Begins a session under the name `client`, and subscribes to `topics`.
    ///
    /// # Errors
    /// If the broker cannot be reached, or refuses.
    pub async fn open(
        broker: &Broker,
        client: &str,
        keep_alive: Duration,
        topics: &[&str],
    ) -> Result<Self, MqttError> {
        let mut connection = Self::begin(broker, client, keep_alive, false).await?;
        if !topics.is_empty() {
            let id = connection.id();
            connection.send(Outgoing::Subscribe { topics, id }).await?;
            let answer = timeout(PATIENCE, connection.next()).await;
            let answer = answer.map_err(|_| MqttError::Late {
                address: broker.address(),
            })?;
            match answer? {
                Incoming::SubAck { granted: true } => {}
                _ => return Err(connection.no_subscription()),
            }
        }
        Ok(connection)
    }

    /// Goes on with the session under the name `client`, for which the broker has kept messages, or begins it, and
    /// asks for `topics`. The answer comes among the messages: `Incoming::SubAck`.
    ///
    /// # Errors
    /// If the broker cannot be reached, or refuses.
    pub async fn resume(
        broker: &Broker,
        client: &str,
        keep_alive: Duration,
        topics: &[&str],
    ) -> Result<Self, MqttError> {
        let mut connection = Self::begin(broker, client, keep_alive, true).await?;
        let id = connection.id();
        connection.send(Outgoing::Subscribe { topics, id }).await?;
        Ok(connection)
    }

    /// Begins or resumes a session.
    async fn begin(
        broker: &Broker,
        client: &str,
        keep_alive: Duration,
        resume: bool,
    ) -> Result<Self, MqttError> {
        let address = broker.address();
        let late = |_| MqttError::Late {
            address: address.clone(),
        };
        let stream = timeout(PATIENCE, connect(broker)).await.map_err(late)??;
        let mut connection = Self {
            stream,
            address: address.clone(),
            received: Vec::new(),
            given: 0,
            skipped: 0,
            next_id: 0,
        };
        let login = broker.login.as_ref();
        connection
            .send(Outgoing::Connect {
                resume,
                client,
                login: login.map(|(user, password)| (user.as_str(), password.as_str())),
                keep_alive: u16::try_from(keep_alive.as_secs()).unwrap_or(u16::MAX),
            })
            .await?;
        let refused = |reason| MqttError::Refused {
            address: address.clone(),
            reason,
        };
        match timeout(PATIENCE, connection.next()).await.map_err(late)?? {
            Incoming::ConnAck { code: 0 } => {}
            Incoming::ConnAck { code: 3 } => return Err(MqttError::Unavailable { address }),
            Incoming::ConnAck { code } => {
                return Err(refused(match code {
                    1 => "it does not speak MQTT 3.1.1",
                    2 => "it does not take this client's name",
                    4 => "user or password are wrong",
                    5 => "this client is not allowed",
                    _ => "it gives no reason",
                }));
            }
            _ => return Err(refused("it does not begin with an answer")),
        }
        Ok(connection)
    }

    /// Returns the next packet number, which is not 0.
    pub fn id(&mut self) -> u16 {
        self.next_id = match self.next_id {
            u16::MAX => 1,
            id => id + 1,
        };
        self.next_id
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// If the connection is broken, or takes nothing for a minute.
    pub async fn send(&mut self, packet: Outgoing<'_>) -> Result<(), MqttError> {
        let bytes = packet.to_bytes();
        let sent = async {
            self.stream.write_all(&bytes).await?;
            self.stream.flush().await
        };
        let late = |_| MqttError::Late {
            address: self.address.clone(),
        };
        let sent = timeout(SEND_PATIENCE, sent).await.map_err(late)?;
        sent.map_err(io_error(&self.address))
    }

    /// Returns the error for a broker that sends nothing.
    pub fn silent(&self) -> MqttError {
        MqttError::Late {
            address: self.address.clone(),
        }
    }

    /// Returns the error for a broker that refuses the subscription.
    pub fn no_subscription(&self) -> MqttError {
        MqttError::Subscription {
            address: self.address.clone(),
        }
    }

    /// Returns the next packet. A message of more than 2 MiB comes without its payload. The call
    /// may be cancelled and then made again.
    ///
    /// # Errors
    /// If the connection is broken, or the broker sends bytes that are no packet.
    pub async fn next(&mut self) -> Result<Incoming<'_>, MqttError> {
        self.received.drain(..self.given);
        self.given = 0;
        let packet_error = |source| MqttError::Packet {
            address: self.address.clone(),
            source,
        };
        loop {
            let skipped = self.skipped.min(self.received.len());
            self.received.drain(..skipped);
            self.skipped -= skipped;
            // The packet is parsed here and again below, because a borrow cannot leave a loop that
            // goes on.
            let parsed = match self.skipped {
                0 => parse(&self.received).map_err(packet_error)?,
                _ => None,
            };
            if let Some((_, len)) = parsed {
                self.given = len.min(self.received.len());
                self.skipped = len - self.given;
                break;
            }
            let read = self.stream.read_buf(&mut self.received).await;
            if read.map_err(io_error(&self.address))? == 0 {
                return Err(io_error(&self.address)(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        match parse(&self.received) {
            Ok(Some((packet, _))) => Ok(packet),
            Ok(None) => Err(packet_error(PacketError::Malformed)),
            Err(source) => Err(packet_error(source)),
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Option<(Incoming<'_>, usize)>, PacketError> {
    match Incoming::parse(bytes, MAX_PACKET) {
        Err(PacketError::TooLarge(_)) => Incoming::parse_oversized(bytes),
        parsed => parsed,
    }
}

fn io_error(address: &str) -> impl FnOnce(io::Error) -> MqttError {
    let address = address.to_owned();
    move |source| match refusal(&source) {
        Some(reason) => MqttError::Refused { address, reason },
        None => MqttError::Io { address, source },
    }
}

/// Returns why the broker does not accept this client's certificate. With TLS 1.3 the broker says
/// so after the handshake.
fn refusal(error: &io::Error) -> Option<&'static str> {
    use rustls::AlertDescription as Alert;
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let rustls::Error::AlertReceived(alert) = error else {
        return None;
    };
    match *alert {
        Alert::CertificateRequired => Some("it asks for a certificate"),
        Alert::CertificateRevoked => Some("this certificate was revoked"),
        Alert::CertificateExpired => Some("this certificate has expired"),
        Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::CertificateUnknown
        | Alert::UnknownCA
        | Alert::AccessDenied => Some("it does not take this certificate"),
        _ => None,
    }
}

async fn connect(broker: &Broker) -> Result<Box<dyn Stream>, MqttError> {
    let address = broker.address();
    let stream = TcpStream::connect((broker.host.as_str(), broker.port))
        .await
        .map_err(io_error(&address))?;
    let _ = stream.set_nodelay(true);
    let Some(identity) = &broker.identity else {
        return Ok(Box::new(stream));
    };
    let name = ServerName::try_from(broker.host.clone()).map_err(|_| MqttError::Url {
        url: address.clone(),
    })?;
    let connector = TlsConnector::from(tls::broker_client_config(identity)?);
    let stream = connector.connect(name, stream).await;
    Ok(Box::new(stream.map_err(io_error(&address))?))
}
