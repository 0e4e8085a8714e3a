//! SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012).

/// Returns the tag of a message that begins with 8 bytes, given as a little-endian number, and goes on with
/// `rest`. Constant-time in key and message.
pub(crate) fn siphash(key: &[u8; 16], first: u64, rest: &[u8]) -> u64 {
    let ([k0, k1], []) = key.as_chunks() else {
        unreachable!("16 bytes are two words");
    };
    let (k0, k1) = (u64::from_le_bytes(*k0), u64::from_le_bytes(*k1));
    let mut state = State([
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ]);
    state.absorb(first);
    let (words, last) = rest.as_chunks();
    for word in words {
        state.absorb(u64::from_le_bytes(*word));
    }
    let mut end = [0; 8];
    for (to, from) in end.iter_mut().zip(last) {
        *to = *from;
    }
    // The message's length mod 256.
    end[7] = (rest.len() + 8) as u8;
    state.absorb(u64::from_le_bytes(end));
    state.finish()
}

struct State([u64; 4]);

impl State {
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.rounds(2);
        self.0[0] ^= word;
    }

    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xff;
        self.rounds(4);
        let [a, b, c, d] = self.0;
        a ^ b ^ c ^ d
    }

    #[inline(never)]
    fn rounds(&mut self, count: u32) {
        let [mut a, mut b, mut c, mut d] = self.0;
        for _ in 0..count {
            a = a.wrapping_add(b);
            b = b.rotate_left(13) ^ a;
            a = a.rotate_left(32);
            c = c.wrapping_add(d);
            d = d.rotate_left(16) ^ c;
            a = a.wrapping_add(d);
            d = d.rotate_left(21) ^ a;
            c = c.wrapping_add(b);
            b = b.rotate_left(17) ^ c;
            c = c.rotate_left(32);
        }
        self.0 = [a, b, c, d];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The authors' test vectors (`vectors_sip64` of their C code): key 00 01 … 0f, messages 00 01 ….
    #[test]
    fn the_authors_vectors() {
        let bytes: [u8; 16] = core::array::from_fn(|i| i as u8);
        let first = 0x0706_0504_0302_0100;
        for (len, tag) in [
            (8, [0x62, 0x24, 0x93, 0x9a, 0x79, 0xf5, 0xf5, 0x93]),
            (9, [0xb0, 0xe4, 0xa9, 0x0b, 0xdf, 0x82, 0x00, 0x9e]),
            (15, [0xe5, 0x45, 0xbe, 0x49, 0x61, 0xca, 0x29, 0xa1]),
        ] {
            assert_eq!(siphash(&bytes, first, &bytes[8..len]).to_le_bytes(), tag);
        }
    }
}
