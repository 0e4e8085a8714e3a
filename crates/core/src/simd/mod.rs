//! Vector kernels, and the one place that chooses an instruction set for them.
//!
//! A public kernel takes the [`Isa`] that it runs on, checks the lengths of its
//! slices, and instantiates one generic body for that instruction set. The
//! bodies are in `fourier.rs`, `convert.rs`, `decompose.rs`, `key_switch.rs`,
//! `pack.rs`, `unpack.rs`, `chacha20.rs` and `box_muller.rs` (and in [`crate::fft`]). They are written over the
//! `Simd` trait, which one file per instruction set implements. A body that is a plain loop
//! gains from this too: the compiler vectorises it for the instruction set of
//! the function that it is inlined into.
//!
//! There are two exceptions. The compilation target chooses the arithmetic on single integers of
//! `ntt.rs`. And AES has instructions of its own, independent of the size of vectors, so it has a
//! choice of its own, `AesIsa`.
//!
//! Every kernel is branch-free in the coefficients that it reads, and its memory
//! accesses depend on lengths and on rotation degrees only. Integer kernels give
//! the same bits on every instruction set; floating-point kernels differ in the
//! last bits where one fuses multiplications with additions and another does not.

// Only the engine, which allocates, computes external products.
#![cfg_attr(not(feature = "alloc"), allow(dead_code))]

use crate::packed_len::packed_len;
use crate::torus::Torus;

#[cfg(target_arch = "x86_64")]
mod adders;
#[cfg(feature = "aes")]
mod aes;
mod ahead;
#[cfg(all(target_arch = "arm", target_abi = "eabihf"))]
mod arm;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod box_muller;
mod chacha20;
mod convert;
mod decompose;
mod fourier;
mod key_switch;
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
mod neon;
mod ntt;
mod pack;
mod packed_key;
mod portable;
mod rows;
mod torus_slice;
mod unpack;
mod vector;

#[cfg(all(test, feature = "std"))]
mod tests;

#[cfg(feature = "aes")]
pub(crate) use aes::{Aes128, AesIsa};
#[cfg_attr(not(feature = "alloc"), allow(unused_imports))]
pub(crate) use ahead::{Ahead, Lines};
#[cfg(all(target_arch = "arm", target_abi = "eabihf"))]
pub(crate) use arm::{montgomery_mul, ntt_forward_butterfly, ntt_inverse_butterfly};
#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub(crate) use chacha20::Block as ChaCha20Block;
pub use decompose::DigitPlace;
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub use neon::Neon;
pub(crate) use ntt::ntt_reduce;
#[cfg(not(all(target_arch = "arm", target_abi = "eabihf")))]
pub(crate) use ntt::{montgomery_mul, ntt_forward_butterfly, ntt_inverse_butterfly};
#[cfg_attr(not(feature = "alloc"), allow(unused_imports))]
pub(crate) use packed_key::quad_shift;
pub(crate) use portable::Portable;
pub(crate) use rows::{Columns, ColumnsMut};
pub(crate) use torus_slice::as_bytes_mut;
#[cfg_attr(not(feature = "alloc"), allow(unused_imports))]
pub(crate) use torus_slice::{TorusSlice, TorusSliceMut};
pub use vector::KEY_SWITCH_TILE_COLUMNS;
pub(crate) use vector::Simd;
#[cfg(target_arch = "x86_64")]
pub(crate) use vector::{Cube, align_spills};

/// The largest number of ciphertexts that [`key_switch_tile`] processes at once.
pub const KEY_SWITCH_TILE_CIPHERTEXTS: usize = 4;

/// The number of which the lengths of the kernels' slices of doubles are multiples.
pub const LENGTH_MULTIPLE: usize = 16;

/// An instruction set that this processor has.
///
/// The variants beyond [`Portable`](Isa::Portable) carry a proof of detection
/// that only [`detect`](Isa::detect) and [`available`](Isa::available) can make,
/// so that safe code cannot run an instruction that the processor lacks. They
/// exist on their own architecture only; [`name`](Isa::name) is how to tell them
/// apart without naming them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// Plain Rust, vectorised by the compiler for the target's baseline.
    Portable,
    /// AVX2, BMI2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// AVX-512 F, DQ, VL and BW, with AVX2, BMI2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    /// NEON with doubles.
    #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
    Neon(Neon),
}

