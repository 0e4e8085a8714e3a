//! `readings get`.

use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_owner::LARGEST_UPLOAD;
use tfhe_sbc_transport::BlobId;

use super::decrypted::{self, Table};
use super::{Chosen, Found};
use crate::commands::send::Server;
use crate::failure::{Explain, Outcome, failure};
use crate::{output, progress, report};

/// Writes uploads into files ID.tsbc of a directory, as the boards sent them: for a copy elsewhere, or for `eval`. Files
/// that are there already are not fetched again.
///
/// With --decrypt, writes one table of the readings instead, decrypted on this machine: a row has the device, the time and the
/// value of each column, and only rows of the time that --since, --until or --last say are there.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc readings get --to https://localhost:8443 --device device --out uploads\n  ls uploads\n  tfhe-sbc readings get --to https://localhost:8443 --device device --since 1988-01-12T08:00 --decrypt keys/secret.tsbc --out readings.csv"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    server: Server,
    /// The directory for the files, which is made if it is not there; with --decrypt the file for the table [default with
    /// --decrypt: stdout]
    #[arg(long, value_name = "PATH", required_unless_present = "decrypt")]
    out: Option<PathBuf>,
    #[command(flatten)]
    table: Table,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let Arguments { chosen, out, .. } = arguments;
    match (&arguments.table.decrypt, out) {
        (Some(key), _) => {
            let decrypted = decrypted::Decrypted {
                key,
                chosen,
                table: &arguments.table,
                out: out.as_deref(),
            };
            decrypted.write(&arguments.server)
        }
        (None, Some(out)) => get(arguments, out),
        (None, None) => Err(failure(
            "there is nowhere to write to",
            "name a directory with --out",
        )),
    }
}

fn get(arguments: &Arguments, out: &Path) -> Outcome<()> {
    let client = arguments.server.connect("owner")?;
    let Found { ids, .. } = arguments.chosen.find(&client)?;
    if ids.is_empty() {
        return Err(failure(
            "no uploads are selected",
            "`tfhe-sbc readings list` shows what there is",
        ));
    }
    std::fs::create_dir_all(out).advise(
        format_args!("no directory {}", out.display()),
        "choose another one with --out",
    )?;
    let bar = progress::bar("getting uploads", ids.len() as u64);
    let mut bytes = 0;
    for id in &ids {
        let file = out.join(format!("{id}.tsbc"));
        let known = std::fs::read(&file).is_ok_and(|content| BlobId::of(&content) == *id);
        if !known {
            let upload = client.upload_of(id, LARGEST_UPLOAD).explain("no upload")?;
            bytes += upload.len() as u64;
            output::write_file(&file, &upload)?;
        }
        bar.inc(1);
    }
    drop(bar);
    output::note(format_args!(
        "{} in {}, {} of them new",
        report::counted(ids.len() as u64, "upload", "uploads"),
        out.display(),
        report::bytes(bytes)
    ));
    Ok(())
}
