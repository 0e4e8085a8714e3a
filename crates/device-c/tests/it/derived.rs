//! Squares and flags as C declares them: the bytes of `tfhe_sbc_device`, which are recorded, too, and what is
//! refused.
#![allow(
    clippy::borrow_as_ptr,
    clippy::undocumented_unsafe_blocks,
    reason = "calls with pointers to what is declared a line before, or refused ones"
)]

use std::ptr::null;

use tfhe_sbc_c::*;
use tfhe_sbc_core::encoding::Derivation;
use tfhe_sbc_core::parameter_sets::superseded::release_0_1::MESSAGE_2_CARRY_2;
use tfhe_sbc_device::{
    BodyRounding, ColumnValues as Values, CompactEncoding, EntropySource, ExpanderKind, FixedPoint,
    MemoryPlan, PublicEncryptor, ReseedPolicy, SeedSequence, Session, SessionMode,
};

use crate::abi::{collect, init, known_source, wipe, Device, OK};
use crate::columns::{
    encrypt_columns, integer_device, ADC, ALARMS, CELSIUS, MEANS, NOTHING, NOT_COMPACT, NO_VALUES,
};

const SQUARES: Compact = Compact {
    headroom: 14,
    body_bits: 41,
    feedback: 1,
};
const FLAGS: Compact = Compact {
    headroom: 14,
    body_bits: 21,
    feedback: 1,
};
/// The first codes of the flags of the readings.
const CUTS: [u64; 3] = [1, 612, 1023];

fn derived(square: Compact, cuts: &[u64], flags: Compact) -> Derived {
    Derived {
        square,
        flags_from: cuts.as_ptr(),
        flag_count: cuts.len(),
        flags,
    }
}

/// Readings with squares and flags, blocks, and codes with one flag.
struct Table {
    readings: Vec<f64>,
    blocks: Vec<u8>,
    codes: Vec<u64>,
}

impl Table {
    /// With the extremes and the codes beside a cut first.
    fn new(rows: usize) -> Self {
        let first = [0, 1023, 611, 612, 613];
        let code = |row: usize| match first.get(row) {
            Some(&code) => code,
            None => (row * 37 % 1024) as u64,
        };
        let celsius = FixedPoint::new(-40.0, 0.1, 10).unwrap();
        let codes: Vec<u64> = (0..rows).map(code).collect();
        Self {
            readings: codes
                .iter()
                .map(|&code| celsius.decode(code as f64))
                .collect(),
            blocks: (0..rows).map(|row| (row % 4) as u8).collect(),
            codes,
        }
    }

    fn in_c(&self) -> [ColumnValues; 3] {
        let readings = ColumnValues {
            readings: self.readings.as_ptr(),
            count: self.readings.len(),
            encoding: CELSIUS,
            compact: MEANS,
            derived: derived(SQUARES, &CUTS, FLAGS),
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
            derived: derived(NOT_COMPACT, &CUTS[1..2], FLAGS),
            ..NO_VALUES
        };
        [readings, blocks, codes]
    }

    /// The columns, each before what is derived from it.
    fn in_rust(&self) -> [Values<'_>; 8] {
        let means = |bits, body_bits| {
            CompactEncoding::new(bits, 14, body_bits, BodyRounding::ErrorFeedback).unwrap()
        };
        let alarms = CompactEncoding::new(12, 1, 18, BodyRounding::Nearest).unwrap();
        let celsius = FixedPoint::new(-40.0, 0.1, 10).unwrap();
        let (square, flag) = (means(20, 41), means(1, 21));
        let from = |cut| Values::Derived(flag, Derivation::From(cut), celsius, &self.readings);
        [
            Values::Readings(means(10, 29), celsius, &self.readings),
            Values::Derived(square, Derivation::Square, celsius, &self.readings),
            from(1),
            from(612),
            from(1023),
            Values::Blocks(&self.blocks),
            Values::Codes(alarms, &self.codes),
            Values::DerivedCodes(flag, Derivation::From(612), 12, &self.codes),
        ]
    }
}