/// The instruction set that has a second form of transforms.
#[cfg(target_arch = "x86_64")]
type Adders = Avx512<true>;
/// No instruction set has a second form of transforms.
#[cfg(not(target_arch = "x86_64"))]
type Adders = core::convert::Infallible;

impl Isa {
    /// Returns the fastest instruction set of this processor. With the `std` feature the
    /// processor is asked (and std remembers the answer). Without it, only the guarantees of the
    /// compilation target are used.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(proof) = Avx512::detect() {
                return Self::Avx512(proof);
            }
            if let Some(proof) = Avx2::detect() {
                return Self::Avx2(proof);
            }
        }
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        return Self::Neon(Neon::detect());
        #[cfg(not(all(target_arch = "aarch64", target_feature = "neon")))]
        Self::Portable
    }

    /// Returns all instruction sets that can be used here, slowest first. AVX-512 is among them twice, with either form of
    /// transforms.
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let found = [
            Some(Self::Portable),
            Avx2::detect().map(Self::Avx2),
            Avx512::detect().map(|proof| Self::Avx512(proof.with_other_transforms())),
            Avx512::detect().map(Self::Avx512),
        ];
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        let found = [Some(Self::Portable), Some(Self::Neon(Neon::detect()))];
        #[cfg(not(any(
            target_arch = "x86_64",
            all(target_arch = "aarch64", target_feature = "neon")
        )))]
        let found = [Some(Self::Portable)];
        found.into_iter().flatten()
    }

    /// The proof of AVX-512 with `ADDERS`, if transforms are to have that form.
    #[inline(always)]
    pub(crate) fn adders(self) -> Option<Adders> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => proof.adders(),
            _ => None,
        }
    }

    /// The name of the instruction set: `portable`, `avx2`, `avx512` or `neon`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            Self::Neon(_) => "neon",
        }
    }
}

/// Evaluates an expression over a [`Simd`] value with the instruction set switched
/// on around it. Everything that the expression calls must be `#[inline(always)]`:
/// a function that is not inlined is compiled without the instruction set.
macro_rules! dispatch {
    ($isa:expr, |$simd:ident| $body:expr) => {
        match $isa {
            $crate::simd::Isa::Portable => {
                let $simd = $crate::simd::Portable;
                $body
            }
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Isa::Avx2($simd) => $simd.vectorize(
                #[inline(always)]
                move || $body,
            ),
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Isa::Avx512($simd) => $simd.vectorize(
                #[inline(always)]
                move || $body,
            ),
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            $crate::simd::Isa::Neon($simd) => $body,
        }
    };
}
pub(crate) use dispatch;

/// Evaluates an expression in a function of its own: see [`Simd::apart`].
#[cfg_attr(not(feature = "alloc"), allow(unused_macros))]
macro_rules! apart {
    ($simd:expr, $body:expr) => {
        $simd.apart(
            #[inline(always)]
            move || $body,
        )
    };
}
#[cfg_attr(not(feature = "alloc"), allow(unused_imports))]
pub(crate) use apart;

/// Evaluates an expression as [`dispatch`] does, in the form that the ports of the processor suggest. It is for the
/// transforms of external products; other kernels have one form, so that the boards' programs stay small.
#[cfg_attr(not(feature = "alloc"), allow(unused_macros))]
macro_rules! dispatch_transform {
    ($isa:expr, |$simd:ident| $body:expr) => {
        match $isa.adders() {
            #[cfg(target_arch = "x86_64")]
            Some($simd) => $simd.vectorize(
                #[inline(always)]
                move || $body,
            ),
            _ => $crate::simd::dispatch!($isa, |$simd| $body),
        }
    };
}
#[cfg_attr(not(feature = "alloc"), allow(unused_imports))]
pub(crate) use dispatch_transform;

