//! Vectors of doubles from the integers of fewer than 8 bytes that a key in memory may consist of.

use super::{Isa, Simd, dispatch};
use crate::parameters::PackedWidth;

impl Isa {
    /// Returns whether external products can read keys of this width on this instruction set.
    pub fn reads_packed_keys(self, width: PackedWidth) -> bool {
        dispatch!(self, |simd| reads(simd, width))
    }

    /// Returns the width in which bootstrapping keys that need at least `width` are kept in memory, or `None` if they are kept as doubles: where products
    /// cannot [read them](Self::reads_packed_keys), or additions share the ports of products. Where additions have ports of their own, unpacking
    /// takes no time from the products with AVX-512, and about a tenth of a batch's time with AVX2, and one ciphertext waits less for its key. On other processors unpacking takes the ports of the products, so that batches
    /// would take a seventh longer.
    pub fn packed_key_width(self, width: PackedWidth) -> Option<PackedWidth> {
        let widths = match width {
            PackedWidth::SevenAndSix => [width, PackedWidth::EightAndSix],
            _ => [width; 2],
        };
        let reads = |&width: &PackedWidth| self.reads_packed_keys(width);
        widths.into_iter().find(reads).filter(|_| self.adds_apart())
    }

    /// Returns whether the additions of the processor have ports apart from those of products.
    fn adds_apart(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => super::adders::found(),
            _ => self.adders().is_some(),
        }
    }

    /// Brings the bytes of vectors of integers of `bytes` bytes, little-endian and in two's complement, to the order in which the products of this instruction set
    /// read them.
    pub(crate) fn arrange_packed(self, bytes: usize, packed: &mut [u8]) {
        dispatch!(self, |simd| match bytes {
            6 => arrange::<_, 6>(simd, packed),
            7 => arrange::<_, 7>(simd, packed),
            _ => arrange::<_, 8>(simd, packed),
        });
    }
}

#[inline(always)]
fn reads<S: Simd>(_simd: S, width: PackedWidth) -> bool {
    width.is_among(S::PACKED_WIDTHS)
}

#[inline(always)]
fn arrange<S: Simd, const BYTES: usize>(_simd: S, packed: &mut [u8]) {
    for pair in packed.chunks_exact_mut(2 * S::LANES * BYTES) {
        S::arrange_pair::<BYTES>(pair);
    }
}

/// See [`Simd::load_packed_pair`].
#[inline(always)]
pub(super) fn load_pair<S: Simd, const BYTES: usize>(simd: S, pair: &[u8]) -> [S::F64; 2] {
    let (integers, _) = pair.as_chunks::<BYTES>();
    let (re, im) = integers.split_at(S::LANES);
    let top = |integer: [u8; BYTES]| {
        let mut bytes = [0; 8];
        bytes[8 - BYTES..].copy_from_slice(&integer);
        match BYTES {
            8 => f64::from_le_bytes(bytes),
            _ => i64::from_le_bytes(bytes) as f64,
        }
    };
    [simd.load_with(re, top), simd.load_with(im, top)]
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    /// Packs integers of `BYTES` bytes, and reads them.
    #[inline(always)]
    fn read<S: Simd, const BYTES: usize>(simd: S, integers: &[i64], out: &mut Vec<f64>) {
        let places = simd.packed_places::<BYTES>();
        for integers in integers.chunks_exact(2 * S::LANES) {
            let bytes = integers.iter().map(|x| x.to_le_bytes());
            let mut pair: Vec<u8> = bytes.flat_map(|x| x.into_iter().take(BYTES)).collect();
            S::arrange_pair::<BYTES>(&mut pair);
            for vector in simd.load_packed_pair::<BYTES>(places, &pair) {
                let mut lanes = S::Chunk::default();
                simd.store(&mut lanes, vector);
                out.extend_from_slice(lanes.as_ref());
            }
        }
    }

    #[test]
    fn integers_are_read_as_the_tops_of_64_bits() {
        for (width, bits) in [(PackedWidth::Six, 48), (PackedWidth::Seven, 56)] {
            let most = (1i64 << (bits - 1)) - 1;
            let mut integers = vec![0, 1, -1, most, -most, -most - 1, 1 << 31, -1 << 31];
            integers.extend((1..57).map(|i: i64| i.wrapping_mul(0x1e37_79b9_7f4a_7c15) % most));
            let expected: Vec<f64> = integers.iter().map(|x| (x << (64 - bits)) as f64).collect();
            for isa in Isa::available() {
                if isa != Isa::Portable && !isa.reads_packed_keys(width) {
                    continue;
                }
                let (mut out, numbers) = (Vec::new(), &integers);
                let to = &mut out;
                dispatch!(isa, |simd| match bits {
                    48 => read::<_, 6>(simd, numbers, to),
                    _ => read::<_, 7>(simd, numbers, to),
                });
                assert_eq!(out, expected, "{} {width:?}", isa.name());
            }
        }
    }

    #[test]
    fn a_processor_keeps_what_it_reads() {
        for isa in Isa::available() {
            for width in PackedWidth::ALL {
                if let Some(kept) = isa.packed_key_width(width) {
                    assert!(isa.reads_packed_keys(kept));
                    assert!(kept.mask_bytes() >= width.mask_bytes());
                    assert!(kept.body_bytes() >= width.body_bytes());
                }
            }
        }
    }
}
