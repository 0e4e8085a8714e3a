//! Tables of a rehearsal, and keys with uploads under them.

use std::ops::Range;

use proptest::test_runner::Config as ProptestConfig;
use tfhe_sbc_columns::{Column, Computable, ReadingsMetadata, Server, Table, Value};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::declaration::{Declaration, Missing};
use tfhe_sbc_upload::definition::{Definition, Under, UploadKind};
use zeroize::Zeroizing;

use crate::quick_set::QUICK_2_2;

/// A column by its name, offset, scale and bits.
pub(crate) type Described<'a> = (&'a str, f64, f64, u32);

/// The settings of a property whose cases take seconds: `usual` random cases, or four times as many where `cargo xtask test
/// --all` runs them, which sets the variable.
pub(crate) fn repetitions(usual: u32) -> ProptestConfig {
    let times = match std::env::var_os("TFHE_SBC_LONG_TESTS") {
        Some(_) => 4,
        None => 1,
    };
    ProptestConfig::with_cases(times * usual)
}

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
        gaps: Default::default(),
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

/// The keys of a key set, each with the party that has it.
pub(crate) struct Keys {
    pub(crate) secret: SecretKey,
    pub(crate) server: Server,
    /// The bytes of the device key.
    pub(crate) device: Zeroizing<Vec<u8>>,
    /// The bytes of a device public key.
    pub(crate) public: Zeroizing<Vec<u8>>,
}

impl Keys {
    /// Generates the keys from a seed of this byte.
    pub(crate) fn generate(seed: u8) -> Self {
        let parameters = QUICK_2_2.validate().unwrap();
        let mut seeds = SeedSequence::new(Seed::from_bytes([seed; 32]));
        let secret = SecretKey::generate(parameters, &mut seeds).unwrap();
        let key = SeededServerKey::<u64>::generate(&secret, &mut seeds, &|_| ()).unwrap();
        let public = secret.device_public_key(&mut seeds).unwrap();
        Self {
            server: Server::new(key.prepare(&|_| ())),
            device: secret.device_key().to_bytes().unwrap(),
            public: Zeroizing::new(public.to_bytes().unwrap()),
            secret,
        }
    }
}

/// Encrypts the rows `rows` of `values`, column by column, under the bytes of a device key or a device
/// public key.
pub(crate) fn upload(
    key: &Zeroizing<Vec<u8>>,
    metadata: &ReadingsMetadata,
    values: &[Vec<f64>],
    rows: Range<usize>,
) -> Vec<u8> {
    let mut board = DeviceSession::new(key.clone(), MemoryPlan::recommended()).unwrap();
    let values: Vec<&[f64]> = values.iter().map(|list| &list[rows.clone()]).collect();
    let ReadingsMetadata { columns, rows, .. } = metadata;
    board
        .encrypt_table(ExpanderKind::ChaCha20, columns, rows, &values)
        .unwrap()
}

/// A column whose readings may be missing, in compact form or in radix blocks.
pub(crate) fn optional_column(
    name: &str,
    (offset, scale): (f64, f64),
    bits: u32,
    missing: Missing,
    is_radix: bool,
) -> Column {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let definition = Definition {
        name: name.to_owned(),
        unit: String::new(),
        offset,
        scale,
        bits,
        usage: None,
        compact: None,
        derived: Declaration {
            optional: missing,
            ..Declaration::default()
        },
    };
    let column = definition.column(Under {
        parameters: &parameters,
        kind: UploadKind::PublicKey,
    });
    let mut column = column.unwrap();
    if is_radix {
        column.compact = None;
    }
    column
}
