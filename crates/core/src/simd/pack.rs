//! The top bits of torus scalars as a stream of bits, least significant bit first.
//!
//! A block of 64 values takes `8 * bits` whole bytes, whatever `bits` is. Within it
//! vectors join neighbours, the first one low: four of at most 16 bits or two of at most
//! 32. Two groups of four end at a byte and are placed together; pairs and single values are
//! placed bit after bit. AVX2 and AVX-512 join eight of at most 6 bits by instructions that add
//! products, and AVX-512 joins others by a scalar instruction.

use super::Simd;
use crate::torus::Torus;

/// The number of values of a block.
pub(super) const BLOCK: usize = 64;

/// The largest number of bits of a value for which multiplications of signed bytes join sixteen.
#[cfg(target_arch = "x86_64")]
pub(super) const MAX_SIXTEENS_BITS: u32 = 6;

/// The factors of neighbours in a sum of two products that joins them: of bytes, then of 16-bit
/// words.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn joining_factors(bits: u32) -> [i32; 2] {
    [
        0x0001_0001 << (8 + bits) | 0x0001_0001,
        1 << (16 + 2 * bits) | 1,
    ]
}

/// The shuffle that moves the bytes of sixteen values together, by number of bits: the values are in
/// two words of eight each, and a place whose top bit is set gets a zero.
#[cfg(target_arch = "x86_64")]
pub(super) const BYTES_KEPT: [[u8; 16]; MAX_SIXTEENS_BITS as usize + 1] = {
    let mut kept = [[0x80; 16]; MAX_SIXTEENS_BITS as usize + 1];
    let mut bits = 1;
    while bits < kept.len() {
        let mut k = 0;
        while k < bits {
            kept[bits][k] = k as u8;
            kept[bits][bits + k] = 8 + k as u8;
            k += 1;
        }
        bits += 1;
    }
    kept
};

/// Writes `bits` rounded top bits of every value to `out`, which has exactly the number of bytes
/// that they take. `bits` is in `1..=T::BITS`.
#[inline(always)]
pub(super) fn pack_top_bits<S: Simd, T: Torus>(simd: S, values: &[T], bits: u32, out: &mut [u8]) {
    let top = Top::<T>::new(bits);
    // Joining words of 64 bits is slower on a 32-bit processor.
    let blocks = match cfg!(target_pointer_width = "64") {
        true => values.as_chunks::<BLOCK>().0,
        false => &[],
    };
    let mut at = 0;
    for block in blocks {
        pack_block(simd, &top, block, &mut out[at..]);
        at += BLOCK / 8 * bits as usize;
    }
    pack_one_by_one(&top, &values[BLOCK * blocks.len()..], &mut out[at..]);
}

/// The rounding of values to their top bits.
pub(crate) struct Top<T> {
    pub(super) bits: u32,
    /// The number to add before the bits below the top ones are cut off.
    pub(super) half: T,
    shift: u32,
}

impl<T: Torus> Top<T> {
    #[inline(always)]
    fn new(bits: u32) -> Self {
        let shift = T::BITS - bits;
        // Half of the smallest kept step, or zero if nothing is cut off.
        let half = match shift {
            0 => T::ZERO,
            _ => T::ONE << (shift - 1),
        };
        Self { bits, half, shift }
    }

    #[inline(always)]
    pub(super) fn of(&self, value: T) -> T {
        value.add(self.half) >> self.shift
    }
}

/// Places values in a word of their own width, which is written when it is full.
#[inline(always)]
fn pack_one_by_one<T: Torus>(top: &Top<T>, values: &[T], out: &mut [u8]) {
    let mut words = out.chunks_exact_mut(T::BITS as usize / 8);
    let mut word = T::ZERO;
    let mut filled = 0;
    for &value in values {
        let value = top.of(value);
        word = word | value << filled;
        filled += top.bits;
        if filled >= T::BITS {
            if let Some(out) = words.next() {
                out.copy_from_slice(&word.to_u64().to_le_bytes()[..out.len()]);
            }
            filled -= T::BITS;
            word = match filled {
                0 => T::ZERO,
                _ => value >> (top.bits - filled),
            };
        }
    }
    if filled > 0 {
        let out = match words.next() {
            Some(out) => out,
            None => words.into_remainder(),
        };
        out.copy_from_slice(&word.to_u64().to_le_bytes()[..out.len()]);
    }
}

