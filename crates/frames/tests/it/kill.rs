//! A board as a process that is killed at any moment.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tfhe_sbc_frames::{Arrival, Arrivals, Counter, CounterStore, Encoder, Form, Format, Receiver};

use crate::support::{day, key};

/// The counter's limit in a file that is replaced as a whole.
struct FileStore(PathBuf);

impl CounterStore for FileStore {
    type Error = io::Error;

    fn read(&mut self) -> io::Result<Option<u32>> {
        let bytes = match std::fs::read(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        Ok(bytes.try_into().ok().map(u32::from_le_bytes))
    }

    fn write(&mut self, limit: u32) -> io::Result<()> {
        let new = self.0.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&limit.to_le_bytes())?;
        file.sync_all()?;
        std::fs::rename(new, &self.0)
    }
}

const FOLDER: &str = "TFHE_SBC_FRAMES_TEST_FOLDER";

fn format() -> Format {
    let columns = day(Form::Bare);
    Format::new(columns.id(), Form::Bare, columns.columns(), 24, u32::MAX).unwrap()
}

/// The board: every frame goes to the end of the file `sent`, in one write.
#[test]
fn board() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let counter = Counter::open(FileStore(folder.join("counter")), 8, &format()).unwrap();
    let mut board = Encoder::new(format(), key(1), counter);
    let sent = folder.join("sent");
    let mut sent = OpenOptions::new()
        .append(true)
        .create(true)
        .open(sent)
        .unwrap();
    // Other readings in every frame, so that a counter that is used twice shows in the tags.
    let mut codes = [(std::process::id() % 4096) as u16; 24];
    let mut buffer = [0; 51];
    for reading in (0..4096).cycle() {
        codes[0] = reading;
        sent.write_all(board.encode(&codes, &mut buffer).unwrap())
            .unwrap();
        println!("sent");
    }
}

#[test]
fn a_killed_board_uses_no_pad_twice() {
    let folder = tempfile::tempdir().unwrap();
    Counter::provision(&mut FileStore(folder.path().join("counter"))).unwrap();
    for kill in 0..25_u64 {
        let mut board = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::board", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It has begun to send.
        let mut printed = board.stdout.take().unwrap();
        let mut seen = String::new();
        while !seen.contains("sent") {
            let mut byte = [0];
            printed.read_exact(&mut byte).unwrap();
            seen.push(char::from(byte[0]));
        }
        std::thread::sleep(Duration::from_micros(kill * 331));
        board.kill().unwrap();
        board.wait().unwrap();
    }
    let server = Receiver::new(format(), key(1).mac_key());
    let sent = std::fs::read(folder.path().join("sent")).unwrap();
    let mut arrivals = Arrivals::new();
    let (frames, []) = sent.as_chunks::<51>() else {
        panic!("a write is not torn by a kill");
    };
    for frame in frames {
        let frame = server.read(frame).unwrap();
        assert_eq!(arrivals.record(&frame), Ok(Arrival::New));
    }
    assert!(arrivals.len() >= 25);
    assert!(arrivals.missing() <= 25 * 8);
}
