//! Which formats and codes there are, and the lengths of their frames.

use tfhe_sbc_frames::{Column, DeviceId, EncodeError, Form, Format, FormatError};

use crate::support::{ID, day, encoder, format, key};

#[test]
fn a_day_of_readings_fits_the_smallest_lorawan_frame() {
    assert_eq!(day(Form::Bare).frame_bytes(), 51);
    assert_eq!(day(Form::Named).frame_bytes(), 59);
    // The table of docs/frames.md: one row more does not fit.
    for (bits, headroom, rows) in [
        (8, 1, 34),
        (10, 1, 28),
        (12, 1, 24),
        (12, 2, 22),
        (12, 10, 14),
    ] {
        let bytes = |rows| format(Form::Bare, &[(bits, headroom)], rows).frame_bytes();
        assert!(bytes(rows) <= 51 && bytes(rows + 1) > 51);
    }
}

#[test]
fn impossible_formats_are_refused() {
    for (bits, headroom) in [(0, 1), (41, 0), (40, 9), (1, 48), (12, 255)] {
        let refused = Column::new(bits, headroom);
        assert_eq!(refused, Err(FormatError::Column { bits, headroom }));
    }
    let column = Column::new(12, 1).unwrap();
    let of = |columns: &[Column], rows, frames| Format::new(ID, Form::Bare, columns, rows, frames);
    assert_eq!(of(&[], 1, 1), Err(FormatError::Columns(0)));
    assert_eq!(of(&[column; 17], 1, 1), Err(FormatError::Columns(17)));
    assert_eq!(of(&[column], 0, 1), Err(FormatError::Rows));
    assert_eq!(of(&[column], 1, 0), Err(FormatError::Frames));
    assert_eq!(of(&[column; 16], 255, u32::MAX).unwrap().codes(), 16 * 255);
}

#[test]
fn refused_codes_use_no_counter() {
    let two = format(Form::Bare, &[(12, 1), (8, 2)], 2);
    let mut board = encoder(two, key(1), 5);
    let mut buffer = [0; 64];
    let mut encode =
        |codes: &[u16], room| board.encode(codes, &mut buffer[..room]).map(<[u8]>::to_vec);
    for found in [0, 1, 3, 5, 8] {
        let refused = EncodeError::Codes { needed: 4, found };
        assert_eq!(encode(&vec![0; found], 64), Err(refused));
    }
    assert_eq!(encode(&[4096, 0, 0, 0], 64), Err(EncodeError::Code));
    assert_eq!(encode(&[0, 0, 4095, 256], 64), Err(EncodeError::Code));
    assert_eq!(encode(&[0; 4], 17), Err(EncodeError::Buffer(18)));
    let frame = encode(&[4095, 255, 0, 0], 64).unwrap();
    assert_eq!(frame[..4], 5_u32.to_le_bytes());
}

#[test]
fn boards_are_named_by_hexadecimal_digits() {
    let id: DeviceId = "70B3d57ed0001234".parse().unwrap();
    assert_eq!(id, ID);
    assert_eq!(id.to_string(), "70b3d57ed0001234");
    for text in [
        "",
        "70b3d57ed000123",
        "70b3d57ed00012345",
        "70b3d57ed000123g",
        "+0b3d57ed0001234",
    ] {
        assert!(text.parse::<DeviceId>().is_err(), "{text}");
    }
}
