//! Limits of computations, which errors name.

/// The most blocks that an evaluation may load: of rows, or of sums of several where only their sum
/// is asked for. At the default parameters each is an LWE ciphertext of 16 KiB, and an evaluation
/// holds up to six times as many at once: about 6 GiB. A year of hourly readings of 12 bits has 52,560.
pub const MAX_LOADED_BLOCKS: u64 = 1 << 16;

/// The most operators one after the other that are not computed yet: a chain that long is a
/// loop that should compute intermediate results.
pub(crate) const MAX_DEPTH: u32 = 1000;
