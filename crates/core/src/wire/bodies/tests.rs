use super::*;
use crate::parameter_sets::MESSAGE_2_CARRY_2;
use crate::wire::CHECKSUM_BYTES;

const KEY: KeyFingerprint = KeyFingerprint([7; 16]);

fn masks(byte: u8) -> SeededMasks {
    SeededMasks {
        expander: ExpanderKind::ChaCha20,
        seed: MaskSeed([byte; 32]),
        key: None,
    }
}

fn window(byte: u8, first: usize, count: usize, weight: i64) -> MaskWindow {
    MaskWindow {
        masks: masks(byte),
        first,
        count,
        weight,
    }
}

fn sums() -> Vec<Bodies> {
    let codes = |count: u64| (1..=count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    vec![
        Bodies {
            codes: codes(1).collect(),
            windows: vec![window(1, 0, 8760, 1)],
        },
        Bodies {
            codes: codes(300).collect(),
            windows: vec![
                window(2, 2047, 1, -1),
                window(1, 70_000, 1, i64::MIN),
                window(2, 5, 2, i64::MAX),
            ],
        },
    ]
}

fn message(bits: u32) -> Vec<u8> {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    write(&parameters, KEY, bits, &sums())
}

#[test]
fn what_is_written_is_read_up_to_the_rounding() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let bytes = message(39);
    let parsed = Message::parse_only(&bytes, Kind::LinearBodies).unwrap();
    let read = read(parsed, &parameters, KEY).unwrap();
    assert_eq!(read.len(), 2);
    for (found, written) in read.iter().zip(sums()) {
        assert_eq!(found.windows, written.windows);
        assert_eq!(found.codes.len(), written.codes.len());
        for (found, original) in found.codes.iter().zip(&written.codes) {
            assert!((found.wrapping_sub(*original) as i64).unsigned_abs() <= 1 << (63 - 39));
        }
    }
    let windows: Vec<MaskWindow> = sums().into_iter().flat_map(|sum| sum.windows).collect();
    let (counts, bodies) = (1 + 1 + (1 + 1) + (2 + 1), 5 + (300 * 39usize).div_ceil(8));
    assert_eq!(
        parsed.payload.len(),
        counts + windows_len(&windows) + bodies
    );
}

/// A changed byte of the layout would make answers of other versions unreadable.
#[test]
fn the_layout_stays() {
    let sum = Bodies {
        codes: vec![0x0123_4567_89ab_cdef],
        windows: vec![window(9, 300, 2, -3)],
    };
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let bytes = write(&parameters, KEY, 16, &[sum]);
    let mut expected = vec![1, 1];
    expected.extend([9; 32]);
    expected.extend([1, 1, 1, 0, 0xac, 0x02, 2, 5]);
    expected.extend([0x23, 0x01]);
    let payload = &bytes[HEADER_BYTES..bytes.len() - CHECKSUM_BYTES];
    assert_eq!(payload, expected);
}

/// The sums above, of which one has an upload under a device's own key.
fn sums_of_devices() -> Vec<Bodies> {
    let mut sums = sums();
    for window in sums.iter_mut().flat_map(|sum| &mut sum.windows) {
        if window.masks.seed == MaskSeed([2; 32]) {
            window.masks.key = Some(KeyFingerprint([3; 16]));
        }
    }
    sums
}

#[test]
fn uploads_keep_the_keys_of_their_devices() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let of_devices = sums_of_devices();
    let bytes = write(&parameters, KEY, 39, &of_devices);
    let parsed = Message::parse_only(&bytes, Kind::DeviceBodies).unwrap();
    let read = read(parsed, &parameters, KEY).unwrap();
    assert!(
        read.iter()
            .map(|sum| &sum.windows)
            .eq(of_devices.iter().map(|sum| &sum.windows))
    );
    let windows: Vec<MaskWindow> = of_devices
        .iter()
        .flat_map(|sum| &sum.windows)
        .copied()
        .collect();
    let plain = message(39).len() - HEADER_BYTES - CHECKSUM_BYTES;
    // The number of keys, a key, and the number of the key of each upload.
    assert_eq!(parsed.payload.len(), plain + 1 + 16 + 2);
    let without_keys: Vec<MaskWindow> = sums().into_iter().flat_map(|sum| sum.windows).collect();
    assert_eq!(windows_len(&windows), windows_len(&without_keys) + 16 + 2);
}

