//! `serve`: the server process.

mod keeping;
mod retention;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tfhe_sbc_engine::nodes::Nodes;
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_query::cost::MAX_BOOTSTRAPS;
use tfhe_sbc_service::certificates::TlsFiles;
use tfhe_sbc_service::frames::FramesConfig;
use tfhe_sbc_service::frames::broker::{FrameBroker, FrameMessages};
use tfhe_sbc_service::ingest::IngestConfig;
use tfhe_sbc_service::key_backend::{KeyBackend, OpenKeys};
use tfhe_sbc_service::server::{self, Limits, ServerConfig};
use tfhe_sbc_service::store::Store;
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::mqtt::connection::Broker;
use tracing_subscriber::EnvFilter;

use crate::failure::{Explain, Outcome, failure};
use crate::{keys, output, report};

/// Serves over TLS 1.3 to clients with a certificate of --tls's authority: POST
/// /v1/readings, POST /v1/frames/BOARD, POST /v1/query/ID, /v1/jobs, /v1/standing, GET /v1/status, /healthz, /readyz, /metrics. Holds only the
/// server key. Prints one line, "listening on ADDRESS", when it is ready; logs go to
/// stderr (RUST_LOG sets how much). SIGTERM or ctrl-c lets it finish what is under way.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys && tfhe-sbc certs --out tls\n  tfhe-sbc serve --key keys/server.tsbc --tls tls --store store --listen 127.0.0.1:8443 --allow-shared-key"
)]
pub(crate) struct Arguments {
    /// The server key
    #[arg(long, default_value = "keys/server.tsbc")]
    key: PathBuf,
    /// Give each memory node (NUMA) of this machine a copy of the server key, which the threads on its processors read
    #[arg(long)]
    copy_key_to_nodes: bool,
    /// The directory with the switch keys of devices that have keys of their own; files
    /// that `device-key` adds to it count at once
    #[arg(long, value_name = "DIRECTORY")]
    device_keys: Option<PathBuf>,
    /// Take uploads under the key set's own device key from every device. Whoever has that key and any device's
    /// certificate can then upload, in its own name, what it likes
    #[arg(long)]
    allow_shared_key: bool,
    /// Take uploads that were made with a public key from every device. Whoever has any device's certificate can
    /// then upload values of its choice without a key
    #[arg(long)]
    allow_public_key: bool,
    /// The directory with ca.pem, server.pem, server.key and, once there are any, the revoked
    /// certificates of `certs revoke` in revoked.pem
    #[arg(long, default_value = "tls")]
    tls: PathBuf,
    /// The directory for uploads
    #[arg(long, default_value = "store")]
    store: PathBuf,
    /// The address to listen on; port 0 takes any free one
    #[arg(long, default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// Show the status page to browsers on this machine at http://ADDRESS, which needs no
    /// certificate; others open GET / with the owner's
    #[arg(long, value_name = "ADDRESS")]
    status: Option<SocketAddr>,
    #[command(flatten)]
    retention: retention::Arguments,
    #[command(flatten)]
    keeping: keeping::Arguments,
    /// The most bytes of one upload
    #[arg(long, default_value_t = Limits::default().upload_bytes)]
    max_upload_bytes: usize,
    /// The most bytes of the uploads that one query is about, all together
    #[arg(long, default_value_t = Limits::default().selected_bytes)]
    max_selected_bytes: usize,
    /// The most bytes of all uploads and questions that are being received or checked
    #[arg(long, default_value_t = Limits::default().buffered_bytes)]
    max_buffered_bytes: usize,
    /// The most connections at a time
    #[arg(long, default_value_t = Limits::default().connections)]
    max_connections: usize,
    /// Seconds for a client to prove itself
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().handshake_timeout.as_secs())]
    handshake_timeout: u64,
    /// Seconds for the head of a request to arrive, and between two requests
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().header_timeout.as_secs())]
    header_timeout: u64,
    /// Seconds for the next piece of a body to arrive
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().body_idle_timeout.as_secs())]
    body_idle_timeout: u64,
    /// Seconds for a body to arrive whole
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().body_timeout.as_secs())]
    body_timeout: u64,
    /// The most bootstraps that one query may take
    #[arg(long, default_value_t = MAX_BOOTSTRAPS)]
    max_bootstraps: u64,
    /// A broker that boards upload over: mqtts://HOST:PORT
    #[arg(long, value_name = "URL")]
    mqtt: Option<String>,
    /// The name of the certificate to show the broker: NAME.pem and NAME.key in --tls
    #[arg(long, value_name = "NAME", default_value = "ingest")]
    mqtt_identity: String,
    /// The beginning of the topics
    #[arg(long, value_name = "PREFIX", default_value = "tfhe-sbc")]
    mqtt_topic: String,
    /// Take from the broker of --mqtt only uploads that are signed, so that it need not be believed. Boards whose
    /// NAME-EPOCH.sign.pem is in --device-keys have to sign in any case
    #[arg(long, requires = "mqtt")]
    mqtt_signed: bool,
    /// Take frames of small boards from the broker of --mqtt, under PREFIX/NAME/frame
    #[arg(long, requires = "mqtt")]
    mqtt_frames: bool,
    /// Take frames of small boards over UDP at this address
    #[arg(long, value_name = "ADDRESS")]
    udp_frames: Option<SocketAddr>,
    #[command(flatten)]
    chirpstack: ChirpStack,
    /// Stop when stdin ends, as it does when the process that holds its other end does
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
}

