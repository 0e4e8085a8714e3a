//! `pads list`: the pads that a server has.

use clap::Args;
use tfhe_sbc_transport::frames::{PadsEntry, PadsList};

use crate::commands::send::Server;
use crate::failure::{Explain, Outcome};
use crate::{output, report};

/// Shows the pads that a server has: how many frames of each board have arrived and are missing, and how many are
/// left. A missing frame was lost, is under way, or never existed, because the board leapt over its counter when it
/// started.
#[derive(Args)]
#[command(
    after_help = "Example, with a server of `tfhe-sbc serve --help` running:\n  tfhe-sbc pads list --to https://localhost:8443 --tls tls"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let pads = arguments.server.connect("owner")?.pads();
    let pads = pads.explain("no list of pads")?;
    match arguments.json {
        true => output::print_json(&PadsList { pads }),
        false => print(&pads),
    }
}

/// Prints a table of pads.
pub(super) fn print(pads: &[PadsEntry]) -> Outcome<()> {
    let mut table = output::text_table();
    table.set_header([
        "board",
        "frames",
        "arrived",
        "missing",
        "left",
        "rows left",
        "state",
    ]);
    for entry in pads {
        let rows_left = u64::from(entry.left) * u64::from(entry.rows);
        let state = match &entry.ended_at {
            Some(ended) => format!("ended {}", report::plain(ended)),
            None if entry.left == 0 => "used up".to_owned(),
            None => "takes frames".to_owned(),
        };
        let numbers = [entry.frames, entry.arrived, entry.missing, entry.left];
        let mut row = vec![report::plain(&entry.board)];
        row.extend(numbers.map(|number| report::count(number.into())));
        row.extend([report::count(rows_left), state]);
        table.add_row(row);
    }
    output::emit(table)
}
