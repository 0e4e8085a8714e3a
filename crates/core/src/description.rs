//! The rules for the metadata message that describes an upload of readings: the device that writes
//! one and the server that reads it check the same.
//!
//! The functions that check return what the description "has" that it must not have, to end a
//! sentence with: `the description has no rows`.

/// The largest number of bytes of one metadata message, without header and checksum.
pub const MAX_METADATA_BYTES: usize = 1 << 20;
/// The largest number of columns of an upload.
pub const MAX_COLUMNS: usize = 256;
/// The largest number of characters of a name, unit or row label.
pub const MAX_TEXT: usize = 64;

/// Returns whether a text can name a column: 1 to [`MAX_TEXT`] ASCII letters, digits and
/// underscores.
pub fn is_column_name(name: &str) -> bool {
    (1..=MAX_TEXT).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether a text can be a unit or a row label: at most [`MAX_TEXT`] characters, none of
/// them a control character.
pub fn is_plain_text(text: &str) -> bool {
    text.chars().count() <= MAX_TEXT && !text.chars().any(char::is_control)
}

/// Checks that there are columns, at most [`MAX_COLUMNS`] of them, and rows.
pub fn check_shape(column_count: usize, has_rows: bool) -> Result<(), &'static str> {
    if !(1..=MAX_COLUMNS).contains(&column_count) {
        return Err("no columns, or more than 256");
    }
    if !has_rows {
        return Err("no rows");
    }
    Ok(())
}

/// Checks the name of a column by [`is_column_name`].
pub fn check_column_name(name: &str) -> Result<(), &'static str> {
    match is_column_name(name) {
        true => Ok(()),
        false => Err("a column whose name is not made of 1 to 64 letters, digits and underscores"),
    }
}

/// Checks row labels and units by [`is_plain_text`].
pub fn check_texts<'a>(mut texts: impl Iterator<Item = &'a str>) -> Result<(), &'static str> {
    match texts.all(is_plain_text) {
        true => Ok(()),
        false => Err("a row label or unit with control characters or more than 64 characters"),
    }
}
