//! `readings rm`.

use clap::Args;

use super::{Chosen, Found};
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
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    server: Server,
    /// Remove them, instead of only saying what would be removed
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    if arguments.chosen.is_everything() {
        return Err(failure(
            "nothing says which uploads to remove",
            "give ids, or --device, --since, --until or --last; --device '*' stands for all",
        ));
    }
    let client = arguments.server.connect("owner")?;
    let Found { ids, about } = arguments.chosen.find(&client)?;
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
