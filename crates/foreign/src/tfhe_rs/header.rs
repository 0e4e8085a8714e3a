//! The header of `safe_serialize`: the version of the form, whether versions stand before values, and
//! the name of the type.

use super::TfheRsError;
use super::bincode::Reader;

const HEADER_VERSION: &str = "0.5";
const VERSIONING_VERSION: &str = "0.1";

/// Returns the bytes of the header of a versioned object of the type `name`.
pub(super) fn write(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&mut out, HEADER_VERSION);
    out.extend(0u32.to_le_bytes());
    put_text(&mut out, VERSIONING_VERSION);
    put_text(&mut out, name);
    out
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

/// Returns the name of the type in a header and a reader of the bytes behind it.
///
/// # Errors
/// Returns [`TfheRsError::Header`] if there is no header at all.
pub(super) fn read(bytes: &[u8]) -> Result<(&str, Reader<'_>), TfheRsError> {
    let mut reader = Reader::new(bytes);
    let version = reader.text().ok().flatten().ok_or(TfheRsError::Header)?;
    if !looks_like_a_version(version) {
        return Err(TfheRsError::Header);
    }
    let known = |what, found: Option<&str>, known: &'static str| match found {
        Some(found) if found == known => Ok(()),
        found => Err(TfheRsError::HeaderVersion {
            what,
            found: found.unwrap_or("?").to_owned(),
            known,
        }),
    };
    known("header's version", Some(version), HEADER_VERSION)?;
    let versioned = match reader.u32()? {
        0 => {
            known("versioning", reader.text()?, VERSIONING_VERSION)?;
            true
        }
        // Objects without versions have the layout of the version of the crate that wrote them.
        1 => {
            known("serialization crate", reader.text()?, "0.1")?;
            false
        }
        _ => return Err(TfheRsError::Header),
    };
    let name = reader.text()?.ok_or(TfheRsError::Header)?;
    let reader = if versioned {
        reader
    } else {
        reader.unversioned()
    };
    Ok((name, reader))
}

fn looks_like_a_version(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    matches!(text.split_once('.'), Some((major, minor)) if digits(major) && digits(minor))
}

/// Returns a reader of the object behind the header, which must be of the type `name`.
pub(super) fn expect<'a>(bytes: &'a [u8], name: &'static str) -> Result<Reader<'a>, TfheRsError> {
    let (found, reader) = read(bytes)?;
    if found == name {
        Ok(reader)
    } else {
        Err(TfheRsError::Type {
            expected: name,
            found: found.to_owned(),
        })
    }
}

/// Returns the type that the header of a file names, such as `high_level_api::FheUint`. Returns `None`
/// if the file is not in this form.
pub fn type_name(bytes: &[u8]) -> Option<&str> {
    read(bytes).ok().map(|(name, _)| name)
}
