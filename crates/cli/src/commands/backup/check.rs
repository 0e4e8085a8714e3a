//! `backup check`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tfhe_sbc_service::store::backup::{self, Checked};

use crate::failure::Outcome;
use crate::{output, report};

/// Reads a backup: its index must be sound, and each upload and each file of pads that the index names must be there
/// and hash to its name. Fails and names those that do not.
#[derive(Args)]
#[command(
    after_help = "Example, with the backup of `tfhe-sbc backup --help`:\n  tfhe-sbc backup check backup\n  tfhe-sbc backup check backup --json"
)]
pub(crate) struct Arguments {
    /// The directory of the backup
    directory: PathBuf,
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
    not_named: u64,
    damaged: Vec<String>,
    standing: super::Standing,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let bar = super::bar("reading the backup");
    let checked = backup::check(&arguments.directory, bar.shows());
    drop(bar);
    let checked = checked.or_else(|error| super::explain(error, "no whole backup"))?;
    let Checked {
        made_at,
        uploads,
        bytes,
        pads,
        damaged,
        not_named,
        standing,
    } = checked;
    let report = Report {
        made_at: report::moment(made_at),
        uploads,
        bytes,
        pads,
        not_named,
        damaged: super::ids(&damaged),
        standing: standing.into(),
    };
    let directory = arguments.directory.display();
    if arguments.json {
        output::print_json(&report)?;
    } else if report.damaged.is_empty() && standing.damaged == 0 {
        output::note(format_args!(
            "{directory} is whole: {}{} of {}",
            super::contents(uploads, bytes, pads),
            report.standing.text(),
            report.made_at
        ));
        if not_named > 0 {
            output::note(format_args!(
                "{} more from an interrupted backup, which the next one completes or removes",
                report::counted(not_named, "file", "files")
            ));
        }
    }
    super::none_damaged(
        &report.damaged,
        "in the backup",
        &format!(
            "`tfhe-sbc backup --check --store STORE --out {directory}` replaces them from the store; `tfhe-sbc restore --leave-out-damaged` restores the others"
        ),
    )?;
    report.standing.none_damaged(
        "in the backup",
        "`tfhe-sbc backup` replaces them from the store; `tfhe-sbc restore` leaves them out",
    )
}
