//! The random number generator of the paper's baseline. TFHEpp draws through C++'s `random_device`,
//! which reads `/dev/urandom` once for every 32-bit word.

use std::fs::File;
use std::io::{self, Read};

use tfhe_sbc_core::random::Expander;

/// The number of bytes of one draw.
const WORD: usize = 4;

/// The stream of `/dev/urandom`, read with one system call per 32-bit word.
pub struct Urandom(File);

impl Urandom {
    /// Opens the device.
    ///
    /// # Errors
    ///
    /// If `/dev/urandom` cannot be opened.
    pub fn open() -> io::Result<Self> {
        File::open("/dev/urandom").map(Self)
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
