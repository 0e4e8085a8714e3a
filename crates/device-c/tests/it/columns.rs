//! Columns with encodings of their own as C calls them: the messages and descriptions of
//! `tfhe_sbc_device`, and what is refused.
#![allow(
    clippy::borrow_as_ptr,
    clippy::undocumented_unsafe_blocks,
    reason = "calls with pointers to what is declared a line before, or refused ones"
)]

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use tfhe_sbc_c::*;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_device::{
    BodyRounding, ColumnValues as Values, CompactEncoding, ExpanderKind, FixedPoint, MemoryPlan,
    PublicEncryptor, ReseedPolicy, Seed, SeedSequence,
};

use crate::abi::{collect, full, init, known_source, wipe, Device, OK};

pub(crate) const MEANS: Compact = Compact {
    headroom: 14,
    body_bits: 29,
    feedback: 1,
};
pub(crate) const ALARMS: Compact = Compact {
    headroom: 1,
    body_bits: 18,
    feedback: 0,
};
pub(crate) const NOT_COMPACT: Compact = Compact {
    headroom: 0,
    body_bits: 0,
    feedback: 0,
};
pub(crate) const CELSIUS: Encoding = Encoding {
    offset: -40.0,
    scale: 0.1,
    bits: 10,
};
pub(crate) const ADC: Encoding = Encoding {
    offset: 0.0,
    scale: 1.0,
    bits: 12,
};
pub(crate) const NOTHING: Derived = Derived {
    square: NOT_COMPACT,
    flags_from: null(),
    flag_count: 0,
    flags: NOT_COMPACT,
};
pub(crate) const NO_VALUES: ColumnValues = ColumnValues {
    blocks: null(),
    codes: null(),
    readings: null(),
    count: 0,
    encoding: ADC,
    compact: NOT_COMPACT,
    derived: NOTHING,
};

/// The values of a message of three columns that do not fit one polynomial.
struct Table {
    readings: Vec<f64>,
    blocks: Vec<u8>,
    codes: Vec<u64>,
}

impl Table {
    fn new() -> Self {
        Self {
            readings: (0..1500).map(|i| f64::from(i % 90) - 40.0).collect(),
            blocks: (0..600).map(|i| (i % 4) as u8).collect(),
            codes: (0..1000).map(|i| i * 37 % 4096).collect(),
        }
    }

    fn in_c(&self) -> [ColumnValues; 3] {
        let readings = ColumnValues {
            readings: self.readings.as_ptr(),
            count: self.readings.len(),
            encoding: CELSIUS,
            compact: MEANS,
            ..NO_VALUES
        };
        let blocks = ColumnValues {
            blocks: self.blocks.as_ptr(),
            count: self.blocks.len(),
            ..NO_VALUES
        };
        let codes = ColumnValues {
            codes: self.codes.as_ptr(),
            count: self.codes.len(),
            encoding: ADC,
            compact: ALARMS,
            ..NO_VALUES
        };
        [readings, blocks, codes]
    }

    fn in_rust(&self) -> [Values<'_>; 3] {
        let celsius = FixedPoint::new(-40.0, 0.1, 10).unwrap();
        let means = CompactEncoding::new(10, 14, 29, BodyRounding::ErrorFeedback).unwrap();
        let alarms = CompactEncoding::new(12, 1, 18, BodyRounding::Nearest).unwrap();
        [
            Values::Readings(means, celsius, &self.readings),
            Values::Blocks(&self.blocks),
            Values::Codes(alarms, &self.codes),
        ]
    }
}

pub(crate) fn integer_device() -> Device {
    let workspace_len = WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED_PUBLIC;
    Device::of(MESSAGE_2_CARRY_2, workspace_len)
}

pub(crate) fn encrypt_columns(
    encryptor: &mut Encryptor,
    columns: &[ColumnValues],
    out: &mut [u8],
) -> (i32, usize) {
    let mut len = 0;
    let (columns, count) = (columns.as_ptr(), columns.len());
    let (out, capacity) = (out.as_mut_ptr(), out.len());
    let status =
        unsafe { tfhe_sbc_encrypt_columns(encryptor, columns, count, out, capacity, &mut len) };
    (status, len)
}

