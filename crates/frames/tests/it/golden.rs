//! Frames whose bytes must never change, as another implementation, in Python, has made them. The first is in
//! docs/frames.md.

use tfhe_sbc_frames::{Acknowledgement, Form};

use crate::support::{day, example_codes, format, frame, key};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_day_of_readings() {
    let codes = example_codes();
    let bare = frame(day(Form::Bare), key(1), 365, &codes);
    assert_eq!(
        hex(&bare),
        "6d0100009907c7860a045bbbbb7e8658117a16b7c28ee5a626d673c047db5accd5050c8baa81f9497dce3bb9cf4f0e36c6be9f"
    );
    let named = frame(day(Form::Named), key(1), 365, &codes);
    assert_eq!(hex(&named[..8]), "70b3d57ed0001234");
    // The tag covers the id in both forms.
    assert_eq!(named[8..], bare);
}

#[test]
fn columns_of_several_widths() {
    let wide = format(Form::Bare, &[(16, 0), (17, 3), (1, 1)], 3);
    let rows = [[65535, 131071, 1], [0, 0, 0], [1, 2, 1]].concat();
    assert_eq!(
        hex(&frame(wide, key(2), 0, &rows)),
        "0000000076d2763d6978c1eff9e72d452e3c01ce3d0c181c00225a"
    );
    let widest = format(Form::Bare, &[(40, 8), (8, 1)], 2);
    let rows = [(1 << 40) - 1, 255, 0, 0];
    assert_eq!(
        hex(&frame(widest, key(3), 999, &rows)),
        "e7030000dec158eb85743fb955907166b02f01ca3ab4547e57c358"
    );
}

#[test]
fn the_key_of_the_tags() {
    assert_eq!(
        hex(key(1).mac_key().as_bytes()),
        "12ccd13d4fd618c4ed426a9833f74619"
    );
}

#[test]
fn the_acknowledgement_of_a_frame() {
    let codes = example_codes();
    let expected = "70b3d57ed00012346d01000048671427a64c5b50";
    for form in [Form::Bare, Form::Named] {
        let sent = frame(day(form), key(1), 365, &codes);
        let acknowledgement = Acknowledgement::of(&day(form), &key(1).mac_key(), &sent).unwrap();
        assert_eq!(hex(acknowledgement.as_bytes()), expected);
        assert!(acknowledgement.is(acknowledgement.as_bytes()));
        for bit in 0..8 * Acknowledgement::BYTES {
            let mut flipped = *acknowledgement.as_bytes();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!acknowledgement.is(&flipped));
        }
        assert!(!acknowledgement.is(&acknowledgement.as_bytes()[..19]));
        // Every other frame has another.
        let other = frame(day(form), key(1), 366, &codes);
        let other = Acknowledgement::of(&day(form), &key(1).mac_key(), &other).unwrap();
        assert!(!acknowledgement.is(other.as_bytes()));
        assert_eq!(
            Acknowledgement::of(&day(form), &key(1).mac_key(), &sent[..11]),
            None
        );
    }
}
