//! The program's arguments.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tfhe_sbc_upload::moments::Moment;

use crate::error::{GatewayError, Outcome, code};

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
    /// Refuse statements that need decrypted readings: only aggregates, which the server computes, are decrypted
    #[arg(long)]
    pub(crate) aggregates_only: bool,
    /// Let clients say `SET tfhe_sbc.clear_constants = on`: the server then sees the constants of their conditions, and its answers
    /// take fewer bootstraps
    #[arg(long)]
    pub(crate) allow_clear_constants: bool,
    /// The directory in which answers are kept, encrypted under a key that follows from the secret key
    #[arg(long, value_name = "DIRECTORY", default_value = "gateway-cache")]
    pub(crate) cache: PathBuf,
    /// Keep answers in memory only
    #[arg(long, conflicts_with = "cache")]
    pub(crate) no_cache: bool,
    /// A table of your own for joins: a CSV or Parquet file. May be repeated
    #[arg(long = "table", value_name = "NAME=FILE", value_parser = table)]
    pub(crate) tables: Vec<(String, PathBuf)>,
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
    /// The address to listen on. Other addresses than those of this machine need --password-file, --certificate and --private-key
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5433")]
    pub(crate) listen: SocketAddr,
    /// A file with the password that clients give (SCRAM-SHA-256)
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// The gateway's certificate in PEM, for TLS
    #[arg(long, value_name = "FILE", requires = "private_key")]
    pub(crate) certificate: Option<PathBuf>,
    /// The certificate's private key in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) private_key: Option<PathBuf>,
}

impl Listening {
    /// Refuses to be open to other machines without a password and TLS.
    pub(crate) fn check(&self) -> Outcome<()> {
        let is_local = match self.listen.ip() {
            IpAddr::V4(address) => address.is_loopback(),
            IpAddr::V6(address) => address.is_loopback(),
        };
        if is_local || (self.password_file.is_some() && self.certificate.is_some()) {
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
            "give --password-file, --certificate and --private-key, or listen on 127.0.0.1",
        ))
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
