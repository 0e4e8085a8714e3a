//! `provision`: one file with everything that a board needs.

use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_agent::AgentError;
use tfhe_sbc_agent::config::{Config, Provision};
use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_service::certificates::{TlsFiles, Validity, issue_client_for};
use tfhe_sbc_service::signers::signer_file;
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::role::Role;
use tfhe_sbc_transport::signature::{Algorithm, SigningKey};
use tfhe_sbc_upload::definition::{Under, UploadKind};

use super::device_key::{self, Issued};
use crate::failure::{Explain, Outcome, failure};
use crate::keys::new_files::{NewFiles, refuse_existing};
use crate::{keys, output};

/// Issues a board a key of its own and a certificate, and writes both into one file with the
/// settings of `tfhe-sbc agent`, which runs with it as it is. The switch key goes to --device-keys,
/// which the server reads. The certificate also goes to --tls, for `certs revoke`, as NAME.pem, or
/// as NAME-EPOCH.pem for a later key.
///
/// The file is the board's only secret: copy it there, then delete it here.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys && tfhe-sbc certs --out tls\n  printf '[[column]]\\nname = \"level\"\\nunit = \"m\"\\noffset = 0.0\\nscale = 0.5\\nbits = 4\\nsource = { kind = \"command\", run = [\"echo\", \"2.5\"] }\\n' > columns.toml\n  tfhe-sbc provision hill --server https://localhost:8443 --columns columns.toml --out hill.toml\n  tfhe-sbc agent --config hill.toml --test"
)]
pub(crate) struct Arguments {
    /// The board's name, up to 16 letters, digits, '-', '_' and '.'
    #[arg(value_parser = device_key::device_id)]
    name: DeviceId,
    /// The server: https://HOST:PORT, or mqtts://HOST:PORT of a broker that it listens to
    #[arg(long)]
    server: String,
    /// The file to write [default: NAME.toml]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The directory with secret.tsbc
    #[arg(long, value_name = "DIRECTORY", default_value = "keys")]
    keys: PathBuf,
    /// The directory with ca.pem and ca.key
    #[arg(long, value_name = "DIRECTORY", default_value = "tls")]
    tls: PathBuf,
    /// The directory that `serve --device-keys` names, for the switch key
    #[arg(long, value_name = "DIRECTORY", default_value = "device-keys")]
    device_keys: PathBuf,
    /// Column definitions in TOML, each with the source of its readings [default: an example
    /// to change on the board]
    #[arg(long, value_name = "FILE")]
    columns: Option<PathBuf>,
    /// The way in which the board signs its uploads, so that nobody between it and the server need be believed:
    /// ed25519 (72 bytes more an upload), ml-dsa-65 (3.3 kB more, safe against quantum computers) or none [default:
    /// ed25519 over a broker, else none]
    #[arg(long, value_name = "ALGORITHM", value_parser = signing)]
    sign: Option<Signing>,
    /// The number of the key among the board's keys; the highest is current
    #[arg(long, default_value_t = Epoch::FIRST, value_parser = device_key::epoch)]
    epoch: Epoch,
    /// The days for which the certificate is good [default: ten years]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    days: Option<u16>,
}

/// The choice of [`Arguments::sign`].
#[derive(Clone, Copy)]
enum Signing {
    None,
    With(Algorithm),
}

fn signing(text: &str) -> Result<Signing, String> {
    match text {
        "none" => Ok(Signing::None),
        name => name
            .parse()
            .map(Signing::With)
            .map_err(|error: String| format!("{error}; none is without")),
    }
}

