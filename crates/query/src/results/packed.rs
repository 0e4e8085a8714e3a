//! Descriptions of many answers, which repeat each other, compressed: those of groups take about ten bytes each.

use serde::{Deserialize, Serialize};
use tfhe_sbc_upload::byte_string;
use tfhe_sbc_upload::metadata::{self, MetadataError};

use super::{Results, VERSION};

/// The number of bytes from which on metadata is compressed.
const LONG: usize = 4096;
/// The largest number of bytes of metadata that was compressed, so that a short message does not fill the memory.
const MAX_INFLATED: usize = 64 << 20;
/// The effort of the compression, of 10: more saves little.
const LEVEL: u8 = 6;

/// Metadata whose content is compressed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Packed {
    /// The version of the format, which is the content's.
    version: u32,
    /// The CBOR of the content, compressed (RFC 1951).
    #[serde(with = "byte_string")]
    packed: Vec<u8>,
}

impl Packed {
    /// Returns the compressed form of results; `None` if they are short.
    ///
    /// # Errors
    /// More bytes than are read again.
    pub(super) fn new(results: &Results) -> Result<Option<Self>, MetadataError> {
        let mut content = Vec::new();
        metadata::to_cbor(results, &mut content)?;
        match content.len() {
            0..LONG => Ok(None),
            len if len > MAX_INFLATED => Err(MetadataError::TooLarge(len)),
            _ => Ok(Some(Self {
                version: VERSION,
                packed: miniz_oxide::deflate::compress_to_vec(&content, LEVEL),
            })),
        }
    }

    /// Returns the results.
    ///
    /// # Errors
    /// Bytes that were not made in this way, and too many of them.
    pub(super) fn unpack(&self) -> Result<Results, MetadataError> {
        let inflated =
            miniz_oxide::inflate::decompress_to_vec_with_limit(&self.packed, MAX_INFLATED);
        let content = inflated.map_err(|error| {
            MetadataError::Content(format!("its compressed content is damaged: {error}"))
        })?;
        metadata::of_cbor(&content)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EncryptedAnswer, Meaning};
    use super::*;
    use crate::scope::GroupKey;

    /// Counts of groups of an hour.
    fn counts(groups: i64) -> Results {
        let answer = |group: i64| EncryptedAnswer {
            name: "count(temperature_c > 30)".to_owned(),
            group: Some(GroupKey {
                device: Some(format!("board-{}", group % 50)),
                from: Some(tfhe_sbc_upload::moments::Moment::from_unix_ms(
                    3_600_000 * group,
                )),
                until: None,
                rows: 60,
            }),
            blocks: 3,
            compact: Vec::new(),
            joined: false,
            meaning: Meaning::Count,
        };
        Results::new((0..groups).map(answer).collect(), 7)
    }

    #[test]
    fn many_answers_are_packed_and_come_back() {
        assert!(Packed::new(&counts(2)).unwrap().is_none());
        let results = counts(1200);
        let packed = Packed::new(&results).unwrap().unwrap();
        assert!(packed.packed.len() < 16 * 1200, "{}", packed.packed.len());
        assert_eq!(packed.unpack().unwrap(), results);
    }

    #[test]
    fn what_is_damaged_or_too_long_is_refused() {
        let packed = Packed::new(&counts(100)).unwrap().unwrap();
        let with = |packed: Vec<u8>| Packed {
            version: VERSION,
            packed,
        };
        let cut = with(packed.packed[..packed.packed.len() / 2].to_vec());
        let error = cut.unpack().unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
        // A few kilobytes that would become more than the limit.
        let zeros = miniz_oxide::deflate::compress_to_vec(&vec![0; MAX_INFLATED + 1], LEVEL);
        assert!(zeros.len() < 1 << 18);
        assert!(with(zeros).unpack().is_err());
        let mut longer = Vec::new();
        metadata::to_cbor(&counts(1), &mut longer).unwrap();
        longer.push(0);
        let longer = miniz_oxide::deflate::compress_to_vec(&longer, LEVEL);
        let error = with(longer).unpack().unwrap_err().to_string();
        assert!(error.contains("follow"), "{error}");
    }
}
