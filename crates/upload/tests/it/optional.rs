//! Columns whose readings may be missing: the bytes of their description, and what is refused.

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::definition::Definition;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

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
        (serde_json::json!({"optional": "maybe"}), &["maybe"]),
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
