//! Boards that send frames.

use std::convert::Infallible;
use std::path::Path;

use tfhe_sbc_frames::{BoardKey, Counter, CounterStore, Encoder};
use tfhe_sbc_upload::pads::{BoardFile, FramePlan};

use super::tfhe_sbc;

/// A store of a counter that lasts as long as a test.
pub(crate) struct Ram(pub(crate) u32);

impl CounterStore for Ram {
    type Error = Infallible;

    fn read(&mut self) -> Result<Option<u32>, Infallible> {
        Ok(Some(self.0))
    }

    fn write(&mut self, limit: u32) -> Result<(), Infallible> {
        self.0 = limit;
        Ok(())
    }
}

/// Makes pads for 7 frames of 3 rows, with the board's key in a file.
pub(crate) fn make_pads(desk: &Path, board: &str, more: &[&str]) {
    make_pads_for(desk, board, 20, more);
}

/// Makes pads for so many rows, 3 to a frame, with the board's key in a file.
pub(crate) fn make_pads_for(desk: &Path, board: &str, rows: u32, more: &[&str]) {
    let rows = rows.to_string();
    let make = [
        "pads", "make", board, "--rows", &rows, "--frame", "3", "--agent",
    ];
    let columns = ["--columns", "columns.toml"];
    tfhe_sbc(desk, &[&make[..], &columns, more].concat()).succeeded();
}

/// A board, by the file with its key.
pub(crate) struct Board {
    plan: FramePlan,
    key: [u8; 32],
}

impl Board {
    pub(crate) fn read(file: &Path) -> Self {
        let (_, plan, key) = BoardFile::read(&std::fs::read(file).unwrap())
            .unwrap()
            .into_parts()
            .unwrap();
        Self {
            plan,
            key: *key.as_bytes(),
        }
    }

    /// The encoder of the board, from the frame `counter` on, of a board with pads for `frames` frames.
    pub(crate) fn encoder(&self, counter: u32, frames: u32) -> Encoder<Ram> {
        let plan = FramePlan {
            frames,
            ..self.plan.clone()
        };
        let format = plan.format().unwrap();
        let counter = Counter::open(Ram(counter), 1, &format).unwrap();
        Encoder::new(format, BoardKey::from_bytes(self.key), counter)
    }

    /// The frame `counter` of these codes.
    pub(crate) fn frame(&self, counter: u32, codes: &[u8]) -> Vec<u8> {
        let mut buffer = [0; 512];
        let mut encoder = self.encoder(counter, self.plan.frames.max(counter + 1));
        encoder.encode(codes, &mut buffer).unwrap().to_vec()
    }
}