/// A network server of LoRaWAN whose events carry frames.
#[derive(Args)]
struct ChirpStack {
    /// Take frames of small boards from the broker of a ChirpStack: mqtt://HOST:PORT, or mqtts://HOST:PORT
    #[arg(long = "chirpstack", value_name = "URL")]
    url: Option<String>,
    /// The topics of its events; name your application to leave out other devices
    #[arg(
        long = "chirpstack-topic",
        value_name = "TOPIC",
        default_value = "application/+/device/+/event/up"
    )]
    topic: String,
    /// The FPort that frames come from [default: all]
    #[arg(long = "chirpstack-port", value_name = "FPORT")]
    port: Option<u8>,
    /// A file with USER:PASSWORD for the broker
    #[arg(long = "chirpstack-login", value_name = "FILE")]
    login: Option<PathBuf>,
    /// The server's name at the broker, which no other client may have
    #[arg(
        long = "chirpstack-client",
        value_name = "NAME",
        default_value = "tfhe-sbc-frames"
    )]
    client: String,
}

impl ChirpStack {
    fn broker(&self, arguments: &Arguments, tls: &TlsFiles) -> Outcome<Option<FrameBroker>> {
        let Some(url) = &self.url else {
            return Ok(None);
        };
        let login = self.login.as_deref().map(read_login).transpose()?;
        let identity = match url.starts_with("mqtts://") {
            true => Some(arguments.broker_identity(tls)?),
            false => None,
        };
        Ok(Some(FrameBroker {
            broker: Broker::new(url, identity.as_ref(), login).explain("--chirpstack")?,
            client: self.client.clone(),
            messages: FrameMessages::ChirpStack {
                topic: self.topic.clone(),
                port: self.port,
            },
        }))
    }
}

/// Reads a user and a password.
fn read_login(path: &Path) -> Outcome<(String, String)> {
    let advice = "write USER:PASSWORD into a file that only the server may read";
    let text = std::fs::read_to_string(path)
        .advise(format_args!("cannot read {}", path.display()), advice)?;
    let login = text.trim_end_matches(['\r', '\n']).split_once(':');
    let (user, password) = login.ok_or_else(|| {
        failure(
            format_args!("{} has no USER:PASSWORD", path.display()),
            advice,
        )
    })?;
    Ok((user.to_owned(), password.to_owned()))
}

impl Arguments {
    fn broker_identity(&self, tls: &TlsFiles) -> Outcome<Identity> {
        let own = CertificateFiles::named(&self.tls, &self.mqtt_identity);
        Identity::load(&tls.ca.certificate, &own).advise(
            "no identity to show the broker",
            format_args!(
                "make one with `tfhe-sbc certs --out {} --add {} --role owner`",
                self.tls.display(),
                self.mqtt_identity
            ),
        )
    }

