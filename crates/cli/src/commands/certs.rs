//! `certs`: the identities of server, device and key owner.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use tfhe_sbc_service::certificates::{
    TlsFiles, Validity, add_client_for, revoke, write_tls_directory,
};
use tfhe_sbc_transport::role::Role;

use crate::failure::{Explain, Outcome};
use crate::output;

/// Makes a small certificate authority and, signed by it, certificates for a server, a device (may
/// upload) and a key owner (may also ask). With --add, issues one more client a certificate. `certs
/// revoke` revokes a certificate.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  tfhe-sbc certs --out tls --server-name localhost --server-name 127.0.0.1\n  tfhe-sbc certs --out tls --add board-2 --role device --days 365\n  tfhe-sbc certs revoke board-2 --tls tls"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<CertsCommand>,
    /// The directory for certificates and their keys
    #[arg(long, default_value = "tls")]
    out: PathBuf,
    /// A name or address that clients reach the server by (repeatable)
    #[arg(long, default_values_t = ["localhost".to_owned(), "127.0.0.1".to_owned()])]
    server_name: Vec<String>,
    /// Issue a certificate for one more client, from the authority in --out
    #[arg(long, value_name = "NAME")]
    add: Option<String>,
    /// The role of that client
    #[arg(long, value_enum, default_value = "device", requires = "add")]
    role: ClientRole,
    /// The days for which that client's certificate is good [default: ten years]
    #[arg(long, requires = "add", value_parser = clap::value_parser!(u16).range(1..))]
    days: Option<u16>,
}

#[derive(Subcommand)]
enum CertsCommand {
    /// Revoke a certificate: servers refuse it from then on
    Revoke(RevokeArguments),
}

/// Puts the certificate NAME.pem on the authority's list of revoked ones, revoked.pem (an X.509
/// CRL). A server that was started with --tls of the same directory reads the list within a second
/// and closes the connections that are open under the certificate; any other server needs a copy of
/// the file.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc certs --out tls && tfhe-sbc certs --out tls --add board-2\n  tfhe-sbc certs revoke board-2 --tls tls"
)]
struct RevokeArguments {
    /// The certificate's name: NAME.pem in --tls
    name: String,
    /// The directory with ca.pem, ca.key and the certificates
    #[arg(long, default_value = "tls")]
    tls: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum ClientRole {
    Device,
    Owner,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    if let Some(CertsCommand::Revoke(arguments)) = &arguments.command {
        return run_revoke(arguments);
    }
    let advice = "choose another directory with --out, or move the old files away";
    let written = match &arguments.add {
        Some(name) => {
            let role = match arguments.role {
                ClientRole::Device => Role::Device,
                ClientRole::Owner => Role::Owner,
            };
            let advice = "run `tfhe-sbc certs` first, and choose a new name";
            let validity = arguments
                .days
                .map_or_else(Validity::default, Validity::days);
            vec![
                add_client_for(&arguments.out, name, role, validity)
                    .advise("no certificate", advice)?,
            ]
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

fn run_revoke(arguments: &RevokeArguments) -> Outcome<()> {
    let revoked = revoke(&arguments.tls, &arguments.name).advise(
        "nothing was revoked",
        "name a certificate of the directory in --tls, which must be that of its authority",
    )?;
    output::note(format_args!(
        "{} {}; {} lists {}",
        arguments.name,
        if revoked.newly {
            "is revoked"
        } else {
            "was revoked already"
        },
        TlsFiles::in_directory(&arguments.tls).revoked.display(),
        revoked.listed,
    ));
    Ok(())
}
