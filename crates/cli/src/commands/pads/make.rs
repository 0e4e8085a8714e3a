//! `pads make`: a board's key, and the pads that a server needs for its frames.

use std::num::{NonZeroU8, NonZeroU32};
use std::path::PathBuf;

use clap::Args;
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_frames::{BoardKey, DeviceId, Format};
use tfhe_sbc_oracle::compact::Profile;
use tfhe_sbc_oracle::upload::UploadKind;
use tfhe_sbc_upload::definition::{Definition, Under, Use};
use tfhe_sbc_upload::pads::{BoardFile, FramePlan, make_pads};
use zeroize::Zeroizing;

use super::header::board_header;
use crate::failure::{Explain, Outcome};
use crate::keys::new_files::NewFiles;
use crate::{columns, keys, output, report};

/// Makes a key for a board, and pads for the rows that it will send. The board's key goes into a C header, or with
/// --agent into a file for the agent, and nowhere else: give it to the board and delete it. The pads go to the server. They hold the key of the
/// frames' tags, with which frames can be forged, and nothing that reveals a reading.
///
/// Columns are made for alarms unless their definitions say otherwise.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc sample --columns | sed 's/use = .*/use = \"alarms\"/' > columns.toml\n  tfhe-sbc pads make 70b3d57ed0001234 --rows 8760 --columns columns.toml"
)]
pub(crate) struct Arguments {
    /// The 8 bytes that name the board, such as its DevEUI, in hexadecimal digits
    board: DeviceId,
    /// The number of rows that the board will send
    #[arg(long)]
    rows: NonZeroU32,
    /// The number of rows of a frame [default: those that 51 bytes have room for]
    #[arg(long, value_name = "ROWS")]
    frame: Option<NonZeroU8>,
    /// Put the board's name into every frame, for networks that do not name the board
    #[arg(long)]
    named: bool,
    /// Column definitions in TOML [default: those of the bundled weather data]
    #[arg(long)]
    columns: Option<PathBuf>,
    /// The device key that pads are encrypted with
    #[arg(long, default_value = "keys/device.tsbc")]
    key: PathBuf,
    /// The file of pads, for the server [default: BOARD.pads.tsbc]
    #[arg(long, value_name = "FILE")]
    out_server: Option<PathBuf>,
    /// The C header with the key, for the board [default: BOARD.h]
    #[arg(long, value_name = "FILE")]
    out_board: Option<PathBuf>,
    /// Write the key as a file for `tfhe-sbc agent` instead of a C header [default name: BOARD.board.tsbc]
    #[arg(long)]
    agent: bool,
}

/// The smallest frame of LoRaWAN.
const FRAME_BYTES: usize = 51;

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let name = arguments.board.to_string();
    let out = |path: &Option<PathBuf>, ending| {
        let default = || PathBuf::from(format!("{name}.{ending}"));
        path.clone().unwrap_or_else(default)
    };
    let out_server = out(&arguments.out_server, "pads.tsbc");
    let out_board = match arguments.agent {
        true => out(&arguments.out_board, "board.tsbc"),
        false => out(&arguments.out_board, "h"),
    };
    output::check_file(&out_server)?;
    output::check_file(&out_board)?;

    let bytes = keys::read_file(&arguments.key)?;
    let key = DeviceKey::from_bytes(&bytes).advise(
        arguments.key.display(),
        "name a device key; pads are made by the key owner, not under a public key",
    )?;
    let plan = plan(arguments, &key)?;
    let mut board = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *board).explain("no randomness")?;
    let board = BoardKey::from_bytes(*board);
    let made = make_pads(&key, &board, plan, &mut keys::fresh_seeds()?);
    let pads = made.advise(
        "no pads",
        "`tfhe-sbc pads make --help` says what frames need",
    )?;
    let format = pads.format();
    let file = pads.to_bytes().advise(
        "no pads",
        "make them for fewer rows at a time; each file has a key of its own",
    )?;

    let text = match arguments.agent {
        true => BoardFile::new(pads.plan().clone(), board)
            .to_bytes(pads.parameters().fingerprint(), pads.key())
            .explain("no key")?,
        false => Zeroizing::new(board_header(pads.plan(), format, &board).into_bytes()),
    };
    let mut files = NewFiles::default();
    files.add_secret(
        &out_board,
        text,
        format_args!("key of board {name}: goes to it alone, mode 0600"),
    );
    files.add_secret(
        &out_server,
        file,
        "pads: go to the server, reveal no reading, mode 0600",
    );
    files.write()?;
    files.say();
    output::note(format_args!(
        "{} frames of {} rows, {} bytes each",
        report::count(u64::from(format.frames())),
        format.rows(),
        format.frame_bytes()
    ));
    Ok(())
}

fn plan(arguments: &Arguments, key: &DeviceKey) -> Outcome<FramePlan> {
    let mut definitions = columns::load(arguments.columns.as_deref())?;
    for definition in &mut definitions {
        for_alarms(definition);
    }
    let under = Under {
        parameters: key.parameters(),
        kind: UploadKind::Symmetric,
    };
    let mut plan = FramePlan {
        device: arguments.board.0,
        named: arguments.named,
        columns: columns::under(&definitions, under)?,
        rows: 1,
        frames: 1,
    };
    let format = |plan: &FramePlan| plan.format().advise("no frames", ADVICE);
    plan.rows = match arguments.frame {
        Some(rows) => rows.get(),
        None => most_rows(|rows| {
            format(&FramePlan {
                rows,
                ..plan.clone()
            })
        })?,
    };
    plan.frames = arguments.rows.get().div_ceil(u32::from(plan.rows));
    format(&plan)?;
    Ok(plan)
}

const ADVICE: &str =
    "give the columns use = \"alarms\" or \"fleet\" in a file for --columns, at most 16 of them";

/// Has a column that says nothing of its use made for alarms.
fn for_alarms(definition: &mut Definition) {
    if definition.usage.is_none() && definition.compact.is_none() {
        definition.usage = Some(Use::Compact(Profile::Alarms));
    }
}

/// The largest number of rows that [`FRAME_BYTES`] have room for, at least 1.
fn most_rows(format: impl Fn(u8) -> Outcome<Format>) -> Outcome<u8> {
    let mut most = 1;
    for rows in 1..=u8::MAX {
        if format(rows)?.frame_bytes() > FRAME_BYTES {
            break;
        }
        most = rows;
    }
    Ok(most)
}
