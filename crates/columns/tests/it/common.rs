//! Tables of a rehearsal.

use tfhe_sbc_columns::{Column, Computable, ReadingsMetadata, Server, Table, Value};
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

/// A column by its name, offset, scale and bits.
pub(crate) type Described<'a> = (&'a str, f64, f64, u32);

pub(crate) fn rehearsal() -> Server {
    Server::rehearsal(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap()
}

pub(crate) fn metadata(columns: &[Described<'_>], rows: usize) -> ReadingsMetadata {
    let columns = columns.iter().map(|&(name, offset, scale, bits)| Column {
        name: name.to_owned(),
        unit: String::new(),
        offset,
        scale,
        bits,
        compact: None,
        derived: Default::default(),
    });
    ReadingsMetadata {
        columns: columns.collect(),
        rows: (0..rows).map(|row| row.to_string()).collect(),
    }
}

pub(crate) fn table(server: &Server, columns: &[Described<'_>], values: &[Vec<f64>]) -> Table {
    let metadata = metadata(columns, values[0].len());
    server.load_clear(metadata, values).unwrap()
}

/// The value of one computation in a rehearsal.
pub(crate) fn rehearse(server: &Server, value: &dyn Computable) -> Value {
    let [answer] = server.compute([value]).unwrap();
    answer.rehearsed().unwrap()
}
