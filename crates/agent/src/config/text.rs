//! TOML and the environment as one table, with errors that repeat no secret.

use crate::error::AgentError;

use super::{CONFIG_VARIABLE, ENVIRONMENT_PREFIX};

pub(super) const SYNTAX_ADVICE: &str =
    "correct the line; `tfhe-sbc agent init` prints settings that are right";
pub(super) const KEYS_ADVICE: &str = "`tfhe-sbc agent init` prints all keys with their meaning";

/// The keys that the environment may set: section, texts, numbers.
const OVERRIDES: &[(&str, &[&str], &[&str])] = &[
    (
        "device",
        &[
            "key",
            "key_base64",
            "signing_key",
            "signing_key_pem",
            "expander",
            "plan",
        ],
        &[],
    ),
    ("server", &["url", "transport", "timeout"], &[]),
    (
        "tls",
        &[
            "ca",
            "certificate",
            "key",
            "ca_pem",
            "certificate_pem",
            "key_pem",
        ],
        &[],
    ),
    ("sample", &["every", "sysfs"], &[]),
    ("batch", &["every"], &["rows"]),
    ("spool", &["directory", "when_full"], &["max_bytes"]),
    ("send", &["retry_first", "retry_most"], &[]),
    ("mqtt", &["topic"], &["max_packet"]),
    ("frames", &[], &["leap"]),
    ("metrics", &["file", "listen"], &[]),
    ("csv", &["path", "label", "every"], &[]),
    ("topics", &["broker", "user", "password", "max_age"], &[]),
];

/// Returns what is wrong with a text, and where, without the line itself, which may hold a key.
pub(super) fn without_content(error: &toml::de::Error, text: &str) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    format!("line {line}: {}", error.message())
}

/// Returns what is wrong with a table: the key, and what its value should be. The value itself is
/// not repeated, for it may be a key at the wrong place.
pub(super) fn in_one_line(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let what = without_value(lines.next().unwrap_or_default());
    match lines.find_map(|line| line.strip_prefix("in ")) {
        Some(key) => format!("{}: {what}", key.trim_matches('`')),
        None => what,
    }
}

/// Returns serde's message `invalid type: string "…", expected …` without its quotation.
fn without_value(message: &str) -> String {
    let parts = message
        .split_once(": ")
        .filter(|(what, _)| what.starts_with("invalid "))
        .and_then(|(what, rest)| Some((what, rest.rsplit_once(", expected ")?)));
    match parts {
        Some((what, (found, expected))) => {
            let kind = found.split(['"', '`']).next().unwrap_or_default();
            format!("{what}: {}, expected {expected}", kind.trim())
        }
        None => message.to_owned(),
    }
}

/// Lays the environment's variables over a table.
pub(super) fn lay_over(
    table: &mut toml::Table,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<(), AgentError> {
    for (variable, value) in environment {
        let Some(name) = variable.strip_prefix(ENVIRONMENT_PREFIX) else {
            continue;
        };
        if variable == CONFIG_VARIABLE {
            continue;
        }
        let name = name.to_ascii_lowercase();
        let found = OVERRIDES.iter().find_map(|(section, texts, numbers)| {
            let key = name.strip_prefix(section)?.strip_prefix('_')?;
            if numbers.contains(&key) {
                return Some((*section, key, true));
            }
            texts.contains(&key).then_some((*section, key, false))
        });
        let Some((section, key, is_number)) = found else {
            return Err(AgentError::new(
                format_args!("the variable {variable} sets nothing that there is"),
                format_args!(
                    "variables are {ENVIRONMENT_PREFIX}SECTION_KEY, like {ENVIRONMENT_PREFIX}SERVER_URL; columns are set in the file"
                ),
            ));
        };
        let value = if is_number {
            let number = value.trim().parse().map_err(|_| {
                AgentError::new(
                    format_args!("the variable {variable} is no whole number"),
                    "give digits only",
                )
            })?;
            toml::Value::Integer(number)
        } else {
            toml::Value::String(value)
        };
        let entry = table
            .entry(section)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        let Some(settings) = entry.as_table_mut() else {
            let advice = format!("write [{section}]");
            return Err(AgentError::setting(section, "it is no section", advice));
        };
        settings.remove(&twin(section, key));
        settings.insert(key.to_owned(), value);
    }
    Ok(())
}

/// Returns the other key for the same setting: a file's name or its content.
fn twin(section: &str, key: &str) -> String {
    let is_device_key = section == "device" && key.starts_with("key");
    let suffix = if is_device_key { "_base64" } else { "_pem" };
    match key.strip_suffix(suffix) {
        Some(file) => file.to_owned(),
        None => format!("{key}{suffix}"),
    }
}
