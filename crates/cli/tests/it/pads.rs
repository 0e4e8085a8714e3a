//! `pads`: a board that makes frames, and a server's computation on what became of them.

use std::path::Path;

use tfhe_sbc_frames::{BoardKey, Column, Counter, DeviceId, Encoder, Form, Format};

use crate::common::frames::Ram;
use crate::common::{shared, tfhe_sbc, tfhe_sbc_fed};

const BOARD: &str = "70b3d57ed0001234";
/// Level and flow of each row, as codes: -1.5 m, 2.0 m, 0.5 m, then -2.0 m, 1.0 m, 5.5 m.
const FRAMES: [[u8; 6]; 2] = [[1, 60, 8, 3, 5, 17], [0, 17, 6, 63, 15, 0]];

/// The numbers of an entry `.name = {0x.., …},` of a board's header.
fn key_in(header: &str) -> [u8; 32] {
    let line = header
        .lines()
        .find(|line| line.contains(".key = {"))
        .unwrap();
    let numbers = line
        .split("0x")
        .skip(1)
        .map(|number| u8::from_str_radix(&number[..2], 16));
    let bytes: Vec<u8> = numbers.collect::<Result<_, _>>().unwrap();
    bytes.try_into().unwrap()
}

/// The board that was built with the header in `desk`, from the frame `counter` on.
fn board(desk: &Path, counter: u32) -> Encoder<Ram> {
    let header = std::fs::read_to_string(desk.join(format!("{BOARD}.h"))).unwrap();
    for line in [
        ".frames = 7,",
        ".named = 0,",
        ".columns = 2,",
        ".rows = 3,",
        ".id = {0x70, 0xb3, 0xd5, 0x7e, 0xd0, 0x00, 0x12, 0x34, },",
        ".column = {{4, 5}, {6, 7}, },",
        "level: offset -2, scale 0.5, 4 bits",
    ] {
        assert!(header.contains(line), "{line} in {header}");
    }
    let columns = [(4, 1), (6, 1)].map(|(bits, headroom)| Column::new(bits, headroom).unwrap());
    let id = DeviceId([0x70, 0xb3, 0xd5, 0x7e, 0xd0, 0x00, 0x12, 0x34]);
    let format = Format::new(id, Form::Bare, &columns, 3, 7).unwrap();
    let counter = Counter::open(Ram(counter), 1, &format).unwrap();
    Encoder::new(format, BoardKey::from_bytes(key_in(&header)), counter)
}

fn frame(board: &mut Encoder<Ram>, codes: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 64];
    board.encode(codes, &mut buffer).unwrap().to_vec()
}

const MAKE: [&str; 9] = [
    "pads",
    "make",
    BOARD,
    "--rows",
    "20",
    "--frame",
    "3",
    "--columns",
    "columns.toml",
];

#[test]
fn questions_about_frames_have_the_answers_of_the_readings() {
    let desk = shared().desk();
    let desk = desk.path();
    tfhe_sbc(desk, &MAKE).succeeded();
    let mut board = board(desk, 0);
    let frames = FRAMES.map(|codes| frame(&mut board, &codes));
    // The second before the first, which comes twice.
    let sent = [&frames[1][..], &frames[0], &frames[0]].concat();
    std::fs::write(desk.join("frames.bin"), sent).unwrap();
    let pads = format!("{BOARD}.pads.tsbc");
    let complete = ["pads", "complete", &pads, "frames.bin"];
    let run = tfhe_sbc(desk, &complete).succeeded();
    assert!(
        run.stderr
            .contains("2 uploads in uploads, 1 frames repeated, 0 refused"),
        "{}",
        run.stderr
    );

    let eval = [
        "eval",
        "--readings",
        "uploads/frame-0.tsbc",
        "--readings",
        "uploads/frame-1.tsbc",
        "--out",
        "frames-result.tsbc",
        "rows(flow == 17)",
        "max(level)",
        "count(level > 0.5)",
    ];
    tfhe_sbc(desk, &eval).succeeded();
    let run = tfhe_sbc(desk, &["decrypt", "--json", "frames-result.tsbc"]).succeeded();
    let answers = run.text();
    // Rows are numbered over all frames.
    for part in ["[\"2\",\"3\"]", "5.5", "3"] {
        let compact: String = answers.split_whitespace().collect();
        assert!(compact.contains(part), "{part} in {answers}");
    }
}

#[test]
fn frames_that_no_board_should_send_are_refused() {
    let desk = shared().desk();
    let desk = desk.path();
    tfhe_sbc(desk, &MAKE).succeeded();
    let good = frame(&mut board(desk, 1), &FRAMES[0]);
    let twice = frame(&mut board(desk, 1), &FRAMES[1]);
    let mut flipped = frame(&mut board(desk, 2), &FRAMES[1]);
    flipped[5] ^= 1;
    let sent = [&good[..], &twice, &flipped, &good[..9]].concat();
    let pads = format!("{BOARD}.pads.tsbc");
    let run = tfhe_sbc_fed(desk, &["pads", "complete", &pads], &sent);
    run.refused(&[
        "frame 2 of -: the board has used the pads of frame 1 twice",
        "frame 3 of -: the tag is wrong",
        "frame 4 of -: a frame of this board has 17 bytes, not 9",
        "1 uploads",
        "3 of the frames",
    ]);
    assert!(desk.join("uploads/frame-1.tsbc").exists());
    assert!(!desk.join("uploads/frame-2.tsbc").exists());
}

#[test]
fn files_of_pads_and_boards_are_described_without_their_secrets() {
    let desk = shared().desk();
    let desk = desk.path();
    tfhe_sbc(desk, &[&MAKE[..], &["--agent"]].concat()).succeeded();
    for (ending, about) in [
        ("pads.tsbc", "pads for the frames"),
        ("board.tsbc", "SECRET"),
    ] {
        let file = format!("{BOARD}.{ending}");
        let run = tfhe_sbc(desk, &["inspect", &file]).succeeded();
        for words in [about, BOARD, "level"] {
            assert!(run.text().contains(words), "{words} in {}", run.text());
        }
    }
}

#[test]
fn keys_are_not_overwritten_and_arguments_are_checked() {
    let desk = shared().desk();
    let desk = desk.path();
    tfhe_sbc(desk, &MAKE).succeeded();
    let header = std::fs::read(desk.join(format!("{BOARD}.h"))).unwrap();
    tfhe_sbc(desk, &MAKE).refused(&[BOARD]);
    assert_eq!(
        std::fs::read(desk.join(format!("{BOARD}.h"))).unwrap(),
        header
    );
    tfhe_sbc(desk, &["pads", "make", "station-7", "--rows", "9"])
        .refused(&["16 hexadecimal digits"]);
    // The bundled columns are made for other uses.
    tfhe_sbc(desk, &["pads", "make", "0000000000000001", "--rows", "9"]).refused(&["alarms"]);
    tfhe_sbc(desk, &["pads", "complete", "day.tsbc", "day.tsbc"]).refused(&["pads make"]);
}
