//! Times in settings: a number and a unit.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use tfhe_sbc_transport::human;

use crate::error::AgentError;

/// Reads a time such as `500ms`, `10s`, `5m`, `1h` or `1d`.
pub(crate) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    human::parse_duration(&text).ok_or_else(|| {
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
