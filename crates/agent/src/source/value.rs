//! A number from a text, plain or JSON.

use serde_json::Value;

/// Returns the number that `text` is, or if it is JSON, the number in `field` of it.
pub(super) fn number(text: &str, field: Option<&str>) -> Result<f64, String> {
    let Some(field) = field else {
        return plain(text).ok_or_else(|| "what it gave is not a number".to_owned());
    };
    let value: Value = serde_json::from_str(text).map_err(|_| "what it gave is not JSON")?;
    let found = match field.starts_with('/') {
        true => value.pointer(field),
        false => value.get(field),
    };
    let number = match found {
        None => return Err(format!("what it gave has no field '{field}'")),
        Some(Value::String(text)) => plain(text),
        Some(value) => value.as_f64(),
    };
    number.ok_or_else(|| format!("its field '{field}' is not a number"))
}

/// Returns the number that a text is, if it is one.
pub(super) fn plain(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_plain_or_fields() {
        let json = r#"{"t": 21.5, "s": "7", "main": {"temp": -3}, "list": [1, 2], "ok": true}"#;
        for (text, field, value) in [
            (" 12.5\n", None, 12.5),
            ("-1e3", None, -1000.0),
            (json, Some("t"), 21.5),
            (json, Some("s"), 7.0),
            (json, Some("/main/temp"), -3.0),
            (json, Some("/list/1"), 2.0),
        ] {
            assert_eq!(number(text, field), Ok(value));
        }
        for (text, field, words) in [
            ("12 C", None, "not a number"),
            ("", None, "not a number"),
            ("12", Some("t"), "no field 't'"),
            ("{", Some("t"), "not JSON"),
            (json, Some("main"), "'main' is not a number"),
            (json, Some("ok"), "'ok' is not a number"),
            (json, Some("/main/none"), "no field"),
        ] {
            let error = number(text, field).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
