//! `restore`: a store from a backup.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tfhe_sbc_service::store::backup::{self, Restored};

use super::backup as common;
use crate::failure::Outcome;
use crate::{output, report};

/// Makes a store of a backup, in a directory that is empty or does not exist, and checks each file against its name.
/// `serve --store` opens it. What arrived, was removed or was ended at the server after the backup is not in it: end
/// pads of stolen boards again.
#[derive(Args)]
#[command(
    after_help = "Example, with the backup of `tfhe-sbc backup --help`:\n  tfhe-sbc restore --from backup --store restored"
)]
pub(crate) struct Arguments {
    /// The directory of the backup
    #[arg(long, value_name = "DIRECTORY")]
    from: PathBuf,
    /// The directory for the store
    #[arg(long, value_name = "DIRECTORY")]
    store: PathBuf,
    /// Leave out what is missing or damaged in the backup, and restore the others
    #[arg(long)]
    leave_out_damaged: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    made_at: String,
    uploads: u64,
    bytes: u64,
    pads: u64,
    left_out: Vec<String>,
    standing: common::Standing,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let Arguments { from, store, .. } = arguments;
    let bar = common::bar("restoring");
    let restored = backup::restore(from, store, arguments.leave_out_damaged, bar.shows());
    drop(bar);
    let restored = restored.or_else(|error| common::explain(error, "nothing is restored"))?;
    let Restored {
        made_at,
        uploads,
        bytes,
        pads,
        damaged,
        standing,
    } = restored;
    let report = Report {
        made_at: report::moment(made_at),
        uploads,
        bytes,
        pads,
        left_out: common::ids(&damaged),
        standing: standing.into(),
    };
    if arguments.json {
        return output::print_json(&report);
    }
    output::note(format_args!(
        "{} has {}{} of {}",
        store.display(),
        common::contents(uploads, bytes, pads),
        report.standing.text(),
        report.made_at
    ));
    if !report.left_out.is_empty() {
        output::note(format_args!(
            "left out as missing or damaged: {}",
            report.left_out.join(", ")
        ));
    }
    if standing.damaged > 0 {
        output::note(format_args!(
            "left out as damaged: {} of standing queries",
            report::counted(standing.damaged, "result", "results")
        ));
    }
    Ok(())
}
