//! The program's arguments.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use tfhe_sbc_upload::moments::{Moment, parse_duration};

use crate::error::{GatewayError, Outcome, code};
use crate::watch::Target;

/// SQL over encrypted readings, for the key owner: PostgreSQL's protocol in, questions to a server that computes on ciphertexts,
/// decrypted rows out.
#[derive(Parser)]
#[command(name = "tfhe-sbc-gateway", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Serve clients such as psql, Grafana and pandas
    Serve(Box<Serve>),
    /// Start a server with sample devices and a week of weather readings, and serve SQL in front of it
    Demo(Box<Demo>),
    /// Ask a statement again and again, and send the decrypted answers where people look
    Watch(Box<Watch>),
}

/// Serves SQL. Prints `listening on ADDRESS` when it is ready.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc-gateway serve --to https://localhost:8443 --tls tls --key keys/secret.tsbc\n  psql -h 127.0.0.1 -p 5433 -c \"SELECT device, avg(temperature_c) FROM readings GROUP BY device\""
)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) keys: Keys,
    #[command(flatten)]
    pub(crate) serving: Serving,
}

/// Whom SQL is served to, and how far.
#[derive(Args)]
pub(crate) struct Serving {
    #[command(flatten)]
    pub(crate) listening: Listening,
    /// Let clients say `SET tfhe_sbc.clear_constants = on`: the server then sees the constants of their conditions, and its answers
    /// take fewer bootstraps
    #[arg(long)]
    pub(crate) allow_clear_constants: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
    /// End when the standard input ends, for programs that start this one
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}

/// Options about statements: which are refused, which tables they find, and where their answers are kept.
#[derive(Args)]
pub(crate) struct Asking {
    /// Refuse statements that need decrypted readings: only aggregates, which the server computes, are decrypted
    #[arg(long)]
    pub(crate) aggregates_only: bool,
    /// The directory in which answers are kept, encrypted under a key that follows from the secret key
    #[arg(long, value_name = "DIRECTORY", default_value = "gateway-cache")]
    pub(crate) cache: PathBuf,
    /// Keep answers in memory only
    #[arg(long, conflicts_with = "cache")]
    pub(crate) no_cache: bool,
    /// A table of your own for joins: a CSV or Parquet file. May be repeated
    #[arg(long = "table", value_name = "NAME=FILE", value_parser = table)]
    pub(crate) tables: Vec<(String, PathBuf)>,
}

/// Asks a statement again and again, and sends the decrypted answers where people look: to MQTT, Prometheus, InfluxDB, files or a
/// webhook. Columns of text are labels, columns of numbers are values.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tfhe-sbc-gateway watch \"SELECT device, avg(temperature_c) FROM readings WHERE time > now() - interval '1 hour' GROUP BY device\" --every 1h --to mqtt://localhost/greenhouse --home-assistant\n  tfhe-sbc-gateway watch \"SELECT device, max(humidity_pct) FROM readings WHERE time > now() - interval '1 day' GROUP BY device\" --every 1d --when \"max > 90\" --to https://example.org/alerts\n  tfhe-sbc-gateway watch \"SELECT avg(temperature_c) FROM readings\" --once"
)]
pub(crate) struct Watch {
    /// The statement, a SELECT
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    /// The time between two answers
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = period)]
    pub(crate) every: Duration,
    /// Ask once, for programs such as cron; the program fails if an answer cannot be delivered
    #[arg(long)]
    pub(crate) once: bool,
    /// A target of the answers: mqtt://HOST/TOPIC, mqtts://HOST/TOPIC, prometheus://127.0.0.1:PORT, influx+http://HOST:8086/DATABASE,
    /// influx+https://…, FILE.csv, FILE.parquet, a webhook's https://… or http://…, or - for lines of JSON. May be repeated
    #[arg(long = "to", value_name = "TARGET", default_value = "-")]
    pub(crate) targets: Vec<Target>,
    /// Send only the rows that meet a condition on the answer's columns, such as 'avg > 30'
    #[arg(long, value_name = "CONDITION")]
    pub(crate) when: Option<String>,
    /// The name of what is watched: of the measurement in InfluxDB, of the metrics in Prometheus, of the device in Home Assistant
    #[arg(long, default_value = "readings", value_parser = name)]
    pub(crate) name: String,
    /// Announce the values to Home Assistant over MQTT
    #[arg(long)]
    pub(crate) home_assistant: bool,
    /// A file with USER:PASSWORD for the MQTT broker
    #[arg(long, value_name = "FILE")]
    pub(crate) mqtt_login: Option<PathBuf>,
    /// The certificate of the authority that the broker's certificate is of; without it, the broker is shown the certificate of
    /// --identity, and has one of the same authority
    #[arg(long, value_name = "FILE")]
    pub(crate) mqtt_ca: Option<PathBuf>,
    /// A file with USER:PASSWORD or a token for InfluxDB
    #[arg(long, value_name = "FILE")]
    pub(crate) influx_login: Option<PathBuf>,
    /// A file with the value of the webhook's header `Authorization`, such as `Bearer …`
    #[arg(long, value_name = "FILE")]
    pub(crate) webhook_login: Option<PathBuf>,
    /// The most bootstraps of an answer; 0 leaves the limit to the server
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) max_bootstraps: u64,
    /// The server that has the readings
    #[arg(long, value_name = "URL", default_value = "https://localhost:8443")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) shown: Shown,
    #[command(flatten)]
    pub(crate) keys: Keys,
    #[command(flatten)]
    pub(crate) asking: Asking,
    /// End when the standard input ends, for programs that start this one
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}

