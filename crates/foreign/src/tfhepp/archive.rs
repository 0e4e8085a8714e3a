//! The content of a file, recognised by its length.

use super::error::TfheppError;
use super::layout::Layout;
use super::{TLWE_BYTES, TRLWE_BYTES};

/// The number of bytes of the count of a `std::vector`.
const COUNT_BYTES: usize = 8;

/// The kinds of archives that cereal writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Archive {
    /// A `cereal::PortableBinaryOutputArchive`, which TFHEpp's own programs write: a byte 1 for
    /// little-endian, then the bytes of [`Binary`](Self::Binary).
    #[default]
    PortableBinary,
    /// A `cereal::BinaryOutputArchive` of a little-endian machine.
    Binary,
}

impl Archive {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::PortableBinary, Self::Binary];

    /// The bytes before the object.
    pub fn prefix(self) -> &'static [u8] {
        match self {
            Self::PortableBinary => &[1],
            Self::Binary => &[],
        }
    }

    /// The bytes before the elements of a vector of `count` elements.
    pub(super) fn vector_prefix(self, count: u64) -> Vec<u8> {
        [self.prefix(), &count.to_le_bytes()].concat()
    }

    /// The name: `portable-binary` or `binary`.
    pub fn name(self) -> &'static str {
        match self {
            Self::PortableBinary => "portable-binary",
            Self::Binary => "binary",
        }
    }
}

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A `TLWE<lvl1param>`.
    Tlwe,
    /// A `TRLWE<lvl1param>`.
    Trlwe,
    /// A `std::vector<TLWE<lvl1param>>` of that number of elements.
    TlweVector(u64),
    /// A `std::vector<TRLWE<lvl1param>>` of that number of elements.
    TrlweVector(u64),
    /// A `SecretKey`.
    SecretKey(Layout),
}

/// Returns the content of a file, which follows from its length and, where that is not enough, from
/// its first bytes. Allocates nothing.
pub fn content_of(bytes: &[u8]) -> Option<(Archive, Content)> {
    Archive::ALL.into_iter().find_map(|archive| {
        let object = bytes.strip_prefix(archive.prefix())?;
        content_behind(object).map(|content| (archive, content))
    })
}

fn content_behind(object: &[u8]) -> Option<Content> {
    if let Some(layout) = Layout::of_len(object.len()) {
        return Some(Content::SecretKey(layout));
    }
    match object.len() {
        TLWE_BYTES => return Some(Content::Tlwe),
        TRLWE_BYTES => return Some(Content::Trlwe),
        _ => (),
    }
    let (count, elements) = object.split_first_chunk::<COUNT_BYTES>()?;
    let count = u64::from_le_bytes(*count);
    let is_of = |each: usize| count.checked_mul(each as u64) == Some(elements.len() as u64);
    // An empty vector has no element that would show its type.
    if is_of(TLWE_BYTES) {
        Some(Content::TlweVector(count))
    } else if is_of(TRLWE_BYTES) {
        Some(Content::TrlweVector(count))
    } else {
        None
    }
}

/// Returns the reason why a file holds no ciphertexts: a wrong count, if it has the length of a vector.
pub(super) fn no_ciphertexts(bytes: &[u8]) -> TfheppError {
    for archive in Archive::ALL {
        let object = bytes.strip_prefix(archive.prefix());
        if let Some((count, elements)) = object.and_then(|o| o.split_first_chunk::<COUNT_BYTES>())
            && let Some(each) = [TLWE_BYTES, TRLWE_BYTES]
                .into_iter()
                .find(|&each| !elements.is_empty() && elements.len().is_multiple_of(each))
        {
            return TfheppError::Count {
                announced: u64::from_le_bytes(*count),
                found: (elements.len() / each) as u64,
            };
        }
    }
    TfheppError::NoCiphertexts(bytes.len() as u64)
}

/// Returns the bytes of the elements of a file whose content is known.
pub(super) fn elements(bytes: &[u8], archive: Archive, content: Content) -> &[u8] {
    let count = match content {
        Content::TlweVector(_) | Content::TrlweVector(_) => COUNT_BYTES,
        Content::Tlwe | Content::Trlwe | Content::SecretKey(_) => 0,
    };
    &bytes[archive.prefix().len() + count..]
}
