//! The kernels in plain Rust: short arrays, which the compiler keeps in the
//! vector registers of the target's baseline (SSE2, NEON) where it has any.

use super::{Simd, packed_key};
use crate::parameters::PackedWidth;

const LANES: usize = 4;
const LANES_U32: usize = 8;

/// The instruction set of the compilation target.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Simd for Portable {
    const LANES: usize = LANES;
    const FUSED: bool = false;
    const MAX_RADIX_LOG: u32 = 2;
    const KEY_SWITCH_VECTORS: usize = 2;
    const PRODUCT_OUTPUTS: usize = 2;
    const HOLDS_PAIRS: bool = false;
    const PACKED_WIDTHS: &'static [PackedWidth] = &[];

    type F64 = [f64; LANES];
    type Chunk = [f64; LANES];
    type U32 = [u32; LANES_U32];
    type ChunkU32 = [u32; LANES_U32];
    type PackedPlaces = ();

    #[inline(never)]
    fn apart<R>(self, body: impl FnOnce() -> R) -> R {
        body()
    }

    #[inline(always)]
    fn chunks(data: &[f64]) -> &[Self::Chunk] {
        data.as_chunks().0
    }
    #[inline(always)]
    fn chunks_mut(data: &mut [f64]) -> &mut [Self::Chunk] {
        data.as_chunks_mut().0
    }
    #[inline(always)]
    fn chunks_u32(data: &[u32]) -> &[Self::ChunkU32] {
        data.as_chunks().0
    }
    #[inline(always)]
    fn chunks_u32_mut(data: &mut [u32]) -> &mut [Self::ChunkU32] {
        data.as_chunks_mut().0
    }

    #[inline(always)]
    fn splat(self, value: f64) -> Self::F64 {
        [value; LANES]
    }
    #[inline(always)]
    fn packed_places<const BYTES: usize>(self) {}
    #[inline(always)]
    fn load_packed_pair<const BYTES: usize>(self, (): (), pair: &[u8]) -> [Self::F64; 2] {
        packed_key::load_pair::<_, BYTES>(self, pair)
    }
    #[inline(always)]
    fn load(self, chunk: &Self::Chunk) -> Self::F64 {
        *chunk
    }
    #[inline(always)]
    fn store(self, chunk: &mut Self::Chunk, value: Self::F64) {
        *chunk = value;
    }
    #[inline(always)]
    fn add(self, mut a: Self::F64, b: Self::F64) -> Self::F64 {
        for i in 0..LANES {
            a[i] += b[i];
        }
        a
    }
    #[inline(always)]
    fn sub(self, mut a: Self::F64, b: Self::F64) -> Self::F64 {
        for i in 0..LANES {
            a[i] -= b[i];
        }
        a
    }
    #[inline(always)]
    fn mul(self, mut a: Self::F64, b: Self::F64) -> Self::F64 {
        for i in 0..LANES {
            a[i] *= b[i];
        }
        a
    }
    #[inline(always)]
    fn mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        self.add(self.mul(a, b), c)
    }
    #[inline(always)]
    fn mul_sub(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        self.sub(self.mul(a, b), c)
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        self.sub(c, self.mul(a, b))
    }
    #[inline(always)]
    fn transpose(self, rows: &mut [Self::F64]) {
        let [a, b, c, d]: &mut [Self::F64; LANES] = rows.try_into().expect("LANES rows");
        let column = |k: usize| [a[k], b[k], c[k], d[k]];
        [*a, *b, *c, *d] = [column(0), column(1), column(2), column(3)];
    }

    #[inline(always)]
    fn splat_u32(self, value: u32) -> Self::U32 {
        [value; LANES_U32]
    }
    #[inline(always)]
    fn load_u32(self, chunk: &Self::ChunkU32) -> Self::U32 {
        *chunk
    }
    #[inline(always)]
    fn store_u32(self, chunk: &mut Self::ChunkU32, value: Self::U32) {
        *chunk = value;
    }
    #[inline(always)]
    fn neg_mul_add_u32(self, a: Self::U32, b: Self::U32, mut c: Self::U32) -> Self::U32 {
        for i in 0..LANES_U32 {
            c[i] = c[i].wrapping_sub(a[i].wrapping_mul(b[i]));
        }
        c
    }
}
