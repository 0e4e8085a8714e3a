//! `send`: an upload to a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::signature::SigningKey;
use zeroize::Zeroizing;

use crate::failure::{Explain, Outcome, failure};
use crate::{output, progress, report};

/// Sends encrypted readings to a server and prints the id that it stored them under. When this
/// ends, they are on the server's disk; sending them again does no harm.
#[derive(Args)]
#[command(
    after_help = "Example, with a server of `tfhe-sbc serve --help` running:\n  tfhe-sbc sample | tfhe-sbc encrypt --key keys/device.tsbc | tfhe-sbc send --to https://localhost:8443 --tls tls"
)]
pub(crate) struct Arguments {
    /// The upload that `encrypt` made, or - for stdin
    #[arg(default_value = "-")]
    readings: PathBuf,
    #[command(flatten)]
    server: Server,
    /// Sign for the board that the certificate names with this private key: PEM of Ed25519 or ML-DSA-65. The
    /// server needs the public half as NAME-EPOCH.sign.pem in its --device-keys
    #[arg(long, value_name = "FILE")]
    sign: Option<PathBuf>,
    /// Print the server's receipt as JSON
    #[arg(long)]
    json: bool,
}

/// The server's address and the client's certificate.
#[derive(Args)]
pub(crate) struct Server {
    /// The server
    #[arg(long, default_value = "https://localhost:8443")]
    to: String,
    /// The directory with ca.pem and the client's certificate and key
    #[arg(long, default_value = "tls")]
    tls: PathBuf,
    /// The name of the certificate to show: NAME.pem and NAME.key in --tls [default: device for
    /// send, owner for query]
    #[arg(long, value_name = "NAME")]
    identity: Option<String>,
}

impl Server {
    /// Connects as `identity` unless another is named.
    pub(crate) fn connect(&self, identity: &str) -> Outcome<Client> {
        let identity = self.identity(identity)?;
        Client::connect(&self.to, &identity).explain(format_args!("no connection to {}", self.to))
    }

    /// Returns the name in the certificate of `identity`, unless another is named.
    fn name(&self, identity: &str) -> Outcome<Arc<str>> {
        let subject = self.identity(identity)?.subject();
        subject.map(|subject| subject.name).ok_or_else(|| {
            failure(
                "the certificate names nobody to sign for",
                "make one with `tfhe-sbc certs --add NAME`",
            )
        })
    }

    fn identity(&self, identity: &str) -> Outcome<Identity> {
        let name = self.identity.as_deref().unwrap_or(identity);
        Identity::in_directory(&self.tls, name).advise(
            "no identity to show the server",
            "make certificates with `tfhe-sbc certs`",
        )
    }
}

#[derive(Serialize)]
struct Receipt<'a> {
    id: String,
    bytes: u64,
    created: bool,
    rows: u64,
    columns: &'a [String],
}

/// Returns readings with the signature of the board `name`.
fn sign(key: &Path, name: Arc<str>, readings: &[u8]) -> Outcome<Vec<u8>> {
    let advice = "make a key with `openssl genpkey -algorithm ed25519 -out FILE`, and its public half for the server with `openssl pkey -pubout`";
    let pem = std::fs::read(key).map(Zeroizing::new);
    let pem = pem.advise(format_args!("cannot read {}", key.display()), advice)?;
    let key = SigningKey::from_pem(&pem).advise(key.display(), advice)?;
    key.sign(&name, readings).explain("the signature")
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let mut readings = output::read_input(&arguments.readings)?;
    if let Some(key) = &arguments.sign {
        readings = sign(key, arguments.server.name("device")?, &readings)?;
    }
    let receipt = {
        let _spinner = progress::spinner("sending");
        arguments
            .server
            .connect("device")?
            .upload(&readings)
            .explain("the readings were not stored")?
    };
    if arguments.json {
        return output::print_json(&Receipt {
            id: receipt.id.to_string(),
            bytes: receipt.bytes,
            created: receipt.created,
            rows: receipt.summary.rows,
            columns: &receipt.summary.columns,
        });
    }
    output::note(format_args!(
        "{} {}",
        report::bytes(receipt.bytes),
        if receipt.created {
            "stored"
        } else {
            "were stored already"
        }
    ));
    output::emit(receipt.id)
}
