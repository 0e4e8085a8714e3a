use crate::extract::ExpandedGlweList;
use crate::readings::{Compact, ReadingsError, Upload};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;

use super::*;

fn column(name: &str) -> Column {
    Column {
        name: name.to_owned(),
        unit: "K".to_owned(),
        offset: -40.0,
        scale: 0.5,
        bits: 8,
        compact: None,
        derived: Default::default(),
    }
}

fn generate(set: ParameterSet) -> SecretKey {
    SecretKey::generate(set.validate().unwrap(), &mut fresh_seeds().unwrap()).unwrap()
}

fn session() -> (SecretKey, DeviceSession) {
    let secret = generate(MESSAGE_2_CARRY_2);
    let key = secret.device_key().to_bytes().unwrap();
    (
        secret,
        DeviceSession::new(key, MemoryPlan::recommended()).unwrap(),
    )
}

#[test]
fn an_upload_decrypts_to_the_codes_of_its_readings() {
    let (secret, mut session) = session();
    let labels = ["a", "b", "c"].map(str::to_owned);
    let readings = [[-40.0, 0.0, 87.5], [1.0, 1.5, 2.0]];
    let columns = [column("x"), column("y")];
    let upload = session
        .encrypt_table(ExpanderKind::ChaCha20, &columns, &labels, &readings)
        .unwrap();
    let encoding = secret.parameters().block_encoding();
    let upload = Upload::parse(&upload, secret.parameters(), secret.fingerprint()).unwrap();
    assert_eq!(upload.metadata.rows, labels);
    let expanded = ExpandedGlweList::<u64>::expand(&upload.list, secret.parameters());
    let phases = expanded.ciphertexts().iter();
    let phases = phases.flat_map(|ciphertext| secret.glwe().prepare().phase(ciphertext));
    let blocks: Vec<u64> = phases.map(|phase| encoding.decode(phase)).collect();
    for (c, readings) in readings.iter().enumerate() {
        for (r, reading) in readings.iter().enumerate() {
            let of = upload.metadata.blocks_of(encoding, c, r);
            let code = encoding.join(blocks[of].iter().copied());
            let value = columns[c].fixed_point().unwrap().decode(code as f64);
            assert_eq!(value, *reading);
        }
    }
}

#[test]
fn compact_and_radix_columns_share_an_upload() {
    let (secret, mut session) = session();
    let labels: Vec<String> = (0..1500).map(|row| row.to_string()).collect();
    let mut compact = column("y");
    compact.compact = Some(Compact {
        headroom: 11,
        body_bits: 26,
        feedback: true,
    });
    let columns = [column("x"), compact];
    let reading = |row: usize, factor: usize| -40.0 + 0.5 * ((row * factor) % 256) as f64;
    let readings = [7, 11].map(|factor| {
        let rows = 0..labels.len();
        rows.map(|row| reading(row, factor)).collect::<Vec<_>>()
    });
    let bytes = session
        .encrypt_table(ExpanderKind::ChaCha20, &columns, &labels, &readings)
        .unwrap();
    let (parameters, key) = (*secret.parameters(), secret.fingerprint());
    let upload = Upload::parse(&bytes, &parameters, key).unwrap();
    assert_eq!(upload.metadata.columns, columns);
    let encoding = parameters.block_encoding();
    let expanded = ExpandedGlweList::<u64>::expand(&upload.list, &parameters);
    let phases = expanded.ciphertexts().iter();
    let phases = phases.flat_map(|ciphertext| secret.glwe().prepare().phase(ciphertext));
    let phases: Vec<u64> = phases.collect();
    let form = columns[1].compact.unwrap().encoding(8).unwrap();
    for row in 0..labels.len() {
        let of = upload.metadata.blocks_of(encoding, 0, row);
        let blocks = phases[of].iter().map(|&phase| encoding.decode(phase));
        assert_eq!(encoding.join(blocks), (row * 7 % 256) as u64);
        let of = upload.metadata.blocks_of(encoding, 1, row);
        assert_eq!(
            (of.len(), form.decode(phases[of.start])),
            (1, (row * 11 % 256) as u64)
        );
    }
    // Metadata that claims another form than the ciphertexts have.
    let (first, list) = Message::parse(&bytes).unwrap();
    let mut metadata: ReadingsMetadata = metadata::read(first).unwrap();
    metadata.columns[1].compact.as_mut().unwrap().headroom = 12;
    let mut forged = metadata::write(parameters.fingerprint(), key, &metadata).unwrap();
    forged.extend_from_slice(list);
    let refused = Upload::parse(&forged, &parameters, key).map(|_| ());
    assert!(matches!(refused, Err(ReadingsError::Encodings)));
}

#[test]
fn what_cannot_be_sent_is_named() {
    let (_, mut session) = session();
    let labels = ["a", "b"].map(str::to_owned);
    let mut try_it = |columns: &[Column], readings: &[&[f64]]| {
        let tried = session.encrypt_table(ExpanderKind::ChaCha20, columns, &labels, readings);
        let error = tried.unwrap_err();
        (error.to_string(), error.advice().is_some())
    };
    let (message, advice) = try_it(&[column("x")], &[&[1.0, f64::NAN]]);
    assert!(
        message.starts_with("row 2 (b), column 'x': ") && advice,
        "{message}"
    );
    let (message, advice) = try_it(&[column("x")], &[&[1.0, 88.0]]);
    assert!(
        message.starts_with("row 2 (b), column 'x': ") && advice,
        "{message}"
    );
    let (message, advice) = try_it(&[column("x")], &[&[1.0]]);
    assert_eq!(
        (message.as_str(), advice),
        ("column 'x' has 1 readings, but there are 2 rows", true)
    );
    let (message, _) = try_it(&[column("x")], &[]);
    assert_eq!(message, "0 lists of readings are given for 1 columns");
    let (message, _) = try_it(&[column("x"), column("x")], &[&[1.0, 2.0], &[1.0, 2.0]]);
    assert!(
        message.starts_with("the readings cannot be sent: "),
        "{message}"
    );
    let mut narrow = column("x");
    narrow.scale = 0.0;
    let (message, _) = try_it(&[narrow], &[&[1.0, 2.0]]);
    assert!(message.contains("'x'"), "{message}");
}

#[test]
fn other_bytes_are_no_key() {
    let secret = generate(BOOLEAN_1024);
    for bytes in [
        secret.to_bytes().unwrap().to_vec(),
        vec![0; 100],
        Vec::new(),
    ] {
        let opened = DeviceSession::new(Zeroizing::new(bytes), MemoryPlan::recommended());
        assert!(matches!(opened, Err(UploadError::Key(_))));
    }
}