/// Writes a block to the start of `out`, and possibly zeros behind it.
#[inline(always)]
fn pack_block<S: Simd, T: Torus>(simd: S, top: &Top<T>, block: &[T; BLOCK], out: &mut [u8]) {
    let bits = top.bits;
    if bits > 32 {
        return place(&block.map(|value| top.of(value).to_u64()), bits, out);
    }
    if bits <= 16 {
        return simd.pack_narrow(top, block, out);
    }
    let ones = block.map(|value| top.of(value).to_u64() as u32);
    let mut pairs = [0; BLOCK / 2];
    simd.join_pairs(&mut pairs, &ones, bits);
    place(&pairs, 2 * bits, out);
}

/// Writes a block of values of at most 16 bits.
#[inline(always)]
pub(super) fn pack_narrow<S: Simd, T: Torus>(
    simd: S,
    top: &Top<T>,
    block: &[T; BLOCK],
    out: &mut [u8],
) {
    let ones = block.map(|value| top.of(value).to_u64() as u32);
    let mut fours = [0; BLOCK / 4];
    simd.join_fours(&mut fours, &ones, top.bits);
    match top.bits {
        ..=8 => in_room::<8>(
            top.bits,
            out,
            #[inline(always)]
            |room| place_eights::<8>(&fours, top.bits, room),
        ),
        _ => in_room::<16>(
            top.bits,
            out,
            #[inline(always)]
            |room| place_eights::<16>(&fours, top.bits, room),
        ),
    }
}

/// Joins neighbours of at most 32 bits.
#[inline(always)]
pub(super) fn join_pairs(pairs: &mut [u64], ones: &[u32], bits: u32) {
    for (pair, [low, high]) in pairs.iter_mut().zip(ones.as_chunks().0) {
        *pair = u64::from(*low) | u64::from(*high) << bits;
    }
}

/// Joins four neighbours of at most 16 bits.
#[inline(always)]
pub(super) fn join_fours(fours: &mut [u64], ones: &[u32], bits: u32) {
    for (four, [a, b, c, d]) in fours.iter_mut().zip(ones.as_chunks().0) {
        // Two of them have at most 32 bits.
        let (low, high) = (a | b << bits, c | d << bits);
        *four = u64::from(low) | u64::from(high) << (2 * bits);
    }
}

/// Places words of `width` bits, more than 32, one after another.
#[inline(always)]
fn place(words: &[u64], width: u32, out: &mut [u8]) {
    let mut out = out.as_chunks_mut::<8>().0.iter_mut();
    let mut full = 0u64;
    let mut filled = 0;
    for word in words {
        full |= word << filled;
        filled += width;
        if filled >= 64 {
            if let Some(out) = out.next() {
                *out = full.to_le_bytes();
            }
            filled -= 64;
            // The part that did not fit. It takes two shifts, because the part may be empty.
            full = (word >> 1) >> (width - filled - 1);
        }
    }
}

/// Writes a block to the start of `out` by calling a function for eight values at a time. Each eight
/// take `bits` bytes and are written as `BYTES`, at least as many: the next eight overwrite the
/// zeros at the end. Behind the last eight there may be no room for the zeros.
#[inline(always)]
pub(super) fn in_room<const BYTES: usize>(bits: u32, out: &mut [u8], write: impl Fn(&mut [u8])) {
    let len = BLOCK / 8 * bits as usize;
    let room_len = len - bits as usize + BYTES;
    match out.get_mut(..room_len) {
        Some(room) => write(room),
        None => {
            let mut room = [0; 2 * BLOCK];
            write(&mut room[..room_len]);
            out[..len].copy_from_slice(&room[..len]);
        }
    }
}

/// Places words of `4 * bits` bits two at a time.
#[inline(always)]
pub(super) fn place_eights<const BYTES: usize>(
    fours: &[u64; BLOCK / 4],
    bits: u32,
    out: &mut [u8],
) {
    let width = 4 * bits;
    for (i, [low, high]) in fours.as_chunks().0.iter().enumerate() {
        let out = &mut out[i * bits as usize..][..BYTES];
        match BYTES {
            8 => out.copy_from_slice(&(low | high << width).to_le_bytes()),
            _ => {
                // It takes two shifts, because the first word may be full.
                out[..8].copy_from_slice(&(low | (high << 32) << (width - 32)).to_le_bytes());
                out[8..].copy_from_slice(&(high >> (64 - width)).to_le_bytes());
            }
        }
    }
}
