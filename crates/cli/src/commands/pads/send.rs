//! `pads send`: a file of pads goes to a server.

use std::path::PathBuf;

use clap::Args;

use super::list;
use crate::commands::send::Server;
use crate::failure::{Explain, Outcome};
use crate::{keys, output, progress, report};

/// Gives a server the pads of a board. When this ends, they are on the server's disk, and the server takes the
/// board's frames. Only an owner may do this. Pads of the same board that the server already has take frames until the first
/// frame of the new ones has arrived.
#[derive(Args)]
#[command(
    after_help = "Example, with a server of `tfhe-sbc serve --help` running and pads of `tfhe-sbc pads make --help`:\n  tfhe-sbc pads send 70b3d57ed0001234.pads.tsbc --to https://localhost:8443 --tls tls"
)]
pub(crate) struct Arguments {
    /// The file of pads
    pads: PathBuf,
    #[command(flatten)]
    server: Server,
    /// Print the server's words on them as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let file = keys::read_file(&arguments.pads)?;
    let (entry, is_new) = {
        let _spinner = progress::spinner("sending");
        arguments
            .server
            .connect("owner")?
            .send_pads(&file)
            .explain("the pads were not stored")?
    };
    if arguments.json {
        return output::print_json(&entry);
    }
    output::note(format_args!(
        "{}: pads for {} frames of {} rows {}",
        report::plain(&entry.board),
        report::count(entry.frames.into()),
        entry.rows,
        match is_new {
            true => "stored",
            false => "were stored already",
        }
    ));
    if entry.ended_at.is_some() {
        output::note(
            "no frames of these pads are taken: newer pads took their place, or the owner ended them",
        );
    }
    list::print(&[entry])
}
