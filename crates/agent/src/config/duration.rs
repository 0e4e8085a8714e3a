//! Times in settings: a number and a unit.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::error::AgentError;

/// Reads a time such as `500ms`, `10s`, `5m`, `1h` or `1d`.
pub(crate) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| {
        D::Error::custom(format_args!(
            "{text:?} is no time: write a number and a unit, like \"500ms\", \"10s\", \"5m\", \"1h\" or \"1d\""
        ))
    })
}

/// Refuses a time of zero and one of more than a year. `key` names the setting in the error.
pub(super) fn positive(key: &str, duration: Duration) -> Result<(), AgentError> {
    if duration.is_zero() || duration > Duration::from_secs(366 * 86_400) {
        return Err(AgentError::setting(
            key,
            "it is not between a millisecond and a year",
            "write a number and a unit, like \"500ms\", \"10s\", \"5m\" or \"1h\"",
        ));
    }
    Ok(())
}

fn parse(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let milliseconds = match text[digits..].trim() {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(milliseconds).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("5 m", 300_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(milliseconds)));
        }
        for text in [
            "",
            "10",
            "s",
            "-1s",
            "1.5s",
            "10 years",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
