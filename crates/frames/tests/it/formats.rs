//! Which formats and codes there are, and the lengths of their frames.

use tfhe_sbc_frames::{Column, EncodeError, Form, Format, FormatError};

use crate::support::{ID, day, encoder, format, key};

#[test]
fn a_day_of_readings_fits_the_smallest_lorawan_frame() {
    assert_eq!(day(Form::Bare).frame_bytes(24), 51);
    assert_eq!(day(Form::Named).frame_bytes(24), 59);
    // The table of docs/frames.md.
    assert_eq!(format(Form::Bare, &[(12, 2)], 22).frame_bytes(22), 51);
    assert_eq!(format(Form::Bare, &[(12, 10)], 14).frame_bytes(14), 51);
    assert_eq!(format(Form::Bare, &[(10, 1)], 28).frame_bytes(28), 51);
    assert_eq!(format(Form::Bare, &[(8, 1)], 34).frame_bytes(34), 51);
    assert_eq!(format(Form::Bare, &[(12, 1)], 1).frame_bytes(1), 14);
}

#[test]
fn impossible_formats_are_refused() {
    for (bits, headroom) in [(0, 1), (41, 0), (40, 9), (1, 48), (12, 255)] {
        let refused = Column::new(bits, headroom);
        assert_eq!(refused, Err(FormatError::Column { bits, headroom }));
    }
    let column = Column::new(12, 1).unwrap();
    let narrow = Column::new(3, 1).unwrap();
    let of = |columns: &[Column], rows, frames| Format::new(ID, Form::Bare, columns, rows, frames);
    assert_eq!(of(&[], 1, 1), Err(FormatError::Columns(0)));
    assert_eq!(of(&[column; 17], 1, 1), Err(FormatError::Columns(17)));
    assert_eq!(of(&[narrow], 1, 1), Err(FormatError::RowBits(4)));
    assert_eq!(of(&[column], 0, 1), Err(FormatError::Rows));
    assert_eq!(of(&[column], 1, 0), Err(FormatError::Frames));
    assert_eq!(of(&[narrow; 2], 255, u32::MAX).unwrap().row_bits(), 8);
    assert_eq!(of(&[column; 16], 1, 1).unwrap().columns().len(), 16);
}

#[test]
fn refused_codes_use_no_counter() {
    let two = format(Form::Bare, &[(12, 1), (8, 2)], 3);
    let mut board = encoder(two, key(1), 5);
    let mut buffer = [0; 64];
    let mut encode =
        |codes: &[u16], room| board.encode(codes, &mut buffer[..room]).map(<[u8]>::to_vec);
    for codes in [&[][..], &[1], &[1, 2, 3], &[0; 8]] {
        assert_eq!(encode(codes, 64), Err(EncodeError::Rows(codes.len())));
    }
    assert_eq!(encode(&[4096, 0], 64), Err(EncodeError::Code));
    assert_eq!(encode(&[0, 0, 4095, 256], 64), Err(EncodeError::Code));
    assert_eq!(encode(&[0; 6], 20), Err(EncodeError::Buffer(21)));
    let frame = encode(&[4095, 255], 64).unwrap();
    assert_eq!(frame[..4], 5_u32.to_le_bytes());
}
