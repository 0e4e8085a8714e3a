//! The secrets of frames.

use zeroize::Zeroize as _;

use crate::chacha::block;

/// The words that ChaCha20 blocks of different purposes have at word 14 of their input.
pub(crate) const PAD_DOMAIN: u32 = 0;
const MAC_DOMAIN: u32 = 1;

/// The secret of one board and one set of pads: 32 random bytes, from which all pads and the MAC key follow.
///
/// Nobody else has it but the key owner, who needs it only until the pads are made. The server must not
/// have it: with it, frames are readable. It is wiped on drop.
pub struct BoardKey([u8; 32]);

impl BoardKey {
    /// Takes the bytes of a key.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the board's memory.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Derives the key of the tags, which board and server share. It reveals nothing about the pads.
    pub fn mac_key(&self) -> MacKey {
        let mut words = block(&self.0, [0, 0, MAC_DOMAIN, 0]);
        let mut key = [0; 16];
        for (to, word) in key.as_chunks_mut().0.iter_mut().zip(&words) {
            *to = word.to_le_bytes();
        }
        words.zeroize();
        let mac_key = MacKey(key);
        key.zeroize();
        mac_key
    }
}

impl Drop for BoardKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The key of the tags of one board's frames. Whoever has it can forge frames but not read them. It is
/// wiped on drop.
pub struct MacKey([u8; 16]);

impl MacKey {
    /// Takes the bytes of a key.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the server's files.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl Drop for MacKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
