//! Torus scalars out of a stream of their top bits, least significant bit first: the inverse of
//! `pack.rs`.
//!
//! Eight values take `bits` whole bytes, whatever `bits` is, so that all groups of eight look the same:
//! AVX-512 and AVX2 load one, move the bytes of each value into a lane of 64 bits, and shift the value to
//! the top. The portable way reads eight bytes for each value.

use super::Simd;
use super::torus_slice::TorusSliceMut;
use crate::torus::Torus;

/// The number of values of a group.
pub(super) const EIGHT: usize = 8;

/// The largest number of bits of a value that eight bytes contain whole, whatever bit it starts at.
pub(super) const MAX_WINDOW_BITS: u32 = 57;

/// Replaces the values by those of `packed`, zeros below their top `bits` bits, or adds those to them if
/// `ADD`. `packed` has exactly the number of bytes that they take. `bits` is in `1..=T::BITS`.
#[inline(always)]
pub(super) fn unpack<S: Simd, T: Torus, const ADD: bool>(
    simd: S,
    packed: &[u8],
    bits: u32,
    values: &mut [T],
) {
    let groups = match TorusSliceMut::new(values) {
        TorusSliceMut::U64(values) => {
            simd.unpack_eights::<ADD>(packed, bits, values.as_chunks_mut().0)
        }
        TorusSliceMut::U32(_) => 0,
    };
    let values = &mut values[EIGHT * groups..];
    let packed = &packed[groups * bits as usize..];
    let place = |value: &mut T, top: u64| {
        let top = T::from_top_bits(top, bits);
        *value = if ADD { value.add(top) } else { top };
    };
    let each = bits as usize;
    let mut read = 0;
    // Near the end there are fewer than eight bytes.
    if bits <= MAX_WINDOW_BITS {
        for value in values.iter_mut() {
            let start = read * each;
            let Some(window) = packed[start / 8..].first_chunk() else {
                break;
            };
            place(value, u64::from_le_bytes(*window) >> (start % 8));
            read += 1;
        }
    }
    for (i, value) in values.iter_mut().enumerate().skip(read) {
        let start = i * each;
        let bytes = &packed[start / 8..];
        let mut window = [0; 16];
        let len = bytes.len().min(window.len());
        window[..len].copy_from_slice(&bytes[..len]);
        place(value, (u128::from_le_bytes(window) >> (start % 8)) as u64);
    }
}
