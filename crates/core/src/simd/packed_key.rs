//! Vectors of doubles from the integers of fewer than 8 bytes that a key in memory may consist of.

use super::{Isa, Simd, dispatch};
use crate::parameters::PackedWidth;

/// The number of bytes from the beginning of two pairs of vectors, of integers of `bytes` bytes, to where products read them once more
/// ([`Simd::load_of_packed_quad`]). With 6 bytes these are the third of three vectors of the length of doubles, and 2 bytes.
pub(crate) const fn quad_shift<S: Simd>(bytes: usize) -> usize {
    match bytes {
        6 => 2 * size_of::<f64>() * S::LANES + 2,
        _ => 0,
    }
}

impl Isa {
    /// Returns whether external products can read keys of this width on this instruction set.
    pub fn reads_packed_keys(self, width: PackedWidth) -> bool {
        dispatch!(self, |simd| reads(simd, width))
    }

    /// Returns the width in which bootstrapping keys that need at least `width` are kept in memory, or `None` if they are kept as doubles: where products
    /// cannot [read them](Self::reads_packed_keys), or additions share the ports of products. Where additions have ports of their own, unpacking
    /// takes no time from the products with AVX-512, and 3 to 8 % of a batch's time with AVX2, and one ciphertext waits less for its key. On other processors unpacking takes the ports of the products, so that batches
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

    /// Brings the bytes of the integers of `bytes` bytes that belong to an output and a vector of points, little-endian and in two's complement, to the order in which the
    /// products of this instruction set read them.
    pub(crate) fn arrange_packed(self, bytes: usize, numbers: &mut [u8]) {
        dispatch!(self, |simd| match bytes {
            6 => arrange::<_, 6>(simd, numbers),
            7 => arrange::<_, 7>(simd, numbers),
            _ => arrange::<_, 8>(simd, numbers),
        });
    }
}

#[inline(always)]
fn reads<S: Simd>(_simd: S, width: PackedWidth) -> bool {
    width.is_among(S::PACKED_WIDTHS)
}

#[inline(always)]
fn arrange<S: Simd, const BYTES: usize>(_simd: S, numbers: &mut [u8]) {
    S::arrange_packed::<BYTES>(numbers);
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

    /// Packs integers of `BYTES` bytes, as many pairs of vectors as make an odd number, and reads them.
    #[inline(always)]
    fn read<S: Simd, const BYTES: usize>(simd: S, integers: &[i64], out: &mut Vec<f64>) {
        let pairs = (integers.len() / (2 * S::LANES) - 1) | 1;
        let integers = &integers[..pairs * 2 * S::LANES];
        let places = simd.packed_places::<BYTES>();
        let bytes = integers.iter().map(|x| x.to_le_bytes());
        let mut numbers: Vec<u8> = bytes.flat_map(|x| x.into_iter().take(BYTES)).collect();
        S::arrange_packed::<BYTES>(&mut numbers);
        let quad = 4 * S::LANES * BYTES;
        let end = numbers.len();
        // What is behind the integers is ignored.
        numbers.resize(end + quad, 0xa5);
        let mut keep = |pair: [S::F64; 2]| {
            for vector in pair {
                let mut lanes = S::Chunk::default();
                simd.store(&mut lanes, vector);
                out.extend_from_slice(lanes.as_ref());
            }
        };
        for at in 0..end / quad {
            let (at, shift) = (at * quad, quad_shift::<S>(BYTES));
            let [quad, shifted] = [at, at + shift].map(|at| &numbers[at..][..quad]);
            keep(simd.load_of_packed_quad::<BYTES, 0>(places, quad, shifted));
            keep(simd.load_of_packed_quad::<BYTES, 1>(places, quad, shifted));
        }
        let last = &numbers[end / quad * quad..end];
        assert_eq!(last.len(), quad / 2);
        keep(simd.load_packed_pair::<BYTES>(places, last));
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
                assert!(out.len() > integers.len() / 2);
                assert_eq!(out, expected[..out.len()], "{} {width:?}", isa.name());
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
