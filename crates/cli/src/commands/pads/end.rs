//! `pads end`: a server takes no more frames of a board.

use clap::Args;
use tfhe_sbc_frames::DeviceId;
use tfhe_sbc_transport::frames::PadsList;

use super::list;
use crate::commands::send::Server;
use crate::failure::{Explain, Outcome};
use crate::output;

/// Has a server take no more frames of a board, because the board is lost or was taken apart. What has arrived stays. New
/// pads, made with a new key, let the board begin again.
#[derive(Args)]
#[command(
    after_help = "Example, with the pads of `tfhe-sbc pads send --help`:\n  tfhe-sbc pads end 70b3d57ed0001234 --to https://localhost:8443 --tls tls"
)]
pub(crate) struct Arguments {
    /// The 8 bytes that name the board, in hexadecimal digits
    board: DeviceId,
    #[command(flatten)]
    server: Server,
    /// Print the board's pads as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let pads = arguments
        .server
        .connect("owner")?
        .end_pads(arguments.board)
        .explain("the pads were not ended")?;
    match arguments.json {
        true => output::print_json(&PadsList { pads }),
        false => list::print(&pads),
    }
}
