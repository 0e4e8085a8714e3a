//! Frames that a server has to refuse.

use proptest::prelude::*;
use tfhe_sbc_frames::{BoardKey, Column, DeviceId, Form, Format, FrameError, MacKey, Receiver};

use crate::support::{ID, day, example_codes, format, frame, key};

fn server(format: Format) -> Receiver {
    Receiver::new(format, key(1).mac_key())
}

fn good(form: Form) -> Vec<u8> {
    frame(day(form), key(1), 7, &example_codes())
}

fn refusal(server: &Receiver, frame: &[u8]) -> FrameError {
    server.read(frame).map(|_| ()).unwrap_err()
}

#[test]
fn every_truncation_and_extension_is_refused() {
    for form in [Form::Bare, Form::Named] {
        let server = server(day(form));
        let mut frame = good(form);
        let needed = frame.len();
        for found in 0..needed {
            let refused = refusal(&server, &frame[..found]);
            assert_eq!(refused, FrameError::Length { needed, found });
        }
        for found in needed + 1..needed + 64 {
            frame.push(0);
            let refused = refusal(&server, &frame);
            assert_eq!(refused, FrameError::Length { needed, found });
        }
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    for form in [Form::Bare, Form::Named] {
        let server = server(day(form));
        let frame = good(form);
        for bit in 0..8 * frame.len() {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let error = refusal(&server, &flipped);
            match form {
                Form::Named if bit < 64 => {
                    assert!(matches!(error, FrameError::Device(id) if id != ID));
                }
                _ => assert_eq!(error, FrameError::Tag),
            }
        }
    }
}

#[test]
fn frames_of_another_board_are_refused() {
    let format = day(Form::Bare);
    let of_other_key = frame(format, key(2), 7, &example_codes());
    assert_eq!(refusal(&server(format), &of_other_key), FrameError::Tag);

    // Two boards with one key, which nobody should make: the id is in the tag although it does not travel.
    let columns = format.columns();
    let other = Format::new(DeviceId([9; 8]), Form::Bare, columns, 24, 1000).unwrap();
    let of_other_id = frame(other, key(1), 7, &example_codes());
    assert_eq!(refusal(&server(format), &of_other_id), FrameError::Tag);

    let other = Format::new(DeviceId([9; 8]), Form::Named, columns, 24, 1000).unwrap();
    let named = frame(other, key(1), 7, &example_codes());
    assert_eq!(Receiver::device_id(&named), Some(DeviceId([9; 8])));
    let error = refusal(&server(day(Form::Named)), &named);
    assert_eq!(error, FrameError::Device(DeviceId([9; 8])));
    assert_eq!(Receiver::device_id(&named[..7]), None);
}

#[test]
fn counters_without_pads_are_refused() {
    let few = Format::new(ID, Form::Bare, day(Form::Bare).columns(), 24, 7).unwrap();
    assert_eq!(
        refusal(&server(few), &good(Form::Bare)),
        FrameError::Counter(7)
    );
}

#[test]
fn bits_behind_the_last_code_are_refused() {
    // Another encoder with the right key: one column of 12 bits, then a second one of 4 bits that the
    // server does not know of.
    let known = format(Form::Bare, &[(12, 0)], 1);
    let made = format(Form::Bare, &[(12, 0), (4, 0)], 1);
    let frames: Vec<_> = (0..32)
        .map(|counter| frame(made, key(1), counter, &[1, 2]))
        .collect();
    let server = server(known);
    let refused = frames
        .iter()
        .filter(|frame| matches!(server.read(frame), Err(FrameError::Padding)));
    // The masked bits are zero once in 16 frames.
    assert!(refused.count() > 16);
}

proptest! {
    #[test]
    fn no_bytes_are_a_frame_without_the_key(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        widths in prop::collection::vec((1..=40_u8, 0..=8_u8), 1..=16),
        rows in 1..=4_u8,
        named: bool,
    ) {
        let columns: Vec<_> = widths.iter().map(|&(bits, headroom)| Column::new(bits, headroom).unwrap()).collect();
        let form = if named { Form::Named } else { Form::Bare };
        let format = Format::new(ID, form, &columns, rows, u32::MAX).unwrap();
        let server = Receiver::new(format, MacKey::from_bytes([3; 16]));
        prop_assert!(server.read(&bytes).is_err());
    }
}

#[test]
fn keys_of_other_bytes_have_other_tags() {
    let frame = good(Form::Bare);
    for bit in 0..256 {
        let mut bytes = *key(1).as_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let server = Receiver::new(day(Form::Bare), BoardKey::from_bytes(bytes).mac_key());
        assert_eq!(refusal(&server, &frame), FrameError::Tag);
    }
}