    /// The networks that frames come over, where `ingest` is the broker of uploads.
    fn frames(&self, tls: &TlsFiles, ingest: Option<&IngestConfig>) -> Outcome<FramesConfig> {
        let direct = ingest
            .filter(|_| self.mqtt_frames)
            .map(|ingest| FrameBroker {
                broker: ingest.broker.clone(),
                client: format!("{}-frames", ingest.client),
                messages: FrameMessages::Frames {
                    prefix: ingest.prefix.clone(),
                },
            });
        let chirpstack = self.chirpstack.broker(self, tls)?;
        Ok(FramesConfig {
            udp: self.udp_frames,
            brokers: direct.into_iter().chain(chirpstack).collect(),
        })
    }

    fn broker(&self, tls: &TlsFiles) -> Outcome<Option<IngestConfig>> {
        let Some(url) = &self.mqtt else {
            return Ok(None);
        };
        let identity = self.broker_identity(tls)?;
        if !url.starts_with("mqtts://") {
            return Err(failure(
                format_args!("{url:?} is no address of a broker with TLS"),
                "write mqtts://HOST:PORT",
            ));
        }
        Ok(Some(IngestConfig {
            broker: Broker::new(url, Some(&identity), None).explain("--mqtt")?,
            prefix: self.mqtt_topic.clone(),
            client: self.mqtt_identity.clone(),
        }))
    }
}

/// Gives each memory node a copy of the key, and says so. Where that fails, the server goes on with one.
fn copy_to_nodes(key: &mut ServerKey<u64>) {
    let nodes = Nodes::of_machine();
    match (key.copy_to_nodes(&nodes), nodes.count()) {
        (Ok(()), 1) => tracing::info!(
            "the key is not copied: the processors of this process are of one memory node"
        ),
        (Ok(()), count) => {
            let bytes = key.bootstrap_key_bytes() + key.key_switch_key_bytes();
            let bytes = report::bytes(bytes as u64);
            tracing::info!("each of {count} memory nodes has a copy of the key: {bytes} in all");
        }
        (Err(error), count) => tracing::warn!(
            "the key is not copied to {count} memory nodes ({error}): allow this process to bind threads to \
             processors, or leave out --copy-key-to-nodes"
        ),
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    if arguments.until_stdin_ends {
        std::thread::spawn(|| {
            // An acknowledged upload is on the disk, so there is nothing to finish.
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            std::process::exit(0);
        });
    }
    let tls = TlsFiles::in_directory(&arguments.tls);
    let identity = Identity::load(&tls.ca.certificate, &tls.server).advise(
        "no server identity",
        "make certificates with `tfhe-sbc certs`",
    )?;
    let mut key = keys::read_server_key(&arguments.key)?;
    if arguments.copy_key_to_nodes {
        copy_to_nodes(&mut key);
    }
    let devices = keys::device_keys(&key, arguments.device_keys.as_deref())?;
    let open = OpenKeys {
        shared_key: arguments.allow_shared_key,
        public_key: arguments.allow_public_key,
    };
    let backend = KeyBackend::new(key, devices)
        .with_max_bootstraps(arguments.max_bootstraps)
        .with_open_keys(open)
        .with_signatures_over_brokers(arguments.mqtt_signed);
    let store = Store::open(&arguments.store).advise(
        "no store",
        "choose a directory that you can write to with --store",
    )?;
    let broker = arguments.broker(&tls)?;
    let config = ServerConfig {
        identity,
        revoked: Some(tls.revoked.clone()),
        status: arguments.status,
        frames: arguments.frames(&tls, broker.as_ref())?,
        broker,
        retention: arguments.retention.bounds(),
        keeping: arguments.keeping.bounds(&arguments.store),
        standing: arguments.keeping.standing(&arguments.store),
        limits: Limits {
            upload_bytes: arguments.max_upload_bytes,
            selected_bytes: arguments.max_selected_bytes,
            buffered_bytes: arguments.max_buffered_bytes,
            connections: arguments.max_connections,
            handshake_timeout: Duration::from_secs(arguments.handshake_timeout),
            header_timeout: Duration::from_secs(arguments.header_timeout),
            body_idle_timeout: Duration::from_secs(arguments.body_idle_timeout),
            body_timeout: Duration::from_secs(arguments.body_timeout),
            ..Limits::default()
        },
    };
    server::run(
        &config,
        arguments.listen,
        Arc::new(store),
        Arc::new(backend),
        |address| output::print(format_args!("listening on {address}")),
    )
    .explain("the server")
}
