//! Derived columns: decrypted they are the squares, flags and validity of the readings' codes, and metadata that claims
//! anything else than the ciphertexts have is refused.

use ciborium::Value;
use tfhe_sbc_core::encoding::Derivation;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_upload::derived::{Derived, Flags, Validity};
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsError, ReadingsMetadata, Upload};
use tfhe_sbc_upload::{DeviceSession, UploadError, metadata};

const ROWS: usize = 1100;
const CUTS: [u64; 4] = [1, 20, 128, 255];

fn form(headroom: u32, body_bits: u32, feedback: bool) -> Compact {
    Compact {
        headroom,
        body_bits,
        feedback,
    }
}

fn column(name: &str, compact: Option<Compact>, derived: Derived) -> Column {
    Column {
        name: name.to_owned(),
        unit: String::new(),
        offset: -40.0,
        scale: 0.5,
        bits: 8,
        compact,
        derived,
    }
}

/// Radix blocks, a column with squares and flags, one without, and one with flags and validity.
fn columns() -> Vec<Column> {
    let own = Some(form(14, 30, true));
    let flags = |from: &[u64]| {
        Some(Flags {
            from: from.to_vec(),
            compact: form(14, 22, true),
        })
    };
    let both = Derived {
        square: Some(form(14, 36, true)),
        flags: flags(&CUTS),
        valid: None,
    };
    let last = Derived {
        square: None,
        flags: flags(&[7]),
        valid: Some(Validity::Encrypted(form(14, 22, true))),
    };
    vec![
        column("r", None, Derived::default()),
        column("x", own, both),
        column("y", own, Derived::default()),
        column("z", own, last),
    ]
}

fn code(column: usize, row: usize) -> u64 {
    match row {
        _ if is_missing(column, row) => 0,
        // The extremes, and the codes on both sides of a cut.
        0..6 => [0, 255, 19, 20, 127, 128][row],
        _ => (row * (2 * column + 7) % 256) as u64,
    }
}

/// Whether a reading of the last column is missing.
fn is_missing(column: usize, row: usize) -> bool {
    column == 3 && row % 5 == 2
}

fn readings() -> Vec<Vec<f64>> {
    let reading = |c, row| match is_missing(c, row) {
        true => f64::NAN,
        false => -40.0 + 0.5 * code(c, row) as f64,
    };
    let column = |c| (0..ROWS).map(|row| reading(c, row)).collect();
    (0..4).map(column).collect()
}

fn labels() -> Vec<String> {
    (0..ROWS).map(|row| row.to_string()).collect()
}

fn keys() -> SecretKey {
    let mut seeds = SeedSequence::new(Seed::from_bytes([5; 32]));
    SecretKey::generate(MESSAGE_2_CARRY_2.validate().unwrap(), &mut seeds).unwrap()
}

fn upload(key: zeroize::Zeroizing<Vec<u8>>) -> Result<Vec<u8>, UploadError> {
    let mut session = DeviceSession::new(key, MemoryPlan::recommended()).unwrap();
    session.encrypt_table(ExpanderKind::ChaCha20, &columns(), &labels(), &readings())
}

