//! `pads complete`: frames become uploads.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_transport::files;
use tfhe_sbc_upload::pads::{CompletedFrame, PadFile, PadsError};

use crate::failure::{Explain, Outcome, failure};
use crate::{keys, output, report};

/// Turns frames into uploads, which `send`, `eval` and `inspect` take like any others. A frame of counter 7
/// becomes the file `frame-7.tsbc`. A frame that has become an upload before is left out, and one that the board
/// made with the same pads as another is refused, as are damaged frames and those of other boards.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc pads complete 70b3d57ed0001234.pads.tsbc frames.bin --out uploads"
)]
pub(crate) struct Arguments {
    /// The file of pads
    pads: PathBuf,
    /// The frames of one board, one behind the other, or - for stdin
    #[arg(default_value = "-")]
    frames: PathBuf,
    /// The directory for the uploads
    #[arg(long, default_value = "uploads")]
    out: PathBuf,
}

/// The numbers of frames.
#[derive(Default)]
struct Tally {
    completed: u64,
    repeated: u64,
    refused: u64,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let pads = PadFile::read(&keys::read_file(&arguments.pads)?).advise(
        arguments.pads.display(),
        "name a file of pads that `tfhe-sbc pads make` made",
    )?;
    let frames = output::read_input(&arguments.frames)?;
    let name = arguments.frames.display();
    let out = &arguments.out;
    std::fs::create_dir_all(out).advise(
        format_args!("cannot make {}", out.display()),
        "choose a directory that you can write to",
    )?;
    let mut tally = Tally::default();
    for (place, frame) in frames.chunks(pads.format().frame_bytes()).enumerate() {
        let refused = |reason: &dyn std::fmt::Display| {
            output::note(format_args!("frame {} of {name}: {reason}", place + 1));
        };
        match pads.complete(frame) {
            Ok(completed) => match keep(out, &completed)? {
                Kept::New => tally.completed += 1,
                Kept::Repeated => tally.repeated += 1,
                Kept::OtherFrame => {
                    tally.refused += 1;
                    refused(&format_args!(
                        "the board has used the pads of frame {} twice: it has lost its counter, and needs new pads",
                        completed.counter
                    ));
                }
            },
            Err(PadsError::Frame(reason)) => {
                tally.refused += 1;
                refused(&reason);
            }
            Err(error) => return Err(failure(error, "make new pads for the board")),
        }
    }
    let Tally {
        completed,
        repeated,
        refused,
    } = tally;
    let count = report::count;
    output::note(format_args!(
        "{} uploads in {}, {} frames repeated, {} refused",
        count(completed),
        out.display(),
        count(repeated),
        count(refused)
    ));
    match refused {
        0 => Ok(()),
        _ => Err(failure(
            format_args!("{} of the frames in {name} were refused", count(refused)),
            "the lines above say why; the uploads of the others are there",
        )),
    }
}

/// The fate of a completed frame.
enum Kept {
    New,
    Repeated,
    /// There is the upload of another frame of the same counter.
    OtherFrame,
}

fn keep(directory: &Path, completed: &CompletedFrame) -> Outcome<Kept> {
    let path = directory.join(format!("frame-{}.tsbc", completed.counter));
    match std::fs::read(&path) {
        Ok(known) if known == completed.upload => return Ok(Kept::Repeated),
        Ok(_) => return Ok(Kept::OtherFrame),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            return Err(error).advise(
                format_args!("cannot read {}", path.display()),
                "choose another directory with --out",
            );
        }
    }
    files::write_public_new(&path, &completed.upload).advise(
        format_args!("cannot write {}", path.display()),
        "choose a directory that you can write to and that has room",
    )?;
    Ok(Kept::New)
}
