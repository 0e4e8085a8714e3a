//! `readings rm`.

use clap::Args;
use tfhe_sbc_transport::BlobId;

use super::list::pages;
use super::{Selected, upload_id};
use crate::commands::send::Server;
use crate::failure::{Explain, Outcome, failure};
use crate::{output, progress, report};

/// Removes uploads from the server, for good: nobody can ask about them any more. Says first what it would remove, and
/// removes it with --yes.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc readings rm --to https://localhost:8443 --device device --until 2000-01-01\n  tfhe-sbc readings rm --to https://localhost:8443 --device device --until 2000-01-01 --yes"
)]
pub(crate) struct Arguments {
    /// The ids of uploads
    #[arg(value_name = "ID", value_parser = upload_id, conflicts_with_all = ["device", "since", "until", "last"])]
    ids: Vec<BlobId>,
    #[command(flatten)]
    selected: Selected,
    #[command(flatten)]
    server: Server,
    /// Remove them, instead of only saying what would be removed
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    if arguments.ids.is_empty() && arguments.selected.is_everything() {
        return Err(failure(
            "nothing says which uploads to remove",
            "give ids, or --device, --since, --until or --last; --device '*' stands for all",
        ));
    }
    let filter = arguments.selected.filter()?;
    let client = arguments.server.connect("owner")?;
    let (ids, about) = match arguments.ids.is_empty() {
        false => (arguments.ids.clone(), String::new()),
        true => {
            let readings = pages(&client, filter, None)?.readings;
            let rows = readings.iter().map(|entry| entry.summary.rows).sum();
            let bytes = readings.iter().map(|entry| entry.bytes).sum();
            let rows = report::counted(rows, "row", "rows");
            let about = format!(" with {rows} in {}", report::bytes(bytes));
            (readings.into_iter().map(|entry| entry.id).collect(), about)
        }
    };
    let uploads = report::counted(ids.len() as u64, "upload", "uploads");
    if ids.is_empty() {
        output::note("no uploads are selected: nothing is removed");
        return Ok(());
    }
    if !arguments.yes {
        output::note(format_args!(
            "would remove {uploads}{about}: say --yes to do so"
        ));
        return Ok(());
    }
    let bar = progress::bar("removing uploads", ids.len() as u64);
    for (done, id) in ids.iter().enumerate() {
        let removed = client.remove(id);
        removed.explain(format_args!("{} of {} are removed", done, ids.len()))?;
        bar.inc(1);
    }
    drop(bar);
    output::note(format_args!("removed {uploads}{about}"));
    Ok(())
}