#[test]
fn a_board_sends_squares_and_flags_behind_their_column() {
    let secret = keys();
    let (parameters, key) = (*secret.parameters(), secret.fingerprint());
    let mut seeds = SeedSequence::new(Seed::from_bytes([6; 32]));
    let public = secret.device_public_key(&mut seeds).unwrap();
    for board in [
        secret.device_key().to_bytes().unwrap(),
        zeroize::Zeroizing::new(public.to_bytes().unwrap()),
    ] {
        let bytes = upload(board).unwrap();
        let upload = Upload::parse(&bytes, &parameters, key).unwrap();
        assert_eq!(upload.metadata.columns, columns());
        let blocks = parameters.block_encoding();
        let expanded = ExpandedGlweList::<u64>::expand(&upload.list, &parameters);
        let prepared = secret.glwe().prepare();
        let phases = expanded.ciphertexts().iter();
        let phases: Vec<u64> = phases.flat_map(|c| prepared.phase(c)).collect();
        for (place, column) in columns().iter().enumerate() {
            let own = upload.metadata.blocks_of_column(blocks, place, ROWS);
            let each = column.elements_each(blocks);
            assert_eq!(own.len(), each * ROWS);
            for row in 0..ROWS {
                let at = &phases[own.start + row * each..][..each];
                let found = match column.compact {
                    None => blocks.join(at.iter().map(|&phase| blocks.decode(phase))),
                    Some(compact) => compact.encoding(8).unwrap().decode(at[0]),
                };
                assert_eq!(found, code(place, row), "{} in row {row}", column.name);
            }
            for (derivation, _) in column.derived.columns() {
                let found = upload
                    .metadata
                    .elements_of_derived(blocks, place, derivation, ROWS);
                let (places, compact) = found.unwrap();
                let encoding = compact.encoding(derivation.bits(8)).unwrap();
                for (row, &phase) in phases[places].iter().enumerate() {
                    let expected = match derivation {
                        Derivation::Square => code(place, row).pow(2),
                        Derivation::From(cut) => u64::from(code(place, row) >= cut),
                        Derivation::Valid => u64::from(!is_missing(place, row)),
                    };
                    assert_eq!(
                        encoding.decode(phase),
                        expected,
                        "{derivation:?} in row {row}"
                    );
                }
            }
        }
        let none = upload
            .metadata
            .elements_of_derived(blocks, 1, Derivation::From(2), ROWS);
        assert_eq!(none, None);
    }
}

#[test]
fn a_reading_without_a_code_is_named_by_its_own_column() {
    let mut session = DeviceSession::new(
        keys().device_key().to_bytes().unwrap(),
        MemoryPlan::recommended(),
    )
    .unwrap();
    let mut readings = readings();
    readings[2][3] = 88.0;
    let refused = session.encrypt_table(ExpanderKind::ChaCha20, &columns(), &labels(), &readings);
    let message = refused.unwrap_err().to_string();
    assert!(message.starts_with("row 4 (3), column 'y': "), "{message}");
}

/// The bytes of an upload whose metadata is replaced.
fn forged(bytes: &[u8], secret: &SecretKey, metadata: &impl serde::Serialize) -> Vec<u8> {
    let (_, list) = Message::parse(bytes).unwrap();
    let parameters = secret.parameters().fingerprint();
    let mut forged = metadata::write(parameters, secret.fingerprint(), metadata).unwrap();
    forged.extend_from_slice(list);
    forged
}

