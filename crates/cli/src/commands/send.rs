//! `send`: an upload to a server.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tfhe_sbc_service::certificates::TlsFiles;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::identity::Identity;

use crate::failure::{Explain, Outcome};
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
        let name = self.identity.as_deref().unwrap_or(identity);
        let own = CertificateFiles::named(&self.tls, name);
        let authority = TlsFiles::in_directory(&self.tls).ca.certificate;
        let identity = Identity::load(&authority, &own).advise(
            "no identity to show the server",
            "make certificates with `tfhe-sbc certs`",
        )?;
        Client::connect(&self.to, &identity).explain(format_args!("no connection to {}", self.to))
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

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let readings = output::read_input(&arguments.readings)?;
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
