//! The transposition on the way to memory for `fft/cube.rs`.

use core::arch::x86_64::*;

use super::Avx512;
use crate::simd::{Cube, Simd};

/// Writes a quarter of a vector to pair `PAIR` of row `ROW`. It is in assembly, because the compiler
/// turns the intrinsics into shuffles, on the ports that arithmetic needs: it splits the operands of
/// a shuffle into quarters first, or joins quarters that are neighbours in memory.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn store_quarter<const QUARTER: usize, const ROW: usize, const PAIR: usize>(
    out: &mut [[f64; 8]; 8],
    x: __m512d,
) {
    const { assert!(QUARTER < 4 && ROW < 8 && PAIR < 4) };
    // SAFETY: writes 16 bytes within row `ROW` of `out`, and nothing else.
    unsafe {
        core::arch::asm!(
            "vextractf64x2 [{out} + {offset}], {x}, {quarter}",
            out = in(reg) out.as_mut_ptr(),
            offset = const 64 * ROW + 16 * PAIR,
            x = in(zmm_reg) x,
            quarter = const QUARTER,
            options(nostack, preserves_flags)
        );
    }
}

impl<const ADDERS: bool> Cube for Avx512<ADDERS> {
    const ADDERS: bool = ADDERS;

    /// Pairs of rows are interleaved in registers, and quarters of the result are joined in memory,
    /// because the ports for stores have little else to do. They are written row by row, since two stores
    /// to one line take as long as one. With `ADDERS`, on processors that split vectors of 64 bytes, whole rows are stored.
    #[inline(always)]
    fn store_transposed(
        self,
        out: &mut [[f64; 8]; 8],
        _group: usize,
        _part: usize,
        rows: &[__m512d],
    ) {
        let mut rows: [__m512d; 8] = *rows.first_chunk().expect("8 rows");
        if ADDERS {
            self.transpose(&mut rows);
            for (line, row) in out.iter_mut().zip(rows) {
                self.store(line, row);
            }
            return;
        }
        let [a, b, c, d, e, f, g, h] = rows;
        macro_rules! store_rows {
            ($unpack:ident, $parity:literal) => {
                let (ab, cd, ef, gh) = ($unpack(a, b), $unpack(c, d), $unpack(e, f), $unpack(g, h));
                store_rows!(0, $parity, ab, cd, ef, gh);
                store_rows!(1, $parity, ab, cd, ef, gh);
                store_rows!(2, $parity, ab, cd, ef, gh);
                store_rows!(3, $parity, ab, cd, ef, gh);
            };
            ($quarter:literal, $parity:literal, $ab:ident, $cd:ident, $ef:ident, $gh:ident) => {
                store_quarter::<$quarter, { 2 * $quarter + $parity }, 0>(out, $ab);
                store_quarter::<$quarter, { 2 * $quarter + $parity }, 1>(out, $cd);
                store_quarter::<$quarter, { 2 * $quarter + $parity }, 2>(out, $ef);
                store_quarter::<$quarter, { 2 * $quarter + $parity }, 3>(out, $gh);
            };
        }
        proved!({
            store_rows!(_mm512_unpacklo_pd, 0);
            store_rows!(_mm512_unpackhi_pd, 1);
        });
    }
}
