//! Columns whose readings may be missing: the bytes of their description, and what is refused.

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::definition::Definition;
use tfhe_sbc_upload::gaps::Gaps;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata, Upload};
use tfhe_sbc_upload::short::{Definitions, ShortUpload, shorten};

fn session() -> DeviceSession {
    let mut seeds = SeedSequence::new(Seed::from_bytes([9; 32]));
    let secret = SecretKey::generate(MESSAGE_2_CARRY_2.validate().unwrap(), &mut seeds).unwrap();
    let key = secret.device_key().to_bytes().unwrap();
    DeviceSession::new(key, MemoryPlan::recommended()).unwrap()
}

/// The column that a definition in JSON makes, or its error.
fn column(more: serde_json::Value) -> Result<Column, String> {
    let mut definition = serde_json::json!({
        "name": "level", "unit": "m", "offset": -2.0, "scale": 0.5, "bits": 4,
    });
    for (key, value) in more.as_object().unwrap() {
        definition[key] = value.clone();
    }
    let definition: Definition =
        serde_json::from_value(definition).map_err(|error| error.to_string())?;
    let columns = session().columns(&[definition]);
    let columns = columns.map_err(|error| format!("{error}; {}", error.advice()))?;
    Ok(columns.into_iter().next().unwrap())
}

#[test]
fn golden_bytes_of_the_description_of_an_optional_column() {
    let metadata = ReadingsMetadata {
        columns: vec![column(serde_json::json!({"optional": true})).unwrap()],
        rows: vec!["10:00".to_owned(), "11:00".to_owned()],
        gaps: Default::default(),
    };
    let mut bytes = Vec::new();
    metadata::to_cbor(&metadata, &mut bytes).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, GOLDEN);
    assert_eq!(
        metadata::of_cbor::<ReadingsMetadata>(&bytes).unwrap(),
        metadata
    );
    // Every truncation is refused.
    for len in 0..bytes.len() {
        assert!(metadata::of_cbor::<ReadingsMetadata>(&bytes[..len]).is_err());
    }
}

/// A map of `columns`, whose column has `derived`, a map of `valid`, and of `rows`.
const GOLDEN: &str = concat!(
    "a267636f6c756d6e7381a7646e616d65656c6576656c64756e6974616d666f6666736574f9c000657363616c65f93800",
    "64626974730467636f6d70616374a36868656164726f6f6d0e69626f64795f62697473181868666565646261636bf567",
    "64657269766564a16576616c6964a36868656164726f6f6d0e69626f64795f626974731568666565646261636bf56472",
    "6f7773826531303a30306531313a3030",
);

/// A column whose gaps are told, and two of three rows without a reading.
fn told() -> ReadingsMetadata {
    let column = column(serde_json::json!({"optional": "clear"})).unwrap();
    assert!(column.is_optional() && column.derived.count() == 0);
    let mut gaps = Gaps::default();
    gaps.add("level", 1..3);
    ReadingsMetadata {
        columns: vec![column],
        rows: ["10:00", "11:00", "12:00"].map(str::to_owned).to_vec(),
        gaps,
    }
}

#[test]
fn golden_bytes_of_gaps_that_are_told() {
    let metadata = told();
    let mut bytes = Vec::new();
    metadata::to_cbor(&metadata, &mut bytes).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, GOLDEN_TOLD);
    let read = metadata::of_cbor::<ReadingsMetadata>(&bytes).unwrap();
    assert_eq!(read, metadata);
    assert!(read.gaps.rows("level").eq([1, 2]));
    for len in 0..bytes.len() {
        assert!(metadata::of_cbor::<ReadingsMetadata>(&bytes[..len]).is_err());
    }
    // Whatever bit is turned over: gaps that are accepted are in rows that are there.
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let Ok(read) = metadata::of_cbor::<ReadingsMetadata>(&damaged) else {
            continue;
        };
        if read.check().is_ok() {
            let names = read.columns.iter().map(|column| &column.name);
            let mut gaps = names.flat_map(|name| read.gaps.rows(name));
            assert!(gaps.all(|row| row < read.rows.len()), "bit {bit}");
        }
    }
}

/// A map of three: `columns`, whose column has `derived`, a map of `valid`, `clear`; `rows`; and `gaps`, a map of `level`, one row
/// with a reading and two without.
const GOLDEN_TOLD: &str = concat!(
    "a367636f6c756d6e7381a7646e616d65656c6576656c64756e6974616d666f6666736574f9c000657363616c65f93800",
    "64626974730467636f6d70616374a36868656164726f6f6d0e69626f64795f62697473181868666565646261636bf567",
    "64657269766564a16576616c696465636c65617264726f7773836531303a30306531313a30306531323a303064676170",
    "73a1656c6576656c820102",
);