fn two_messages<K: SessionMode<u64>, S: EntropySource>(
    mut session: Session<'_, u64, K, S>,
    table: &Table,
) -> [Vec<u8>; 2] {
    let columns = table.in_rust();
    [(), ()].map(|()| {
        let mut message = vec![0; session.columns_message_len(&columns)];
        session.encrypt_columns(&columns, &mut message).unwrap();
        message
    })
}

/// Two messages of the C library, in a buffer and in pieces, and those of the library for Rust.
fn of_both(mut device: Device, table: &Table, public: bool) -> [[Vec<u8>; 2]; 2] {
    let columns = table.in_c();
    let mut encryptor = Encryptor::new();
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
    let encrypted = encrypt_columns(&mut encryptor, &columns, &mut message);
    assert_eq!(encrypted, (OK, bytes));
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
            let session =
                tfhe_sbc_device::Encryptor::<u64, _>::new(&key, plan, expander, seeds, workspace);
            two_messages(session.unwrap(), table)
        }
        true => {
            let session = PublicEncryptor::<u64, _>::new(&key, plan, expander, seeds, workspace);
            two_messages(session.unwrap(), table)
        }
    };
    [[message, streamed], expected]
}

#[test]
fn derived_columns_are_those_of_the_library() {
    // Columns of less than a polynomial and of more.
    for rows in [3, 2500] {
        for public in [false, true] {
            let [in_c, expected] = of_both(integer_device(), &Table::new(rows), public);
            assert!(in_c == expected, "{rows} rows, public: {public}");
        }
    }
}

#[test]
fn the_bytes_are_those_that_were_recorded() {
    // Under a key of the set of release 0.1, with which they were recorded.
    let device = Device::of(
        MESSAGE_2_CARRY_2,
        WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED_PUBLIC,
    );
    let [[message, _], _] = of_both(device, &Table::new(3), false);
    let seen: Vec<String> = message
        .chunks(32)
        .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    assert_eq!(seen, RECORDED, "{seen:#?}");
}

/// A header with the table of segments, the bodies and a checksum.
const RECORDED: [&str; 8] = [
    "5453424301000b01d3d422660dfa72480e3e1d2e4224d3234ac3c0c3a0dc2174",
    "d3d10020fa1f8e5c000800000100000040000001000000001800000054bf03be",
    "7ce1330de19c360b9ea3649b8b2b0a84f66c1c6d9cbd65b9d95d047789000000",
    "00000000080003000000041d0a0e030000000429140e030000000415010e0300",
    "00000415010e030000000415010e03000000020c02020300000003120c010300",
    "00000415010e6084ccf13b890ab88ad32d29e36ae62a488681f5b8fe5c53d563",
    "045212e03186f872431bc68523748c8b2ad2e04254838f3e38a0c9acbd003655",
    "681593fd184a0bd0d7f696f346d9b66655",
];

