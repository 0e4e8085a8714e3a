//! The trait of deterministic streams.

/// A deterministic stream of bytes.
///
/// Consecutive calls continue the stream: the concatenation of reads does not depend on their
/// lengths.
pub trait Expander {
    /// Overwrites `out` with the next `out.len()` bytes of the stream.
    ///
    /// # Panics
    ///
    /// If the stream becomes longer than its generator allows, 2^38 bytes for
    /// [`ExpanderKind::ChaCha20`](super::ExpanderKind::ChaCha20) and BLAKE2Xb. A stream never wraps
    /// around.
    fn fill(&mut self, out: &mut [u8]);
}
