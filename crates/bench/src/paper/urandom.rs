//! The generator of the paper's baseline: TFHEpp draws through C++'s `random_device`,
//! which reads `/dev/urandom` once for every 32-bit word.

use std::fs::File;
use std::io::Read;

use tfhe_sbc_core::random::Expander;

use crate::error::BenchError;

/// Bytes of one draw.
const WORD: usize = 4;

/// `/dev/urandom`, one system call a word.
pub(super) struct Urandom(File);

impl Urandom {
    /// Opens the device.
    pub(super) fn open() -> Result<Self, BenchError> {
        File::open("/dev/urandom")
            .map(Self)
            .map_err(BenchError::Urandom)
    }
}

impl Expander for Urandom {
    fn fill(&mut self, out: &mut [u8]) {
        for word in out.chunks_mut(WORD) {
            self.0
                .read_exact(word)
                .expect("/dev/urandom never ends and does not fail once it is open");
        }
    }
}
