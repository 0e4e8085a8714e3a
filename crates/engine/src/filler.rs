//! Filler words for keys that encrypt nothing, see [`timing_key`](crate::timing_key).

/// Returns an endless sequence of words that look random, the same at every call: Marsaglia's xorshift
/// ("Xorshift RNGs", 2003) from a fixed start. The words are neither secret nor the noise of an
/// encryption.
pub(crate) fn filler_words() -> impl Iterator<Item = i64> {
    let next = |x: &u64| {
        let x = x ^ (x << 13);
        let x = x ^ (x >> 7);
        Some(x ^ (x << 17))
    };
    std::iter::successors(Some(0x9e37_79b9_7f4a_7c15), next).map(|x: u64| x as i64)
}