#[test]
fn gaps_of_other_columns_and_rows_are_refused() {
    let refused = |change: &dyn Fn(&mut ReadingsMetadata)| {
        let mut metadata = told();
        change(&mut metadata);
        metadata.check().unwrap_err().to_string()
    };
    assert!(told().check().is_ok());
    let error = refused(&|metadata| metadata.gaps.add("level", 3..4));
    assert!(
        error.contains("'level' in row 3: there are 3 rows"),
        "{error}"
    );
    let error = refused(&|metadata| metadata.gaps.add("other", 0..1));
    assert!(error.contains("'other'"), "{error}");
    let error = refused(&|metadata| {
        metadata.columns[0] = column(serde_json::json!({"optional": true})).unwrap();
    });
    assert!(error.contains("no column whose gaps are told"), "{error}");
    let error = refused(&|metadata| metadata.columns[0].compact = None);
    assert!(error.contains("compact columns only"), "{error}");
}

#[test]
fn an_upload_tells_the_gaps_and_decrypts_with_them() {
    let mut session = session();
    let columns = [column(serde_json::json!({"optional": "clear", "square": true})).unwrap()];
    let labels = ["a", "b", "c"].map(str::to_owned);
    let readings = [[f64::NAN, 1.0, f64::NAN]];
    let bytes = session.encrypt_table(ExpanderKind::ChaCha20, &columns, &labels, &readings);
    let bytes = bytes.unwrap();
    let (parameters, key) = (*session.parameters(), session.fingerprint());
    let upload = Upload::parse(&bytes, &parameters, key).unwrap();
    assert!(upload.metadata.gaps.rows("level").eq([0, 2]));
    // Uploads with gaps and without have the same definitions, and both come back from their short forms.
    let whole = [[0.5, 1.0, 2.0]];
    let whole = session.encrypt_table(ExpanderKind::ChaCha20, &columns, &labels, &whole);
    let whole = whole.unwrap();
    let definitions = Definitions::of(&bytes).unwrap();
    assert_eq!(Definitions::of(&whole), Some(definitions.clone()));
    for upload in [bytes, whole] {
        let short = shorten(&upload).unwrap();
        let short = ShortUpload::parse(&short.bytes).unwrap();
        assert_eq!(short.restore(&definitions).unwrap(), upload);
    }
    // One column more than there are readings of, and one row more.
    let error = session.encrypt_table(
        ExpanderKind::ChaCha20,
        &columns,
        &labels[..2],
        &[[1.0, 1.0, f64::NAN]],
    );
    assert!(error.unwrap_err().to_string().contains("3"));
}

#[test]
fn a_column_that_cannot_be_optional_says_what_to_do() {
    for (more, words) in [
        (
            serde_json::json!({"optional": true, "use": "radix"}),
            &["'level'", "compact columns only", "means, fleet or alarms"][..],
        ),
        // Without a use, a column of so many bits has radix blocks.
        (
            serde_json::json!({"optional": true, "bits": 40}),
            &["compact columns only", "as few bits"],
        ),
        (
            serde_json::json!({"optional": "clear", "use": "radix"}),
            &["'level'", "compact columns only"],
        ),
        (
            serde_json::json!({"optional": "maybe"}),
            &["optional is one of true, false and \"clear\""],
        ),
    ] {
        let refused = column(more).unwrap_err();
        for word in words {
            assert!(refused.contains(word), "{refused}");
        }
    }
    for usage in ["means", "alarms", "fleet"] {
        let column = column(serde_json::json!({"optional": true, "use": usage, "square": true}));
        let derived = column.unwrap().derived;
        assert!(derived.valid.is_some() && derived.square.is_some());
    }
    assert!(
        !column(serde_json::json!({"optional": false}))
            .unwrap()
            .is_optional()
    );
}

#[test]
fn a_reading_may_only_be_missing_where_that_is_declared() {
    let mut session = session();
    let labels = ["a", "b"].map(str::to_owned);
    let mut encrypt = |optional: bool, readings: [f64; 2]| {
        let column = column(serde_json::json!({"optional": optional})).unwrap();
        session.encrypt_table(ExpanderKind::ChaCha20, &[column], &labels, &[readings])
    };
    assert!(encrypt(true, [f64::NAN, 1.0]).is_ok());
    assert!(encrypt(true, [f64::NAN, f64::NAN]).is_ok());
    for (optional, readings, words) in [
        (false, [1.0, f64::NAN], "optional = true"),
        (true, [1.0, f64::INFINITY], "optional = true"),
        (true, [1.0, 1000.0], "range"),
    ] {
        let error = encrypt(optional, readings).unwrap_err();
        let text = format!("{error}; {}", error.advice().unwrap());
        assert!(text.starts_with("row 2 (b), column 'level': "), "{text}");
        assert!(text.contains(words), "{text}");
    }
}