#[test]
fn columns_are_those_of_the_library() {
    let table = Table::new();
    let columns = table.in_c();
    for public in [false, true] {
        let (mut device, mut encryptor) = (integer_device(), Encryptor::new());
        let key = match public {
            false => device.key.clone(),
            true => device.public_key.clone(),
        };
        let workspace_len = device.workspace.as_mut_slice().len();
        let options = Options {
            key: key.as_ptr(),
            key_len: key.len(),
            workspace_len,
            ..device.options()
        };
        let init = match public {
            false => tfhe_sbc_encryptor_init,
            true => tfhe_sbc_encryptor_init_public,
        };
        assert_eq!(unsafe { init(&mut encryptor, &options) }, OK);
        let (first, count) = (columns.as_ptr(), columns.len());
        let mut bytes = 0;
        let status =
            unsafe { tfhe_sbc_columns_message_bytes(&mut encryptor, first, count, &mut bytes) };
        assert_eq!(status, OK);
        let mut message = vec![0; bytes];
        assert_eq!(
            encrypt_columns(&mut encryptor, &columns, &mut message),
            (OK, bytes)
        );
        let mut streamed = Vec::<u8>::new();
        let context = (&raw mut streamed).cast();
        let status = unsafe {
            tfhe_sbc_encrypt_columns_to(&mut encryptor, first, count, Some(collect), context)
        };
        assert_eq!(status, OK);
        assert_eq!(wipe(&mut encryptor), OK);

        let seeds = SeedSequence::with_reseeding(known_source(), ReseedPolicy::default()).unwrap();
        let (plan, expander) = (MemoryPlan::Balanced, ExpanderKind::ChaCha20);
        let workspace = device.workspace.as_mut_slice();
        let expected = match public {
            false => {
                let session = tfhe_sbc_device::Encryptor::<u64, _>::new(
                    &key, plan, expander, seeds, workspace,
                );
                two_messages(session.unwrap(), &table)
            }
            true => {
                let session =
                    PublicEncryptor::<u64, _>::new(&key, plan, expander, seeds, workspace);
                two_messages(session.unwrap(), &table)
            }
        };
        assert!([message, streamed] == expected, "public: {public}");
    }
}

fn two_messages<K: tfhe_sbc_device::SessionMode<u64>, S: tfhe_sbc_device::EntropySource>(
    mut session: tfhe_sbc_device::Session<'_, u64, K, S>,
    table: &Table,
) -> [Vec<u8>; 2] {
    let columns = table.in_rust();
    [(), ()].map(|()| {
        let mut message = vec![0; session.columns_message_len(&columns)];
        session.encrypt_columns(&columns, &mut message).unwrap();
        message
    })
}

#[test]
fn columns_that_cannot_be_encrypted_are_refused_with_their_reason() {
    let (mut device, mut encryptor) = (integer_device(), Encryptor::new());
    let options = device.options();
    let options = Options {
        workspace_len: WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED,
        ..options
    };
    let table = Table::new();
    let [readings, blocks, codes] = table.in_c();
    let mut out = vec![0; 1 << 14];
    let not_started = encrypt_columns(&mut encryptor, &[blocks], &mut out);
    assert_eq!(not_started, (Status::NotInitialised as i32, 0));
    assert_eq!(init(&mut encryptor, &options), OK);
    let (wide, large_block, hot, no_number) = ([4096], [4], [21.0, 99.0], [f64::NAN]);
    let inside = options.workspace.cast_const();
    let cases: [(Status, Vec<ColumnValues>); 17] = [
        (Status::ColumnCount, vec![]),
        (Status::ColumnCount, vec![blocks; 1025]),
        (Status::Null, vec![NO_VALUES]),
        (
            Status::ElementCount,
            vec![ColumnValues { count: 0, ..codes }],
        ),
        (
            Status::Length,
            vec![ColumnValues {
                count: usize::MAX,
                ..codes
            }],
        ),
        // Two kinds of values.
        (
            Status::Compact,
            vec![ColumnValues {
                codes: codes.codes,
                ..readings
            }],
        ),
        (
            Status::Compact,
            vec![ColumnValues {
                compact: ALARMS,
                ..blocks
            }],
        ),
        (
            Status::Compact,
            vec![ColumnValues {
                compact: NOT_COMPACT,
                ..codes
            }],
        ),
        (
            Status::Compact,
            vec![ColumnValues {
                compact: Compact {
                    body_bits: 13,
                    ..ALARMS
                },
                ..codes
            }],
        ),
        (
            Status::Compact,
            vec![ColumnValues {
                compact: Compact {
                    headroom: 37,
                    ..ALARMS
                },
                ..codes
            }],
        ),
        (
            Status::Compact,
            vec![ColumnValues {
                encoding: Encoding { bits: 0, ..ADC },
                ..codes
            }],
        ),
        (
            Status::Encoding,
            vec![ColumnValues {
                encoding: Encoding {
                    scale: 0.0,
                    ..CELSIUS
                },
                ..readings
            }],
        ),
        (
            Status::BlockOutOfRange,
            vec![ColumnValues {
                codes: wide.as_ptr(),
                count: 1,
                ..codes
            }],
        ),
        (
            Status::BlockOutOfRange,
            vec![ColumnValues {
                blocks: large_block.as_ptr(),
                count: 1,
                ..blocks
            }],
        ),
        (
            Status::ReadingOutOfRange,
            vec![
                blocks,
                ColumnValues {
                    readings: hot.as_ptr(),
                    count: 2,
                    ..readings
                },
            ],
        ),
        (
            Status::ReadingNotFinite,
            vec![ColumnValues {
                readings: no_number.as_ptr(),
                count: 1,
                ..readings
            }],
        ),
        (
            Status::Overlap,
            vec![
                blocks,
                ColumnValues {
                    codes: inside.cast(),
                    count: 1,
                    ..codes
                },
            ],
        ),
    ];
    for (status, columns) in cases {
        let refused = encrypt_columns(&mut encryptor, &columns, &mut out);
        assert_eq!(refused, (status as i32, 0), "{status:?}: {columns:?}");
        let (first, count) = (columns.as_ptr(), columns.len());
        let refused = unsafe {
            tfhe_sbc_encrypt_columns_to(&mut encryptor, first, count, Some(full), null_mut())
        };
        assert_eq!(refused, status as i32, "{status:?}, in pieces");
    }
    assert!(out.iter().all(|&byte| byte == 0));
    let good = [readings, blocks, codes];
    let (mut len, first) = (0, good.as_ptr());
    let refused = unsafe {
        let misplaced = first.cast_mut().cast();
        tfhe_sbc_columns_message_bytes(&mut encryptor, first, 3, misplaced)
    };
    assert_eq!(refused, Status::Overlap as i32);
    let status = unsafe { tfhe_sbc_columns_message_bytes(&mut encryptor, first, 3, &mut len) };
    assert_eq!(status, OK);
    let short = encrypt_columns(&mut encryptor, &good, &mut out[..len - 1]);
    assert_eq!(short, (Status::OutputTooSmall as i32, 0));
    for (status, sink) in [
        (Status::Null, None),
        (
            Status::SinkFailed,
            Some(full as unsafe extern "C" fn(_, _, _) -> _),
        ),
    ] {
        let refused =
            unsafe { tfhe_sbc_encrypt_columns_to(&mut encryptor, first, 3, sink, null_mut()) };
        assert_eq!(refused, status as i32);
    }
    assert_eq!(encrypt_columns(&mut encryptor, &good, &mut out), (OK, len));
    assert_eq!(wipe(&mut encryptor), OK);

    // A key for bits has no columns.
    let mut device = Device::new();
    assert_eq!(init(&mut encryptor, &device.options()), OK);
    let refused = encrypt_columns(&mut encryptor, &good, &mut out);
    assert_eq!(refused, (Status::PlaintextKind as i32, 0));
    assert_eq!(wipe(&mut encryptor), OK);
}

