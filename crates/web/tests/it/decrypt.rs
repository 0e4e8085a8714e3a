//! Tests of decryption on this machine: by the function, and through the interface of the script.

use crate::common;
use serde_json::{Value, json};
use tfhe_sbc_web::abi::{tfhe_sbc_web_allocate, tfhe_sbc_web_decrypt};
use tfhe_sbc_web::{Failure, File, decrypt};

const THIRD: &str = "18:00 <b>&amp;</b>";

/// Returns the answers computed by hand from 0, 10.5 and 21 °C.
fn expected() -> Value {
    let number = |value: f64, unit: &str| json!({"value": value, "unit": unit});
    let rows = |values: [Value; 3]| -> Value {
        let [first, second, third] = values;
        json!([
            {"row": "06:00", "value": first},
            {"row": "12:00", "value": second},
            {"row": THIRD, "value": third},
        ])
    };
    let logistic = |x: f64| json!(1.0 / (1.0 + (-x).exp()));
    json!([
        {"name": "max(temperature)", "answer": number(21.0, "°C")},
        {"name": "range(temperature)", "answer": number(21.0, "°C")},
        {"name": "sum(temperature)", "answer": number(31.5, "°C")},
        {"name": "mean(temperature)", "answer": number(10.5, "°C")},
        {"name": "variance(temperature)", "answer": number(73.5, "(°C)²")},
        {"name": "sample_std(temperature)", "answer": number(10.5, "°C")},
        {"name": "argmax(temperature)", "answer": {"row": THIRD, "value": 21.0, "unit": "°C"}},
        {"name": "count(temperature < 15)", "answer": number(2.0, "")},
        {"name": "rows(temperature >= 10)", "answer": ["12:00", THIRD]},
        {"name": "rows(temperature > 80)", "answer": []},
        {"name": "histogram(temperature, -10, 5, 15, 20)", "answer": {
            "bins": [
                {"from": -10.0, "to": 5.0, "count": 1},
                {"from": 5.0, "to": 15.0, "count": 1},
                {"from": 15.0, "to": 20.0, "count": 0},
            ],
            "outside": 1,
            "unit": "°C",
        }},
        {"name": "sort(temperature)", "answer": {"values": [0.0, 10.5, 21.0], "unit": "°C"}},
        {"name": "score(temperature)", "answer": {
            "rows": rows([json!(0.0), json!(10.5), json!(21.0)]), "unit": "°C",
        }},
        {"name": "logistic(temperature)", "answer": {
            "rows": rows([logistic(0.0), logistic(1.0), logistic(-0.5)]), "unit": "",
        }},
        {"name": "tree(frost)", "answer": {
            "rows": rows([json!("frost"), json!("mild"), json!("warm")]),
        }},
    ])
}

fn files() -> (Vec<u8>, Vec<u8>) {
    let secret = common::secret_key(1);
    (secret.to_bytes().unwrap().to_vec(), common::result(&secret))
}

fn failure(key: &[u8], result: &[u8]) -> Failure {
    decrypt(key, result).unwrap_err()
}

#[test]
fn answers_of_every_meaning_are_those_computed_by_hand() {
    let (key, result) = files();
    let decryption = serde_json::to_value(decrypt(&key, &result).unwrap()).unwrap();
    assert_eq!(decryption["answers"], expected());
    assert_eq!(decryption["bootstraps"], common::BOOTSTRAPS);
    let secret = common::secret_key(1);
    assert_eq!(
        decryption["key"]["fingerprint"],
        secret.fingerprint().to_string()
    );
    assert_eq!(
        decryption["key"]["parameter_set"],
        secret.parameters().name().to_string()
    );
}

#[test]
fn a_result_of_another_key_set_is_refused_with_both_fingerprints() {
    let (_, result) = files();
    let other = common::secret_key(2);
    let refused = failure(&other.to_bytes().unwrap(), &result);
    assert_eq!(refused.file, File::Result);
    assert!(refused.message.contains("another key set"), "{refused:?}");
    for secret in [other, common::secret_key(1)] {
        let fingerprint = secret.fingerprint().to_string();
        assert!(refused.message.contains(&fingerprint), "{refused:?}");
    }
    assert!(refused.advice.is_some());
}

#[test]
fn each_file_that_is_not_what_it_should_be_is_named() {
    let (key, result) = files();
    let device = common::secret_key(1).device_key().to_bytes().unwrap();
    let mut changed = result.clone();
    *changed.last_mut().unwrap() ^= 1;
    for (key, result, file, words) in [
        (&b""[..], &result[..], File::Key, "cut short"),
        (b"-----BEGIN PRIVATE KEY", &result, File::Key, "\"TSBC\""),
        (&device, &result, File::Key, "this is a device key"),
        (&key[..key.len() - 1], &result, File::Key, "cut short"),
        (&result, &key, File::Key, "but a secret key is needed"),
        (&key, &key, File::Result, "this is a secret key"),
        (&key, b"", File::Result, "cut short"),
        (&key, &result[..result.len() - 1], File::Result, "cut short"),
        (&key, &changed, File::Result, "checksum"),
    ] {
        let refused = failure(key, result);
        assert_eq!(refused.file, file, "{refused:?}");
        assert!(refused.message.contains(words), "{words}: {refused:?}");
    }
}

/// Does what the script does.
fn through_the_interface(key: &[u8], result: &[u8]) -> Value {
    let copied = |bytes: &[u8]| {
        let start = tfhe_sbc_web_allocate(bytes.len());
        assert!(!start.is_null());
        // SAFETY: a buffer of that length, just made.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
        start
    };
    // SAFETY: buffers of these lengths, just made; the text is leaked, so it stays.
    let text = unsafe {
        let text = &*tfhe_sbc_web_decrypt(copied(key), key.len(), copied(result), result.len());
        std::slice::from_raw_parts(text.start, text.len)
    };
    serde_json::from_slice(text).unwrap()
}

#[test]
fn the_interface_of_the_script_gives_what_the_function_gives() {
    let (key, result) = files();
    let good = through_the_interface(&key, &result);
    assert_eq!(good["Ok"]["answers"], expected());
    let bad = through_the_interface(&key, &[]);
    let expected = serde_json::to_value(failure(&key, &[])).unwrap();
    assert_eq!(bad, json!({ "Err": expected }));
}

#[test]
fn a_buffer_that_there_is_no_memory_for_is_null() {
    assert!(tfhe_sbc_web_allocate(usize::MAX / 2 + 1).is_null());
}
