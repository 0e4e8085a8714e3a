//! The trait of all streams.

/// A deterministic stream of bytes.
///
/// Consecutive calls continue the stream: however a caller cuts its reads, the
/// concatenation is the same.
pub trait Expander {
    /// Overwrites `out` with the next `out.len()` bytes of the stream.
    ///
    /// # Panics
    ///
    /// If the stream is longer than its generator allows, 2^38 bytes for
    /// [`ExpanderKind::ChaCha20`](super::ExpanderKind::ChaCha20) and BLAKE2Xb: a stream never wraps around.
    fn fill(&mut self, out: &mut [u8]);
}