/// Runs `kernel`, a plain loop, compiled for `isa`, so that the compiler's own vectors are as
/// wide as that instruction set's. That works for a closure marked `#[inline(always)]` and what
/// it calls marked so too; anything else is compiled for the target's baseline.
#[inline(always)]
pub fn vectorize<R>(isa: Isa, kernel: impl FnOnce() -> R) -> R {
    dispatch!(isa, |_simd| kernel())
}

#[track_caller]
fn check_fourier(length: usize, others: &[usize]) {
    assert!(
        length.is_multiple_of(LENGTH_MULTIPLE),
        "the number of doubles is not a multiple of {LENGTH_MULTIPLE}"
    );
    check_equal(length, others);
}

#[track_caller]
fn check_equal(length: usize, others: &[usize]) {
    assert!(
        others.iter().all(|&other| other == length),
        "slices of different lengths"
    );
}

#[track_caller]
fn check_packed<T: Torus>(bytes: usize, values: usize, bits: u32) {
    assert!(
        (1..=T::BITS).contains(&bits),
        "a value keeps between 1 and {} bits",
        T::BITS
    );
    check_equal(bytes, &[packed_len(values, bits)]);
}

#[track_caller]
fn check_degree(degree: usize, size: usize) {
    assert!(
        degree < 2 * size,
        "the degree of the monomial is not below 2N"
    );
}

/// Computes the pointwise complex product `out = a * b` of transforms (`[re half | im half]`).
///
/// # Panics
///
/// If the lengths differ or are not a multiple of [`LENGTH_MULTIPLE`].
pub fn fourier_mul(isa: Isa, out: &mut [f64], a: &[f64], b: &[f64]) {
    check_fourier(out.len(), &[a.len(), b.len()]);
    dispatch!(isa, |simd| fourier::mul(simd, out, a, b));
}

/// Multiplies every element by `factor`. Any length.
pub fn scale_f64(isa: Isa, data: &mut [f64], factor: f64) {
    dispatch!(isa, |_simd| fourier::scale(data, factor));
}

/// Computes the signed representatives, in `[-q/2, q/2)`: exact for `u32`, rounded to
/// nearest even for `u64`. Any length.
///
/// # Panics
///
/// If the lengths differ.
pub fn torus_to_f64<T: Torus>(isa: Isa, out: &mut [f64], input: &[T]) {
    check_equal(out.len(), &[input.len()]);
    dispatch!(isa, |simd| convert::torus_to_f64(simd, out, input));
}

/// Computes the signed representatives as fractions of the torus, in `[-1/2, 1/2]`: exact for `u32`, rounded to a double
/// for `u64`. Any length.
///
/// # Panics
///
/// If the lengths differ.
pub fn torus_to_turns<T: Torus>(isa: Isa, out: &mut [f64], input: &[T]) {
    check_equal(out.len(), &[input.len()]);
    dispatch!(isa, |simd| convert::torus_to_turns(simd, out, input));
}

/// Rounds numbers of turns, below 2^51 in magnitude, to scalars of the torus: to the nearest `u32`, or to the nearest
/// multiple of `2^-51` of a turn for `u64`. Any length.
///
/// # Panics
///
/// If the lengths differ.
pub fn turns_to_torus<T: Torus>(isa: Isa, out: &mut [T], turns: &[f64]) {
    check_equal(out.len(), &[turns.len()]);
    dispatch!(isa, |_simd| convert::turns_to_torus(out, turns));
}

/// Computes `out = X^degree * poly mod X^N + 1`, where N is the length.
///
/// # Panics
///
/// If the lengths differ or `degree` is not below 2N.
pub fn rotate_into<T: Torus>(isa: Isa, out: &mut [T], poly: &[T], degree: usize) {
    check_equal(out.len(), &[poly.len()]);
    check_degree(degree, poly.len());
    dispatch!(isa, |_simd| decompose::rotate_into(out, poly, degree));
}

