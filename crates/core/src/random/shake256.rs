//! SHAKE256 (FIPS 202) as a source of blocks.

use sha3::Shake256;
use sha3::digest::{ExtendableOutput, Update, XofReader};

use super::keystream::{BLOCK_BYTES, BlockSource};

/// The blocks of one output. The crate wipes the state on drop.
pub(super) struct Shake256Blocks(<Shake256 as ExtendableOutput>::Reader);

impl Shake256Blocks {
    /// Opens a stream in the layout of [`ExpanderKind::Shake256`](super::ExpanderKind::Shake256).
    pub(super) fn stream(seed: &[u8; 32], stream: u32) -> Self {
        let mut state = Shake256::default();
        state.update(seed);
        state.update(&stream.to_le_bytes());
        Self(state.finalize_xof())
    }
}

impl BlockSource for Shake256Blocks {
    fn next_blocks(&mut self, out: &mut [[u8; BLOCK_BYTES]]) {
        self.0.read(out.as_flattened_mut());
    }
}
