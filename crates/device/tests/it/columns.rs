//! Columns with encodings of their own: read by the key owner, the same from all plans and in pieces,
//! and what cannot be sent.

use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::wire::columns::{ColumnList, ElementEncoding};
use tfhe_sbc_core::wire::{Kind, Message};
use tfhe_sbc_device::{
    BodyRounding, ColumnValues, CompactEncoding, Derivation, Derived, DeviceError, ExpanderKind,
    FixedPoint, KeyMode, MAX_PIECE_BYTES, MemoryPlan,
};

use crate::common::Device;

const ALARMS: (u32, u32, u32, BodyRounding) = (12, 1, 18, BodyRounding::Nearest);
const MEANS: (u32, u32, u32, BodyRounding) = (10, 14, 29, BodyRounding::ErrorFeedback);

fn encoding(
    (bits, headroom, body_bits, rounding): (u32, u32, u32, BodyRounding),
) -> CompactEncoding {
    CompactEncoding::new(bits, headroom, body_bits, rounding).unwrap()
}

/// Codes that take all values of `bits` bits in some order.
fn codes(bits: u32, count: usize) -> Vec<u64> {
    (0..count as u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits))
        .collect()
}

/// The decrypted elements of a list, segment after segment.
fn read(device: &Device<u64>, message: &[u8]) -> Vec<Vec<u64>> {
    let (parsed, rest) = Message::parse(message).unwrap();
    assert!(rest.is_empty());
    let (parameters, key) = (device.secret.parameters(), device.secret.fingerprint());
    let list = ColumnList::check(parsed, parameters, key).unwrap();
    let prepared = device.secret.glwe().prepare();
    let mut columns = vec![Vec::new(); list.segments().count()];
    for packed in list.packed_ciphertexts() {
        let phase = prepared.phase(&list.expand::<u64>(&packed).unwrap());
        for run in &packed.runs {
            let phases = &phase[run.start..][..run.count];
            columns[run.segment].extend(phases.iter().map(|&phase| match run.encoding {
                ElementEncoding::Radix => parameters.block_encoding().decode(phase),
                ElementEncoding::Compact(encoding) => encoding.decode(phase),
            }));
        }
    }
    columns
}