#[test]
fn forged_and_contradictory_metadata_is_refused() {
    let secret = keys();
    let (parameters, key) = (*secret.parameters(), secret.fingerprint());
    let bytes = upload(secret.device_key().to_bytes().unwrap()).unwrap();
    let metadata: ReadingsMetadata = metadata::read(Message::parse(&bytes).unwrap().0).unwrap();
    let refused = |change: &dyn Fn(&mut [Column])| {
        let mut changed = metadata.clone();
        change(&mut changed.columns);
        let bytes = forged(&bytes, &secret, &changed);
        Upload::parse(&bytes, &parameters, key)
            .map(|_| ())
            .unwrap_err()
    };
    let flags = |columns: &mut [Column]| columns[1].derived.flags.take().unwrap();
    // Another number of columns than the list has.
    for change in [
        |columns: &mut [Column]| columns[1].derived.square = None,
        |columns: &mut [Column]| columns[3].derived.valid = None,
        |columns: &mut [Column]| columns[2].derived.valid = columns[3].derived.valid,
        |columns: &mut [Column]| columns[2].derived = columns[3].derived.clone(),
        |columns: &mut [Column]| columns[1].derived.flags.as_mut().unwrap().from = vec![1, 20, 128],
    ] {
        assert!(matches!(refused(&change), ReadingsError::BlockCount { .. }));
    }
    // As many columns, but of other forms: squares as a flag, and the other way round.
    let error = refused(&|columns| {
        columns[1].derived.square = None;
        let from = &mut columns[1].derived.flags.as_mut().unwrap().from;
        from.push(254);
        from.sort_unstable();
    });
    assert!(matches!(error, ReadingsError::Encodings), "{error}");
    let error = refused(&|columns| {
        columns[3].derived.square = columns[1].derived.square;
        columns[3].derived.flags = None;
    });
    assert!(matches!(error, ReadingsError::Encodings), "{error}");
    let error = refused(&|columns| {
        let mut flags = flags(columns);
        flags.compact.headroom = 13;
        columns[1].derived.flags = Some(flags);
    });
    assert!(matches!(error, ReadingsError::Encodings), "{error}");
    // Contradictions within the description.
    for change in [
        // Derived from radix blocks.
        |columns: &mut [Column]| columns[0].derived = columns[3].derived.clone(),
        // Cuts that are none, twice the same, out of order.
        |columns: &mut [Column]| columns[3].derived.flags.as_mut().unwrap().from = vec![256],
        |columns: &mut [Column]| columns[3].derived.flags.as_mut().unwrap().from = vec![0],
        |columns: &mut [Column]| columns[3].derived.flags.as_mut().unwrap().from = Vec::new(),
        |columns: &mut [Column]| columns[1].derived.flags.as_mut().unwrap().from[1] = 1,
        |columns: &mut [Column]| columns[1].derived.flags.as_mut().unwrap().from.swap(0, 3),
        |columns: &mut [Column]| columns[0].derived.valid = columns[3].derived.valid,
        // Squares and validity that are wider than their body.
        |columns: &mut [Column]| {
            columns[3].derived.valid = Some(Validity::Encrypted(form(14, 10, true)));
        },
        |columns: &mut [Column]| columns[1].derived.square.as_mut().unwrap().body_bits = 30,
    ] {
        assert!(matches!(refused(&change), ReadingsError::Derived { .. }));
    }
    let error = refused(&|columns| {
        columns[1].bits = 12;
        columns[1].derived.square = None;
        columns[1].derived.flags.as_mut().unwrap().from = (1..1100).collect();
    });
    assert!(matches!(error, ReadingsError::Shape(_)), "{error}");
    // Other cuts of the same number have the same form: what is derived is what the board claims.
    let mut changed = metadata.clone();
    changed.columns[3].derived.flags.as_mut().unwrap().from = vec![8];
    assert!(Upload::parse(&forged(&bytes, &secret, &changed), &parameters, key).is_ok());
}

#[test]
fn keys_that_nobody_knows_are_refused_and_absent_ones_leave_the_bytes_as_they_were() {
    let secret = keys();
    let (parameters, key) = (*secret.parameters(), secret.fingerprint());
    let bytes = upload(secret.device_key().to_bytes().unwrap()).unwrap();
    let payload = Message::parse(&bytes).unwrap().0.payload;
    let map: Value = ciborium::from_reader(payload).unwrap();
    let columns = map.as_map().unwrap()[0].1.as_array().unwrap();
    let keys = |column: usize| -> Vec<&str> {
        let map = columns[column].as_map().unwrap();
        map.iter().map(|(key, _)| key.as_text().unwrap()).collect()
    };
    assert_eq!(keys(0), ["name", "unit", "offset", "scale", "bits"]);
    assert_eq!(
        keys(2),
        ["name", "unit", "offset", "scale", "bits", "compact"]
    );
    assert_eq!(keys(1).last(), Some(&"derived"));
    // A word that no version has written, in each of the maps.
    let text = |text: &str| Value::Text(text.to_owned());
    for path in [&[][..], &["flags"], &["square"]] {
        let mut changed = map.clone();
        let mut at = &mut changed.as_map_mut().unwrap()[0].1.as_array_mut().unwrap()[1];
        for key in [&["derived"], path].concat() {
            let map = at.as_map_mut().unwrap();
            at = &mut map
                .iter_mut()
                .find(|(found, _)| *found == text(key))
                .unwrap()
                .1;
        }
        at.as_map_mut()
            .unwrap()
            .push((text("cube"), Value::Bool(true)));
        let forged = forged(&bytes, &secret, &changed);
        let refused = Upload::parse(&forged, &parameters, key);
        let message = refused.map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("cube"), "{message}");
    }
}
