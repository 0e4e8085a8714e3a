//! Short names in fields of fixed length.

use core::fmt;

/// A name of 1 to `LEN` bytes of printable ASCII without spaces, padded with zeros.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaddedText<const LEN: usize>([u8; LEN]);

impl<const LEN: usize> PaddedText<LEN> {
    /// Makes a name from text that is known at compile time.
    ///
    /// # Panics
    /// At compile time, if the text is longer than `LEN` bytes.
    pub const fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        assert!(bytes.len() <= LEN);
        let mut name = [0; LEN];
        let mut i = 0;
        while i < bytes.len() {
            name[i] = bytes[i];
            i += 1;
        }
        Self(name)
    }

    /// Makes a name from text. Returns `None` if it is empty, too long or not printable.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut bytes = [0; LEN];
        bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        Self::from_bytes(bytes)
    }

    /// Reads the name in a field. Returns `None` if it is empty, not printable or not padded with zeros.
    pub fn from_bytes(bytes: [u8; LEN]) -> Option<Self> {
        let (text, padding) = bytes.split_at(text_len(&bytes));
        let printable = text.iter().all(u8::is_ascii_graphic);
        let padded = padding.iter().all(|&b| b == 0);
        (!text.is_empty() && printable && padded).then_some(Self(bytes))
    }

    /// The bytes of the field, including the padding.
    pub const fn as_bytes(&self) -> &[u8; LEN] {
        &self.0
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0[..text_len(&self.0)]).unwrap_or("?")
    }
}

fn text_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len())
}

impl<const LEN: usize> fmt::Debug for PaddedText<LEN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl<const LEN: usize> fmt::Display for PaddedText<LEN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_their_fields_can_hold() {
        type Name = PaddedText<4>;
        for text in ["a", "pi-1"] {
            let name = Name::from_text(text).unwrap();
            assert_eq!(name.as_str(), text);
            assert_eq!(Name::from_bytes(*name.as_bytes()), Some(name));
            assert_eq!(Name::new(text), name);
        }
        for text in ["", "abcde", "a b", "é", "a\0b"] {
            assert_eq!(Name::from_text(text), None, "{text:?}");
        }
        assert_eq!(Name::from_bytes(*b"a\0b\0"), None);
    }
}