#[test]
fn columns_of_all_encodings_come_back_under_both_keys_and_from_all_plans() {
    let (alarms, means) = (encoding(ALARMS), encoding(MEANS));
    let first = codes(12, 3000);
    let blocks: Vec<u8> = (0..1500).map(|i| (i % 4) as u8).collect();
    let last = codes(10, 2048 * 2 + 5);
    let columns = [
        ColumnValues::Codes(alarms, &first),
        ColumnValues::Blocks(&blocks),
        ColumnValues::Codes(means, &last),
    ];
    for mode in [KeyMode::Symmetric, KeyMode::Public] {
        let mut messages = Vec::new();
        for plan in MemoryPlan::ALL {
            let mut device = Device::<u64>::with_plan(MESSAGE_2_CARRY_2, 81, plan);
            for pieces in [false, true] {
                let message = match mode {
                    KeyMode::Symmetric => {
                        let mut session = device.session(ExpanderKind::ChaCha20, 5);
                        sent(&mut session, &columns, pieces)
                    }
                    KeyMode::Public => {
                        let mut session = device.public_session(ExpanderKind::ChaCha20, 5);
                        sent(&mut session, &columns, pieces)
                    }
                };
                let header = Message::parse(&message).unwrap().0.header;
                let expected = match mode {
                    KeyMode::Symmetric => Kind::SeededColumnList,
                    KeyMode::Public => Kind::ColumnList,
                };
                assert_eq!(header.kind, expected);
                let found = read(&device, &message);
                assert!(found[0] == first && found[2] == last);
                assert!(
                    found[1].iter().eq(blocks
                        .iter()
                        .map(|b| u64::from(*b))
                        .collect::<Vec<_>>()
                        .iter())
                );
                messages.push(message);
            }
        }
        assert!(messages.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

fn sent<M: tfhe_sbc_device::SessionMode<u64>>(
    session: &mut tfhe_sbc_device::Session<'_, u64, M>,
    columns: &[ColumnValues<'_>],
    pieces: bool,
) -> Vec<u8> {
    let len = session.columns_message_len(columns);
    let mut message = vec![0; if pieces { 0 } else { len }];
    let written = match pieces {
        false => session.encrypt_columns(columns, &mut message),
        true => session.encrypt_columns_to(columns, &mut |piece| {
            assert!((1..=MAX_PIECE_BYTES).contains(&piece.len()));
            message.extend_from_slice(piece);
            Ok(())
        }),
    };
    assert_eq!(written, Ok(len));
    message
}

#[test]
fn readings_become_the_codes_of_their_encoding() {
    let celsius = FixedPoint::new(-40.0, 0.1, 10).unwrap();
    let readings = [-40.0, -12.8, 21.4, 62.3];
    let expected: Vec<u64> = readings
        .iter()
        .map(|r| celsius.encode(*r).unwrap())
        .collect();
    let mut device = Device::<u64>::new(MESSAGE_2_CARRY_2, 82);
    let columns = [ColumnValues::Readings(encoding(MEANS), celsius, &readings)];
    let message = sent(
        &mut device.session(ExpanderKind::ChaCha20, 1),
        &columns,
        false,
    );
    assert_eq!(read(&device, &message), [expected]);
}

/// The worst error of a sum of neighbours shows the feedback: without it, the sum of 8192 rounding
/// errors would be some 26 steps.
#[test]
fn a_sum_of_neighbours_has_the_error_of_two_roundings() {
    let means = encoding(MEANS);
    let codes = codes(10, 8192);
    let mut device = Device::<u64>::new(MESSAGE_2_CARRY_2, 83);
    let columns = [ColumnValues::Codes(means, &codes)];
    let message = sent(
        &mut device.session(ExpanderKind::ChaCha20, 2),
        &columns,
        false,
    );
    let (parameters, key) = (device.secret.parameters(), device.secret.fingerprint());
    let list = ColumnList::check(Message::parse(&message).unwrap().0, parameters, key).unwrap();
    let prepared = device.secret.glwe().prepare();
    let (mut sum, mut expected) = (0u64, 0u64);
    let step = 1i64 << (64 - 29);
    let mut place = 0;
    for packed in list.packed_ciphertexts() {
        for phase in prepared.phase(&list.expand::<u64>(&packed).unwrap()) {
            sum = sum.wrapping_add(phase);
            expected = expected.wrapping_add(means.encode(codes[place]));
            place += 1;
            let off = sum.wrapping_sub(expected) as i64;
            assert!(off.abs() <= step, "{off} after {place} codes");
        }
    }
    assert_eq!(means.decode(sum), codes.iter().sum::<u64>());
}

/// Derived columns have the bytes of columns of the derived codes, however the readings are sent.
#[test]
fn derived_columns_are_those_of_the_derived_codes() {
    let celsius = FixedPoint::new(-40.0, 0.1, 10).unwrap();
    let square = encoding((20, 14, 40, BodyRounding::ErrorFeedback));
    let flag = encoding((1, 14, 22, BodyRounding::ErrorFeedback));
    // More than a polynomial, with the extremes and the codes beside the cut.
    let codes: Vec<u64> = [0, 1023, 611, 612, 613]
        .into_iter()
        .chain(codes(10, 2500))
        .collect();
    let readings: Vec<f64> = codes
        .iter()
        .map(|&code| celsius.decode(code as f64))
        .collect();
    let squares: Vec<u64> = codes.iter().map(|&code| code * code).collect();
    let flags: Vec<u64> = codes.iter().map(|&code| u64::from(code >= 612)).collect();
    let derived = [
        ColumnValues::Readings(encoding(MEANS), celsius, &readings),
        ColumnValues::Derived(square, Derivation::Square, celsius, &readings),
        ColumnValues::Derived(flag, Derivation::From(612), celsius, &readings),
    ];
    let plain = [
        ColumnValues::Codes(encoding(MEANS), &codes),
        ColumnValues::Codes(square, &squares),
        ColumnValues::Codes(flag, &flags),
    ];
    let of_codes = [
        ColumnValues::Codes(encoding(MEANS), &codes),
        ColumnValues::DerivedCodes(square, Derivation::Square, 10, &codes),
        ColumnValues::DerivedCodes(flag, Derivation::From(612), 10, &codes),
    ];
    for plan in MemoryPlan::ALL {
        let message = |columns: &[ColumnValues<'_>], pieces| {
            let mut device = Device::<u64>::with_plan(MESSAGE_2_CARRY_2, 86, plan);
            sent(
                &mut device.session(ExpanderKind::ChaCha20, 1),
                columns,
                pieces,
            )
        };
        let expected = message(&plain, false);
        for columns in [&derived, &of_codes] {
            assert!(message(columns, false) == expected && message(columns, true) == expected);
        }
    }
    let mut device = Device::<u64>::new(MESSAGE_2_CARRY_2, 86);
    let mut session = device.session(ExpanderKind::ChaCha20, 1);
    let narrow = ColumnValues::Derived(encoding(MEANS), Derivation::Square, celsius, &readings);
    let refused = session.encrypt_columns(&[narrow], &mut [0; 1000]);
    let expected = DeviceError::CodeWidth {
        compact: 10,
        fixed_point: 20,
    };
    assert_eq!(refused, Err(expected));
    let out_of_range = ColumnValues::Derived(flag, Derivation::From(1), celsius, &[62.4]);
    let refused = session.encrypt_columns(&[out_of_range], &mut [0; 1000]);
    assert!(matches!(refused, Err(DeviceError::ColumnReading { .. })));
    let mut refused_codes = |form, derivation, bits, codes: &[u64]| {
        let columns = [ColumnValues::DerivedCodes(form, derivation, bits, codes)];
        session
            .encrypt_columns(&columns, &mut [0; 1000])
            .unwrap_err()
    };
    // A square and a flag of codes that are wider than is stated, and squares in the form of others.
    let wide = DeviceError::BlockOutOfRange {
        index: 1,
        modulus: 1 << 10,
    };
    for (form, derivation) in [(square, Derivation::Square), (flag, Derivation::From(1))] {
        assert_eq!(refused_codes(form, derivation, 10, &[0, 1024]), wide);
    }
    for (bits, fixed_point) in [(9, 18), (11, 22), (u32::MAX, 80)] {
        let expected = DeviceError::CodeWidth {
            compact: 20,
            fixed_point,
        };
        assert_eq!(
            refused_codes(square, Derivation::Square, bits, &[0]),
            expected
        );
    }
    let past_40 = DeviceError::BlockOutOfRange {
        index: 0,
        modulus: 1 << 40,
    };
    assert_eq!(
        refused_codes(flag, Derivation::From(1), 64, &[u64::MAX]),
        past_40
    );
}

#[test]
fn the_places_of_what_is_derived_are_those_of_the_segments() {
    let square = encoding((20, 14, 40, BodyRounding::ErrorFeedback));
    let flag = encoding((1, 14, 22, BodyRounding::ErrorFeedback));
    let places = |derived: Derived<'_>| {
        (0..4)
            .map(|place| derived.column(place))
            .collect::<Vec<_>>()
    };
    let (squares, flags) = (
        Some((Derivation::Square, square)),
        Some((&[3, 9][..], flag)),
    );
    let from = |first| Some((Derivation::From(first), flag));
    let square = Some(square);
    assert_eq!(
        places(Derived { square, flags }),
        [squares, from(3), from(9), None]
    );
    let square = None;
    assert_eq!(
        places(Derived { square, flags }),
        [from(3), from(9), None, None]
    );
    assert_eq!(places(Derived::default()), [None; 4]);
}

#[test]
fn what_cannot_be_sent_is_refused_and_uses_no_seed() {
    let alarms = encoding(ALARMS);
    let celsius = FixedPoint::new(-40.0, 0.1, 10).unwrap();
    let mut device = Device::<u64>::new(MESSAGE_2_CARRY_2, 84);
    let mut session = device.session(ExpanderKind::ChaCha20, 1);
    let mut out = vec![0; 1 << 16];
    let mut refused = |columns: &[ColumnValues<'_>]| {
        let error = session.encrypt_columns(columns, &mut out).unwrap_err();
        assert!(out.iter().all(|&byte| byte == 0));
        error
    };
    let wide = DeviceError::BlockOutOfRange {
        index: 1,
        modulus: 1 << 12,
    };
    assert_eq!(refused(&[ColumnValues::Codes(alarms, &[1, 1 << 12])]), wide);
    let wide = DeviceError::BlockOutOfRange {
        index: 0,
        modulus: 4,
    };
    assert_eq!(refused(&[ColumnValues::Blocks(&[4])]), wide);
    assert_eq!(refused(&[]), DeviceError::ColumnCount(0));
    assert_eq!(
        refused(&[ColumnValues::Codes(alarms, &[])]),
        DeviceError::ElementCount(0)
    );
    let other_width = ColumnValues::Readings(alarms, celsius, &[20.0]);
    let expected = DeviceError::CodeWidth {
        compact: 12,
        fixed_point: 10,
    };
    assert_eq!(refused(&[other_width]), expected);
    let out_of_range = ColumnValues::Readings(encoding(MEANS), celsius, &[20.0, 100.0]);
    assert!(matches!(
        refused(&[ColumnValues::Codes(alarms, &[1]), out_of_range]),
        DeviceError::ColumnReading {
            column: 1,
            index: 1,
            ..
        }
    ));
    // The first message of the session is that of an untouched one.
    let columns = [ColumnValues::Codes(alarms, &[7])];
    let after = sent(&mut session, &columns, false);
    let mut other = Device::<u64>::new(MESSAGE_2_CARRY_2, 84);
    assert_eq!(
        after,
        sent(
            &mut other.session(ExpanderKind::ChaCha20, 1),
            &columns,
            false
        )
    );
}

#[test]
fn sets_for_bits_have_no_columns() {
    let codes = ColumnValues::Codes(encoding(ALARMS), &[1]);
    let mut gates = Device::<u64>::new(GATES, 85);
    let mut session = gates.session(ExpanderKind::ChaCha20, 1);
    let refused = session.encrypt_columns(&[codes], &mut [0; 1000]);
    assert_eq!(refused, Err(DeviceError::PlaintextKind));
    let mut bits = Device::<u32>::new(BOOLEAN_1024, 85);
    let mut session = bits.session(ExpanderKind::ChaCha20, 1);
    let refused = session.encrypt_columns(&[codes], &mut [0; 1000]);
    assert_eq!(refused, Err(DeviceError::PlaintextKind));
}