/// Starts a server of `tfhe-sbc serve` on a free port of this machine, with devices that have sent weather readings, and serves SQL
/// in front of it. What it makes stays in a directory and is used again.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc-gateway demo\n  psql -h 127.0.0.1 -p 5433 -c \"SELECT device, date_trunc('hour', time) AS hour, avg(temperature_c) FROM readings GROUP BY 1, 2 ORDER BY 1, 2\""
)]
pub(crate) struct Demo {
    /// The directory for keys, certificates and the server's store
    #[arg(long, value_name = "DIRECTORY", default_value = "gateway-demo")]
    pub(crate) directory: PathBuf,
    /// The number of devices
    #[arg(long, value_name = "NUMBER", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) devices: u32,
    /// The number of days
    #[arg(long, value_name = "NUMBER", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=360))]
    pub(crate) days: u32,
    /// The time of the first reading [default: so that the last day is yesterday]
    #[arg(long, value_name = "TIME")]
    pub(crate) begin: Option<Moment>,
    /// The program tfhe-sbc [default: the one beside this program, or in the path]
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) serving: Serving,
}

/// The server and the owner's certificate, as with `tfhe-sbc query`.
#[derive(Args)]
pub(crate) struct Server {
    /// The server that has the readings
    #[arg(long, default_value = "https://localhost:8443")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// The certificate that the server is shown.
#[derive(Args)]
pub(crate) struct Shown {
    /// The directory with ca.pem and the owner's certificate and key
    #[arg(long, default_value = "tls")]
    pub(crate) tls: PathBuf,
    /// The name of the certificate to show: NAME.pem and NAME.key in --tls
    #[arg(long, value_name = "NAME", default_value = "owner")]
    pub(crate) identity: String,
}

/// The key owner's keys.
#[derive(Args)]
pub(crate) struct Keys {
    /// The secret key
    #[arg(long, value_name = "FILE", default_value = "keys/secret.tsbc")]
    pub(crate) key: PathBuf,
    /// A device key or public key of the key set, to encrypt the constants of conditions with
    #[arg(long, value_name = "FILE", default_value = "keys/device.tsbc")]
    pub(crate) device_key: PathBuf,
    /// The directory of the switch keys of boards with keys of their own [default: device-keys, if there is such a directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) device_keys: Option<PathBuf>,
}

/// Where clients connect, and how they prove who they are.
#[derive(Args)]
pub(crate) struct Listening {
    /// The address to listen on. Other addresses than those of this machine need --certificate and --private-key, and --password-file or
    /// --client-ca
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5433")]
    pub(crate) listen: SocketAddr,
    /// A file with the password that clients give (SCRAM-SHA-256)
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// The gateway's certificate in PEM. Clients then have to connect with TLS
    #[arg(long, value_name = "FILE", requires = "private_key")]
    pub(crate) certificate: Option<PathBuf>,
    /// The certificate's private key in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) private_key: Option<PathBuf>,
    /// The authority in PEM whose certificates clients show, such as tls/ca.pem: those of owners are let in, those of devices are not
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) client_ca: Option<PathBuf>,
    /// The address of the gateway's page, for a browser on this machine. It asks for the password of --password-file, with any user
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5480")]
    pub(crate) page: SocketAddr,
    /// Have no page
    #[arg(long, conflicts_with = "page")]
    pub(crate) no_page: bool,
}

impl Listening {
    /// Refuses to be open to other machines without a password and TLS.
    pub(crate) fn check(&self) -> Outcome<()> {
        if !self.no_page {
            local(self.page, "the page")?;
        }
        let is_guarded = self.password_file.is_some() || self.client_ca.is_some();
        if self.listen.ip().is_loopback() || (is_guarded && self.certificate.is_some()) {
            return Ok(());
        }
        let error = GatewayError::new(
            code::CONFIGURATION,
            format_args!(
                "{} can be reached from other machines, and whoever connects reads decrypted answers",
                self.listen
            ),
        );
        Err(error.advise(
            "give --password-file or --client-ca with --certificate and --private-key, or listen on 127.0.0.1",
        ))
    }
}

/// Refuses an address that other machines can reach, of `what` that shows decrypted answers.
pub(crate) fn local(address: SocketAddr, what: &str) -> Outcome<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    let message =
        format_args!("{what} would show decrypted answers to other machines at {address}");
    let error = GatewayError::new(code::CONFIGURATION, message);
    Err(error.advise("give an address of this machine, such as 127.0.0.1:0"))
}

/// Reads the time between two answers: a second at least.
fn period(text: &str) -> Result<Duration, String> {
    let period = parse_duration(text).filter(|period| *period >= Duration::from_secs(1));
    period.ok_or_else(|| "write a number and a unit, like 30s, 5m, 1h or 1d".to_owned())
}

/// Reads a name that can be part of a metric's name and of a topic.
fn name(text: &str) -> Result<String, String> {
    let is_name = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match is_name {
        true => Ok(text.to_owned()),
        false => Err("a name is of letters, digits and underscores".to_owned()),
    }
}

fn table(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text
        .split_once('=')
        .ok_or_else(|| "write NAME=FILE".to_owned())?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    match is_name {
        true => Ok((name.to_owned(), PathBuf::from(file))),
        false => Err("a table's name is of lower-case letters, digits and underscores".to_owned()),
    }
}
