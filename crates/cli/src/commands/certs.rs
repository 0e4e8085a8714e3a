//! `certs`: the identities of server, device and key owner.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tfhe_sbc_service::certificates::{add_client, write_tls_directory};
use tfhe_sbc_service::role::Role;

use crate::failure::{Explain, Outcome};
use crate::output;

/// Makes a small certificate authority and, signed by it, certificates for a server, a
/// device (may upload) and a key owner (may also ask). With --add, one more client.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc certs --out tls --server-name localhost --server-name 127.0.0.1\n  tfhe-sbc certs --out tls --add board-2 --role device"
)]
pub(crate) struct Arguments {
    /// The directory for certificates and their keys
    #[arg(long, default_value = "tls")]
    out: PathBuf,
    /// A name or address that clients reach the server by (repeatable)
    #[arg(long, default_values_t = ["localhost".to_owned(), "127.0.0.1".to_owned()])]
    server_name: Vec<String>,
    /// Issue a certificate for one more client, from the authority in --out
    #[arg(long, value_name = "NAME")]
    add: Option<String>,
    /// What that client may do
    #[arg(long, value_enum, default_value = "device", requires = "add")]
    role: ClientRole,
}

#[derive(Clone, Copy, ValueEnum)]
enum ClientRole {
    Device,
    Owner,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let advice = "choose another directory with --out, or move the old files away";
    let written = match &arguments.add {
        Some(name) => {
            let role = match arguments.role {
                ClientRole::Device => Role::Device,
                ClientRole::Owner => Role::Owner,
            };
            let advice = "run `tfhe-sbc certs` first, and choose a new name";
            vec![add_client(&arguments.out, name, role).advise("no certificate", advice)?]
        }
        None => {
            let made =
                write_tls_directory(&arguments.out, &arguments.server_name, "device", "owner")
                    .advise("no certificates", advice)?;
            vec![made.ca, made.server, made.device, made.owner]
        }
    };
    for pair in written {
        output::note(format_args!(
            "{}  {}",
            pair.certificate.display(),
            pair.key.display()
        ));
    }
    Ok(())
}
