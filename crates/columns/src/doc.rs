//! A small table for the examples of the documentation.

use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_upload::derived::{Derived, Validity};
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsMetadata};

use crate::{Server, Table};

/// A rehearsal of the default parameter set.
///
/// # Panics
/// Never: the set is valid.
#[expect(clippy::expect_used, reason = "for examples only")]
pub fn rehearsal() -> Server {
    let parameters = MESSAGE_2_CARRY_2.validate().expect("a shipped set");
    Server::rehearsal(&parameters).expect("a set for integers")
}

/// Three hours of `temperature_c` and `humidity_pct`.
///
/// # Panics
/// Never: the values fit their columns.
#[expect(clippy::expect_used, reason = "for examples only")]
pub fn table(server: &Server) -> Table {
    let column = |name: &str, unit: &str, offset, scale, bits| Column {
        name: name.to_owned(),
        unit: unit.to_owned(),
        offset,
        scale,
        bits,
        compact: None,
        derived: Default::default(),
    };
    let metadata = ReadingsMetadata {
        columns: vec![
            column("temperature_c", "°C", -40.0, 0.1, 11),
            column("humidity_pct", "%", 0.0, 1.0, 7),
        ],
        rows: ["10:00", "11:00", "12:00"].map(String::from).to_vec(),
        gaps: Default::default(),
    };
    let values = [vec![28.4, 30.1, 31.5], vec![60.0, 55.0, 48.0]];
    let table = server.load_clear(metadata, &values);
    table.expect("values in range")
}

/// Three hours of `temperature_c`, in the second of which there is no reading.
///
/// # Panics
/// Never: the values fit the column.
#[expect(clippy::expect_used, reason = "for examples only")]
pub fn table_with_gaps(server: &Server) -> Table {
    let metadata = ReadingsMetadata {
        columns: vec![Column {
            name: "temperature_c".to_owned(),
            unit: "°C".to_owned(),
            offset: -40.0,
            scale: 0.1,
            bits: 11,
            compact: Some(Compact {
                headroom: 4,
                body_bits: 30,
                feedback: false,
            }),
            derived: Derived {
                valid: Some(Validity::Encrypted(Compact {
                    headroom: 14,
                    body_bits: 21,
                    feedback: true,
                })),
                ..Derived::default()
            },
        }],
        rows: ["10:00", "11:00", "12:00"].map(String::from).to_vec(),
        gaps: Default::default(),
    };
    let table = server.load_clear(metadata, &[vec![28.4, f64::NAN, 31.5]]);
    table.expect("values in range")
}
