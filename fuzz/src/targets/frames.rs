//! Frames of small boards, the files with which a server and a board's agent handle them, and the events that carry
//! them.
//!
//! The file with the reader of events is included here, because its crate needs TLS and a database.

use std::convert::Infallible;
use std::sync::OnceLock;

use tfhe_sbc_core::wire::Message;
use tfhe_sbc_frames::{
    Acknowledgement, BoardKey, Column as FrameColumn, Counter, CounterStore, DeviceId, Encoder,
    Form, Format, Receiver,
};
use tfhe_sbc_upload::pads::{BoardFile, FramePlan, PadFile, PadHead, make_pads};
use tfhe_sbc_upload::readings::{Column, Compact, Upload};

use super::Target;
use crate::common::seeds;
use crate::messages::with_checksums;
use crate::samples::key;

/// The one of the crate `service`, as far as the reader of events needs it.
#[derive(Debug)]
enum FrameRefusal {
    Event(&'static str),
}

#[allow(dead_code)]
#[path = "../../../crates/service/src/frames/chirpstack.rs"]
mod chirpstack;

/// A store of a counter that is never used up.
struct Ram(u32);

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

fn board_key() -> BoardKey {
    BoardKey::from_bytes([5; 32])
}

fn plan() -> FramePlan {
    let column = |name: &str, bits, headroom, body_bits| Column {
        name: name.to_owned(),
        unit: "m".to_owned(),
        offset: -2.0,
        scale: 0.5,
        bits,
        compact: Some(Compact {
            headroom,
            body_bits,
            feedback: false,
        }),
        derived: Default::default(),
    };
    FramePlan {
        device: [7; 8],
        named: true,
        columns: vec![column("level", 12, 1, 18), column("flow", 5, 3, 13)],
        rows: 3,
        frames: 4,
    }
}

fn encode(format: Format, counter: u32) -> Vec<u8> {
    let mut frame = vec![0; format.frame_bytes()];
    let codes: Vec<u64> = (0..format.codes() as u64).map(|code| code % 32).collect();
    let counter = Counter::open(Ram(counter), 1, &format).expect("a counter");
    let mut encoder = Encoder::new(format, board_key(), counter);
    encoder.encode(&codes, &mut frame).expect("a frame");
    frame
}

fn pads() -> &'static [u8] {
    static PADS: OnceLock<Vec<u8>> = OnceLock::new();
    PADS.get_or_init(|| {
        let made = make_pads(&key().device_key(), &board_key(), plan(), &mut seeds(9));
        made.and_then(|pads| pads.to_bytes()).expect("pads")
    })
}

/// A file of pads, and behind it a frame of the board.
pub(super) const PADS: Target = Target {
    name: "pads",
    run: |bytes| {
        let bytes = with_checksums(bytes);
        let Ok((_, frame)) = Message::parse(&bytes) else {
            return;
        };
        let (file, _) = bytes.split_at(bytes.len() - frame.len());
        let Ok(pads) = PadFile::read(file) else {
            return;
        };
        assert!(PadFile::read(&pads.to_bytes().expect("pads that were read")).is_ok());
        let head = pads.head().to_bytes().expect("pads that were read");
        let head = PadHead::from_bytes(&head).expect("the head of pads");
        let receiver = head.receiver().expect("the format of pads");
        if let Ok(completed) = pads.complete(frame) {
            assert_eq!(
                receiver.read(frame).map(|frame| frame.counter()),
                Ok(completed.counter)
            );
            let upload = Upload::parse(&completed.upload, pads.parameters(), pads.key());
            let upload = upload.expect("a completed frame is an upload");
            assert_eq!(upload.metadata.rows.len(), usize::from(head.plan.rows));
        }
    },
    seeds: || {
        let format = plan().format().expect("a format");
        vec![pads().to_vec(), [pads(), &encode(format, 3)].concat()]
    },
};

/// Frames of boards of several formats, the first byte says which.
pub(super) const FRAMES: Target = Target {
    name: "frames",
    run: |bytes| {
        let Some((&which, frame)) = bytes.split_first() else {
            return;
        };
        let format = format(which);
        let receiver = Receiver::new(format, board_key().mac_key());
        let acknowledgement = receiver.acknowledge(frame);
        assert_eq!(
            acknowledgement,
            Acknowledgement::of(&format, &board_key().mac_key(), frame)
        );
        if let Ok(read) = receiver.read(frame) {
            assert!(read.counter() < format.frames());
            assert_eq!(read.codes().count(), format.codes());
            for (code, column) in read.codes().zip(format.columns().iter().cycle()) {
                assert!(code < 1 << column.width());
            }
            assert!(acknowledgement.is_some());
        }
    },
    seeds: || {
        (0..8)
            .map(|which| [vec![which], encode(format(which), u32::from(which))].concat())
            .collect()
    },
};

fn format(which: u8) -> Format {
    let form = match which & 1 {
        0 => Form::Bare,
        _ => Form::Named,
    };
    let columns: &[(u8, u8)] = match which >> 1 & 3 {
        0 => &[(12, 1)],
        1 => &[(5, 0), (16, 0), (7, 2)],
        2 => &[(40, 8)],
        _ => &[(8, 0); 16],
    };
    let columns = columns
        .iter()
        .map(|&(bits, headroom)| FrameColumn::new(bits, headroom));
    let columns: Vec<FrameColumn> = columns.collect::<Result<_, _>>().expect("columns");
    Format::new(DeviceId([3; 8]), form, &columns, 5, 100).expect("a format")
}

/// The file with a board's key, for an agent.
pub(super) const BOARD_FILE: Target = Target {
    name: "board_file",
    run: |bytes| {
        let bytes = with_checksums(bytes);
        let Ok(file) = BoardFile::read(&bytes) else {
            return;
        };
        let plan = file.plan().clone();
        let (format, parts, _) = file.into_parts().expect("the format of a file");
        assert_eq!((format, parts), (plan.format().expect("a format"), plan));
    },
    seeds: || {
        let (parameters, key) = (key().parameters().fingerprint(), key().fingerprint());
        let file = BoardFile::new(plan(), board_key()).to_bytes(parameters, key);
        vec![file.expect("a file").to_vec()]
    },
};

/// Events of ChirpStack.
pub(super) const EVENT: Target = Target {
    name: "chirpstack_event",
    run: |bytes| {
        let any = chirpstack::uplink(bytes, None);
        match (chirpstack::uplink(bytes, Some(85)), any) {
            (Ok(Some(one)), Ok(Some(other))) => assert!(one == other),
            (Ok(Some(_)), _) => panic!("a port more refuses less"),
            (Err(FrameRefusal::Event(words)), _) => assert!(!words.is_empty()),
            (Ok(None), _) => {}
        }
    },
    seeds: || {
        let event = |port: &str, data: &str| {
            let info = r#""deviceInfo":{"devEui":"70b3d57ed0001234","tags":{}}"#;
            format!(r#"{{{info},"fCnt":4,"fPort":{port},"data":{data}}}"#).into_bytes()
        };
        vec![
            event("85", "\"bQEAAA==\""),
            event("null", "null"),
            event("2", "\"\""),
        ]
    },
};
