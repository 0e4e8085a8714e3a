//! Messages of the wire format, with checksums that are right.

use tfhe_sbc_core::wire::{CHECKSUM_BYTES, Checksum, ENVELOPE_BYTES, HEADER_BYTES, Header};

/// The bytes with the checksum of every message in them made right, or else no changed byte
/// would get past it.
pub(crate) fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut rest = &mut bytes[..];
    while let Some(payload) = payload_len(rest) {
        let (message, after) = rest.split_at_mut(ENVELOPE_BYTES + payload);
        let (covered, checksum) = message.split_at_mut(HEADER_BYTES + payload);
        let mut sum = Checksum::new();
        sum.update(covered);
        checksum[..CHECKSUM_BYTES].copy_from_slice(&sum.finish());
        rest = after;
    }
    bytes
}

/// The length of a payload that is there in full.
fn payload_len(bytes: &[u8]) -> Option<usize> {
    let (_, len) = Header::parse(bytes).ok()?;
    let len = usize::try_from(len).ok()?;
    let whole = len.checked_add(ENVELOPE_BYTES)?;
    (whole <= bytes.len()).then_some(len)
}