/// Computes `out = low + 2^step_log2 * value mod q`. Any length.
///
/// # Panics
///
/// If the lengths differ, or `step_log2` is not below `T::BITS`.
pub fn place_on_line<T: Torus>(isa: Isa, out: &mut [T], values: &[u8], low: T, step_log2: u32) {
    check_equal(out.len(), &[values.len()]);
    assert!(step_log2 < T::BITS, "a step beyond the torus");
    dispatch!(isa, |_simd| convert::place_on_line(
        out, values, low, step_log2
    ));
}

/// Packs the `bits` most significant bits of every value, rounded to nearest, as a stream of
/// bits, least significant bit first, with zeros behind the last. Any length.
///
/// # Panics
///
/// If `bits` is not in `1..=BITS`, or `out` does not have the number of bytes that they take.
pub fn pack_top_bits<T: Torus>(isa: Isa, values: &[T], bits: u32, out: &mut [u8]) {
    check_packed::<T>(out.len(), values.len(), bits);
    dispatch!(isa, |simd| pack::pack_top_bits(simd, values, bits, out));
}

/// Reads the output of [`pack_top_bits`]: every value gets its `bits` most significant bits, and zeros
/// below. Any length.
///
/// # Panics
///
/// If `bits` is not in `1..=BITS`, or `packed` does not have the number of bytes that they take.
pub fn unpack_top_bits<T: Torus>(isa: Isa, packed: &[u8], bits: u32, values: &mut [T]) {
    check_packed::<T>(packed.len(), values.len(), bits);
    dispatch!(isa, |simd| unpack::unpack::<_, _, false>(
        simd, packed, bits, values
    ));
}

/// Adds what [`unpack_top_bits`] would write to the values, mod q. Any length.
///
/// # Panics
///
/// As [`unpack_top_bits`].
pub fn unpack_add<T: Torus>(isa: Isa, packed: &[u8], bits: u32, values: &mut [T]) {
    check_packed::<T>(packed.len(), values.len(), bits);
    dispatch!(isa, |simd| unpack::unpack::<_, _, true>(
        simd, packed, bits, values
    ));
}

/// Computes one tile of 64 output columns of a key switch, for up to 4 ciphertexts at once:
/// `acc[c][j] -= sum over r of digits[c][r] * key_tile[r][j] mod 2^32`.
///
/// # Panics
///
/// If there are more than [`KEY_SWITCH_TILE_CIPHERTEXTS`] ciphertexts, or the numbers of
/// slices of digits and accumulators, or of digits and rows, differ.
pub fn key_switch_tile(
    isa: Isa,
    acc: &mut [[u32; KEY_SWITCH_TILE_COLUMNS]],
    key_tile: &[[u32; KEY_SWITCH_TILE_COLUMNS]],
    digits: &[&[i32]],
) {
    check_tile(acc.len(), key_tile.len(), digits);
    dispatch!(isa, |simd| key_switch::tile(simd, acc, key_tile, digits));
}

#[track_caller]
fn check_tile<D>(ciphertexts: usize, rows: usize, digits: &[&[D]]) {
    assert!(
        ciphertexts <= KEY_SWITCH_TILE_CIPHERTEXTS,
        "more than {KEY_SWITCH_TILE_CIPHERTEXTS} ciphertexts"
    );
    check_equal(ciphertexts, &[digits.len()]);
    for row in digits {
        check_equal(rows, &[row.len()]);
    }
}

/// Overwrites `out` with the ChaCha20 blocks of `state` (RFC 8439, section 2.3), from
/// the counter in word 12 on, and advances the counter, mod 2^32.
pub(crate) fn chacha20_blocks(isa: Isa, state: &mut [u32; 16], out: &mut [ChaCha20Block]) {
    // Nothing need be detected that the compilation target guarantees.
    #[cfg(all(
        target_arch = "aarch64",
        target_feature = "neon",
        target_endian = "little"
    ))]
    {
        let _ = isa;
        chacha20::keystream(chacha20::Quads, state, out);
    }
    #[cfg(not(all(
        target_arch = "aarch64",
        target_feature = "neon",
        target_endian = "little"
    )))]
    dispatch!(isa, |simd| chacha20::keystream(simd, state, out));
}