impl Arguments {
    /// Returns a new key for signatures, if the board is to sign.
    fn signing_key(&self) -> Outcome<Option<SigningKey>> {
        let algorithm = match self.sign {
            Some(Signing::With(algorithm)) => algorithm,
            None if self.server.starts_with("mqtts://") => Algorithm::Ed25519,
            Some(Signing::None) | None => return Ok(None),
        };
        let key = SigningKey::generate(algorithm).explain("a key for signatures")?;
        Ok(Some(key))
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let name = arguments.name.to_string();
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    let switch = format!("{name}-{}.tsbc", arguments.epoch);
    let switch = arguments.device_keys.join(switch);

    let validity = arguments
        .days
        .map_or_else(Validity::default, Validity::days);
    let (certificate, mut files) = issue_client_for(&arguments.tls, &name, Role::Device, validity)
        .advise(
            "no certificate",
            "run `tfhe-sbc certs` first, name its directory with --tls, and choose a new name",
        )?;
    // Each key has a certificate of its own, to be revoked by the name of its file.
    let mut file_name = name.clone();
    if arguments.epoch != Epoch::FIRST {
        file_name = format!("{name}-{}", arguments.epoch);
        files = CertificateFiles::named(&arguments.tls, &file_name);
    }
    let signer = arguments
        .device_keys
        .join(signer_file(&name, arguments.epoch));
    output::check_file(&out)?;
    refuse_existing([out.as_path(), &switch, &signer, &files.certificate])?;
    let signing_key = arguments.signing_key()?;
    let signing_pem = signing_key.as_ref().map(SigningKey::to_pem);
    let signing_pem = signing_pem.transpose().explain("a key for signatures")?;
    let ca = TlsFiles::in_directory(&arguments.tls).ca.certificate;
    let ca = read_text(&ca)?;
    let columns = arguments.columns.as_deref().map(read_text).transpose()?;
    let settings = |device_key: &[u8]| {
        Provision {
            name: &name,
            url: &arguments.server,
            device_key,
            ca: &ca,
            certificate: &certificate.certificate_pem,
            key: &certificate.key_pem,
            signing_key: signing_pem.as_deref().map(String::as_str),
            columns: columns.as_deref(),
        }
        .settings()
    };
    // The address stands between quotes.
    let is_plain = |c: char| c.is_ascii_graphic() && !['"', '\\'].contains(&c);
    if !arguments.server.chars().all(is_plain) {
        return Err(failure(
            format_args!("{:?} is no address of a server", arguments.server),
            "write https://HOST:PORT or mqtts://HOST:PORT",
        ));
    }
    // Settings that the agent would refuse are refused here, before a key is made.
    let refused =
        |error: AgentError| failure(format_args!("the settings: {error}"), error.advice());
    let config = Config::parse(&settings(&[]), Path::new("."), []).map_err(refused)?;
    let secret = keys::read_secret_key(&arguments.keys.join("secret.tsbc"))?;
    let under = Under {
        parameters: secret.parameters(),
        kind: UploadKind::Symmetric,
    };
    config.columns_under(under).map_err(refused)?;
    let issue = DeviceIssue {
        device: arguments.name,
        epoch: arguments.epoch,
    };
    let Issued {
        device,
        switch: switch_key,
    } = device_key::issue_keys(&secret, issue)?;
    let file = settings(&device).as_bytes().to_vec();
    let mut new = NewFiles::default();
    // The files for the server and the authority come first: a board whose switch key or
    // certificate is nowhere else could be neither served nor revoked.
    new.add_public(
        &switch,
        switch_key,
        "switch key: stays where the server reads it",
    );
    if let Some(key) = &signing_key {
        let public = key.public_pem().explain("a key for signatures")?;
        new.add_public(
            &signer,
            public.into_bytes(),
            format_args!(
                "public key of its signatures ({}): stays there, too",
                key.algorithm()
            ),
        );
    }
    new.add_public(
        &files.certificate,
        certificate.certificate_pem.into_bytes(),
        format_args!("certificate: for `tfhe-sbc certs revoke {file_name}`"),
    );
    new.add_secret(
        &out,
        file,
        "key, certificate and settings: goes to the board alone, mode 0600",
    );
    new.write()?;
    new.say();
    Ok(())
}

fn read_text(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).advise(
        format_args!("cannot read {}", path.display()),
        "check the path, and that it is a text",
    )
}