/// The description of a compact column and one of blocks is that of the library, which the tests of
/// `tfhe_sbc_upload` read as a server does.
#[test]
fn descriptions_are_those_of_the_library() {
    let (mut device, mut encryptor) = (integer_device(), Encryptor::new());
    let options = Options {
        workspace_len: WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED,
        ..device.options()
    };
    assert_eq!(init(&mut encryptor, &options), OK);
    let column = |name: &'static CStr, encoding, compact| Column {
        name: name.as_ptr(),
        unit: c"".as_ptr(),
        encoding,
        compact,
        derived: NOTHING,
    };
    let columns = [
        column(c"means", CELSIUS, MEANS),
        column(c"blocks", ADC, NOT_COMPACT),
        column(c"alarms", ADC, ALARMS),
    ];
    let rows = [c"10:00".as_ptr()];
    let mut describe = |columns: &[Column]| {
        let (mut message, mut len) = (vec![0; 1000], 0);
        let (out, capacity) = (message.as_mut_ptr(), message.len());
        let status = unsafe {
            let (first, count) = (columns.as_ptr(), columns.len());
            tfhe_sbc_describe(
                &mut encryptor,
                first,
                count,
                rows.as_ptr(),
                1,
                out,
                capacity,
                &mut len,
            )
        };
        message.truncate(len);
        (status, message)
    };
    let (status, message) = describe(&columns);
    assert_eq!(status, OK);
    for compact in [
        Compact {
            body_bits: 13,
            ..ALARMS
        },
        Compact {
            feedback: 1,
            ..NOT_COMPACT
        },
    ] {
        let refused = describe(&[column(c"a", ADC, compact)]);
        assert_eq!(refused, (Status::Compact as i32, vec![]));
    }
    assert_eq!(wipe(&mut encryptor), OK);

    let session = tfhe_sbc_device::Encryptor::<u64>::new(
        &device.key,
        MemoryPlan::Balanced,
        ExpanderKind::ChaCha20,
        SeedSequence::new(Seed::from_bytes([1; 32])),
        device.workspace.as_mut_slice(),
    )
    .unwrap();
    let [means, _, alarms] = Table::new().in_rust().map(|values| match values {
        Values::Codes(encoding, _)
        | Values::Readings(encoding, ..)
        | Values::Derived(encoding, ..)
        | Values::DerivedCodes(encoding, ..) => Some(encoding),
        Values::Blocks(_) => None,
    });
    let adc = FixedPoint::new(0.0, 1.0, 12).unwrap();
    let celsius = FixedPoint::new(-40.0, 0.1, 10).unwrap();
    let column = |name, encoding, compact| tfhe_sbc_device::Column {
        name,
        unit: "",
        encoding,
        compact,
        derived: tfhe_sbc_device::Derived::default(),
    };
    let columns = [
        column("means", celsius, means),
        column("blocks", adc, None),
        column("alarms", adc, alarms),
    ];
    let description = session.describe(columns.into_iter(), ["10:00"].into_iter());
    let mut expected = vec![0; 1000];
    let len = description.unwrap().write(&mut expected).unwrap();
    assert_eq!(message, expected[..len]);
}
