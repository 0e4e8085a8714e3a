//! `readings get`.

use std::path::PathBuf;

use clap::Args;
use tfhe_sbc_transport::BlobId;

use super::{Chosen, Found};
use crate::commands::send::Server;
use crate::failure::{Explain, Outcome, failure};
use crate::{output, progress, report};

/// The largest upload that is read.
const LARGEST: u64 = 1 << 30;

/// Writes uploads into files ID.tsbc of a directory, as the boards sent them: for a copy elsewhere, or for `eval`. Files
/// that are there already are not fetched again.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc readings get --to https://localhost:8443 --device device --out uploads\n  ls uploads"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    server: Server,
    /// The directory for the files, which is made if it is not there
    #[arg(long, value_name = "DIRECTORY")]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let client = arguments.server.connect("owner")?;
    let Found { ids, .. } = arguments.chosen.find(&client)?;
    if ids.is_empty() {
        return Err(failure(
            "no uploads are selected",
            "`tfhe-sbc readings list` shows what there is",
        ));
    }
    std::fs::create_dir_all(&arguments.out).advise(
        format_args!("no directory {}", arguments.out.display()),
        "choose another one with --out",
    )?;
    let bar = progress::bar("getting uploads", ids.len() as u64);
    let mut bytes = 0;
    for id in &ids {
        let file = arguments.out.join(format!("{id}.tsbc"));
        let known = std::fs::read(&file).is_ok_and(|content| BlobId::of(&content) == *id);
        if !known {
            let upload = client.upload_of(id, LARGEST).explain("no upload")?;
            bytes += upload.len() as u64;
            output::write_file(&file, &upload)?;
        }
        bar.inc(1);
    }
    drop(bar);
    output::note(format_args!(
        "{} in {}, {} of them new",
        report::counted(ids.len() as u64, "upload", "uploads"),
        arguments.out.display(),
        report::bytes(bytes)
    ));
    Ok(())
}
