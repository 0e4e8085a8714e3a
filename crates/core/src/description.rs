//! What the description of readings may look like: the rules of its metadata message, for the
//! device that writes one and for the server that reads it.

/// Most bytes of one metadata message, header and checksum not counted.
pub const MAX_METADATA_BYTES: usize = 1 << 20;
/// Most columns of an upload.
pub const MAX_COLUMNS: usize = 256;
/// Most characters of a name, unit or row label.
pub const MAX_TEXT: usize = 64;

/// Whether a text can name a column: 1 to [`MAX_TEXT`] ASCII letters, digits and underscores.
pub fn is_column_name(name: &str) -> bool {
    (1..=MAX_TEXT).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a text can be a unit or a row label: at most [`MAX_TEXT`] characters, none of them a
/// control character.
pub fn is_plain_text(text: &str) -> bool {
    text.chars().count() <= MAX_TEXT && !text.chars().any(char::is_control)
}