#[test]
fn the_layout_with_keys_stays() {
    let mut one = window(9, 300, 2, -3);
    one.masks.key = Some(KeyFingerprint([6; 16]));
    let sum = Bodies {
        codes: vec![0x0123_4567_89ab_cdef],
        windows: vec![one, window(8, 1, 1, 1)],
    };
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let bytes = write(&parameters, KEY, 16, &[sum]);
    let mut expected = vec![1];
    expected.extend([6; 16]);
    expected.extend([2, 1, 1]);
    expected.extend([9; 32]);
    expected.extend([0, 1]);
    expected.extend([8; 32]);
    expected.extend([1, 1, 2, 0, 0xac, 0x02, 2, 5, 1, 1, 1, 2]);
    expected.extend([0x23, 0x01]);
    let payload = &bytes[HEADER_BYTES..bytes.len() - CHECKSUM_BYTES];
    assert_eq!(payload, expected);
    // A key that is not there, and no keys.
    let (header, _) = Header::parse(&bytes).unwrap();
    for (place, byte, defect) in [
        (HEADER_BYTES + 18, 2, WireError::Field("number of a key")),
        (HEADER_BYTES, 0, WireError::Field("number of keys")),
    ] {
        let mut forged = bytes[..bytes.len() - CHECKSUM_BYTES].to_vec();
        forged[place] = byte;
        header.seal_vec(&mut forged).unwrap();
        let parsed = Message::parse(&forged).unwrap().0;
        assert_eq!(read(parsed, &parameters, KEY).err(), Some(defect));
    }
}

#[test]
fn what_is_forged_is_refused() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let good = message(39);
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good[..good.len() - CHECKSUM_BYTES].to_vec();
        change(&mut bytes);
        let (mut header, _) = Header::parse(&good).unwrap();
        header.element_count = u32::from_le_bytes(bytes[56..60].try_into().unwrap());
        header.mask_bits = bytes[54];
        header.seal_vec(&mut bytes).unwrap();
        let parsed = Message::parse(&bytes).unwrap().0;
        read(parsed, &parameters, KEY).err()
    };
    let field = |name| Some(WireError::Field(name));
    assert_eq!(refused(&|_| {}), None);
    assert_eq!(refused(&|bytes| bytes[56] = 4), field("element count"));
    assert_eq!(refused(&|bytes| bytes[54] = 65), field("mask bits"));
    let expander = HEADER_BYTES + 1;
    let unknown = refused(&|bytes| bytes[expander] = 77);
    assert!(
        matches!(unknown, Some(WireError::Expander(_))),
        "{unknown:?}"
    );
    // The number of an upload that is not there, a number in a long form, no elements.
    let table = HEADER_BYTES + 1 + 2 * UPLOAD_BYTES;
    assert_eq!(refused(&|bytes| bytes[table + 3] = 2), field("window"));
    let long = refused(&|bytes| {
        bytes.splice(table..=table, [0x82, 0x00]);
    });
    assert_eq!(long, field("number"));
    let many = refused(&|bytes| {
        bytes.splice(table..=table, [0xff; 10]);
    });
    assert_eq!(many, field("number"));
    let none = refused(&|bytes| {
        bytes.splice(table + 5..table + 7, [0x00]);
    });
    assert_eq!(none, field("window"));
    let longer = refused(&|bytes| bytes.push(0));
    assert!(matches!(longer, Some(WireError::PayloadLength { .. })));
    let cut = refused(&|bytes| bytes.truncate(bytes.len() - 1));
    assert_eq!(cut, field("length of the bodies"));
    let empty = refused(&|bytes| bytes.truncate(HEADER_BYTES));
    assert_eq!(empty, field("length of the bodies"));
    let last = good.len() - CHECKSUM_BYTES - 1;
    assert_eq!(refused(&|bytes| bytes[last] |= 0x80), field("padding"));
}

#[test]
fn more_masks_than_a_reader_should_make_are_refused() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let most = MAX_ELEMENTS / parameters.polynomial_size().get();
    let of = |count| Bodies {
        codes: vec![0],
        windows: vec![window(1, 0, MAX_ELEMENTS, 1); count],
    };
    let fitting = MAX_POLYNOMIALS / most;
    for (count, expected) in [
        (fitting, None),
        (fitting + 1, Some(WireError::Field("windows"))),
    ] {
        let sum = of(count);
        let polynomials = polynomial_count(&parameters, &sum.windows);
        assert_eq!(polynomials <= MAX_POLYNOMIALS, expected.is_none());
        let bytes = write(&parameters, KEY, 39, &[sum]);
        let parsed = Message::parse(&bytes).unwrap().0;
        assert_eq!(read(parsed, &parameters, KEY).err(), expected);
    }
}