#[test]
fn what_cannot_be_derived_is_refused() {
    let (mut device, mut encryptor) = (integer_device(), Encryptor::new());
    let options = Options {
        workspace_len: WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED,
        ..device.options()
    };
    assert_eq!(init(&mut encryptor, &options), OK);
    let table = Table::new(3);
    let [readings, blocks, codes] = table.in_c();
    let misaligned = CUTS.as_ptr().cast::<u8>().wrapping_add(1).cast();
    let narrow = Compact {
        body_bits: 34,
        ..SQUARES
    };
    let cases = [
        (Status::Derived, blocks, derived(SQUARES, &[], NOT_COMPACT)),
        (Status::Derived, blocks, derived(NOT_COMPACT, &CUTS, FLAGS)),
        (Status::Derived, codes, derived(NOT_COMPACT, &[5, 5], FLAGS)),
        (Status::Derived, codes, derived(NOT_COMPACT, &[6, 5], FLAGS)),
        (Status::Derived, codes, derived(NOT_COMPACT, &[0, 5], FLAGS)),
        (
            Status::Derived,
            readings,
            derived(NOT_COMPACT, &[1024], FLAGS),
        ),
        (Status::Derived, codes, derived(NOT_COMPACT, &[4096], FLAGS)),
        // A form without flags, flags without a form, and forms that are none.
        (Status::Derived, codes, derived(NOT_COMPACT, &[], FLAGS)),
        (
            Status::Compact,
            codes,
            derived(NOT_COMPACT, &[5], NOT_COMPACT),
        ),
        (Status::Compact, readings, derived(narrow, &[], NOT_COMPACT)),
        (
            Status::Compact,
            ColumnValues {
                encoding: Encoding { bits: 21, ..ADC },
                compact: MEANS,
                ..codes
            },
            derived(SQUARES, &[], NOT_COMPACT),
        ),
        (
            Status::Null,
            codes,
            Derived {
                flags_from: null(),
                ..codes.derived
            },
        ),
        (
            Status::Misaligned,
            codes,
            Derived {
                flags_from: misaligned,
                ..codes.derived
            },
        ),
        (
            Status::Length,
            codes,
            Derived {
                flag_count: usize::MAX,
                ..codes.derived
            },
        ),
    ];
    let mut out = vec![0; 1 << 14];
    for (status, column, derived) in cases {
        let compact = column.compact;
        let values = ColumnValues { derived, ..column };
        let refused = encrypt_columns(&mut encryptor, &[values], &mut out);
        assert_eq!(refused, (status as i32, 0), "{status:?}: {derived:?}");
        let column = Column {
            name: c"x".as_ptr(),
            unit: c"".as_ptr(),
            encoding: column.encoding,
            compact,
            derived,
        };
        let (rows, mut len) = ([c"10:00".as_ptr()], 0);
        let (out, capacity) = (out.as_mut_ptr(), out.len());
        let refused = unsafe {
            tfhe_sbc_describe(
                &mut encryptor,
                &column,
                1,
                rows.as_ptr(),
                1,
                out,
                capacity,
                &mut len,
            )
        };
        assert_eq!(
            (refused, len),
            (status as i32, 0),
            "{status:?}: {derived:?}"
        );
    }
    assert!(out.iter().all(|&byte| byte == 0));
    // A cut in the memory that the message is written to.
    let mut words = vec![5_u64; 128];
    let misplaced = ColumnValues {
        derived: derived(NOT_COMPACT, &words[..1], FLAGS),
        ..codes
    };
    let (mut len, message) = (0, words.as_mut_ptr().cast());
    let refused =
        unsafe { tfhe_sbc_encrypt_columns(&mut encryptor, &misplaced, 1, message, 1024, &mut len) };
    assert_eq!((refused, len), (Status::Overlap as i32, 0));
    assert!(words.iter().all(|&word| word == 5));
    // More segments than a message has.
    let many: Vec<u64> = (1..1024).collect();
    let too_many = ColumnValues {
        derived: derived(SQUARES, &many, FLAGS),
        ..readings
    };
    let refused = encrypt_columns(&mut encryptor, &[too_many], &mut out);
    assert_eq!(refused, (Status::ColumnCount as i32, 0));
    // A code that is too wide is refused as it is without derived columns.
    let wide = [4096];
    let wide = ColumnValues {
        codes: wide.as_ptr(),
        count: 1,
        ..codes
    };
    let refused = encrypt_columns(&mut encryptor, &[wide], &mut out);
    assert_eq!(refused, (Status::BlockOutOfRange as i32, 0));
    let nothing = ColumnValues {
        derived: NOTHING,
        ..codes
    };
    let (status, without) = encrypt_columns(&mut encryptor, &[nothing], &mut out);
    assert_eq!(status, OK);
    let (status, with) = encrypt_columns(&mut encryptor, &[codes], &mut out);
    // The table of segments has eight bytes more, and each row a body of 21 bits.
    assert_eq!(status, OK);
    assert!(with > without, "{with} {without}");
    assert_eq!(wipe(&mut encryptor), OK);
}
