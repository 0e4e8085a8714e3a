//! The product of a torus polynomial and a prepared key polynomial in one sweep down
//! the tree and up again, for a transform that is used once and not kept.
//!
//! ```text
//! torus ─first pass─▶ ─passes─▶ ─middle pass: down, · key, up─▶ ─passes─▶ ─final pass─▶ torus
//! ```
//!
//! The first pass converts what it loads and the final one rounds what it stores. The
//! last pass down and the first one up work on the same `LANES^2` points, which stay
//! in registers while they are multiplied by the key. In a sum of products the
//! transforms are added before the way back: all products except the last end in the
//! middle pass, in an accumulator, and the last one adds the accumulator to its own values.

use core::marker::PhantomData;

use super::ends::{Add, Load, final_pass, first_pass};
use super::node::{Complex, join, split};
use super::passes::{
    MAX_TWIDDLES, Schedule, Twiddles, broadcast, complete, forward_pass, inverse_pass,
};
use crate::simd::Simd;
use crate::torus::Torus;

/// The part of a torus scalar that one transform processes.
pub(crate) trait Part {
    type Scalar: Torus;

    /// Loads the signed parts of LANES scalars.
    fn load<S: Simd>(simd: S, input: &[Self::Scalar]) -> S::F64;

    /// Adds rounded products of these parts to LANES scalars.
    fn add<S: Simd>(simd: S, out: &mut [Self::Scalar], product: S::F64);

    /// Adds rounded products of these parts, times `scale`, to LANES scalars of the lower half
    /// and to LANES scalars of the upper half.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn add_scaled<S: Simd>(
        simd: S,
        low: &mut [Self::Scalar],
        high: &mut [Self::Scalar],
        products: [S::F64; 2],
        scale: S::F64,
    ) {
        Self::add(simd, low, simd.mul(products[0], scale));
        Self::add(simd, high, simd.mul(products[1], scale));
    }
}

/// The whole of a 32-bit scalar.
pub(crate) struct Whole;
/// The signed low half of a 64-bit scalar.
pub(crate) struct LowHalf;
/// The signed high half of a 64-bit scalar.
pub(crate) struct HighHalf;

macro_rules! impl_part {
    ($part:ty, $scalar:ty, $load:ident, $add:ident) => {
        impl Part for $part {
            type Scalar = $scalar;

            #[inline(always)]
            fn load<S: Simd>(simd: S, input: &[$scalar]) -> S::F64 {
                simd.$load(input)
            }
            #[inline(always)]
            fn add<S: Simd>(simd: S, out: &mut [$scalar], product: S::F64) {
                simd.$add(out, product);
            }
        }
    };
}

impl Part for Whole {
    type Scalar = u32;

    #[inline(always)]
    fn load<S: Simd>(simd: S, input: &[u32]) -> S::F64 {
        simd.load_signed(input)
    }
    #[inline(always)]
    fn add<S: Simd>(simd: S, out: &mut [u32], product: S::F64) {
        simd.add_small_u32(out, product);
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn add_scaled<S: Simd>(
        simd: S,
        low: &mut [u32],
        high: &mut [u32],
        products: [S::F64; 2],
        scale: S::F64,
    ) {
        simd.add_scaled_u32(low, high, products, scale);
    }
}

impl_part!(LowHalf, u64, load_low_half, add_small_u64);
impl_part!(HighHalf, u64, load_high_half, add_small_high);

/// The conversions of a part at the two ends of a transform.
pub(super) struct Ends<P>(PhantomData<P>);

impl<P> Ends<P> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<P: Part> Load<P::Scalar> for Ends<P> {
    #[inline(always)]
    fn load<S: Simd>(&self, simd: S, input: &[P::Scalar]) -> S::F64 {
        P::load(simd, input)
    }
}

impl<P: Part> Add<P::Scalar> for Ends<P> {
    #[inline(always)]
    fn add<S: Simd>(&self, simd: S, out: &mut [P::Scalar], product: S::F64) {
        P::add(simd, out, product);
    }
}

/// The destination of a product's transform.
pub(crate) enum Sink<'a, T> {
    /// Overwrites the accumulator.
    Start(&'a mut [f64]),
    /// Adds to the accumulator.
    Accumulate(&'a mut [f64]),
    /// Transforms back, rounds and adds to the coefficients.
    Only(&'a mut [T]),
    /// Adds the accumulator, transforms back, rounds and adds to the coefficients.
    Last(&'a [f64], &'a mut [T]),
}

/// Multiplies `input` by `key`, and passes the product to `sink`; `term` is scratch.
#[inline(always)]
pub(super) fn multiply<S: Simd, P: Part>(
    simd: S,
    table: &[f64],
    input: &[P::Scalar],
    key: &[f64],
    term: &mut [f64],
    sink: Sink<'_, P::Scalar>,
) {
    match S::LANES {
        8 => multiply_lanes::<S, P, 8>(simd, table, input, key, term, sink),
        4 => multiply_lanes::<S, P, 4>(simd, table, input, key, term, sink),
        _ => multiply_lanes::<S, P, 2>(simd, table, input, key, term, sink),
    }
}

#[inline(always)]
fn multiply_lanes<S: Simd, P: Part, const L: usize>(
    simd: S,
    table: &[f64],
    input: &[P::Scalar],
    key: &[f64],
    term: &mut [f64],
    sink: Sink<'_, P::Scalar>,
) {
    let points = term.len() / 2;
    let (re, im) = term.split_at_mut(points);
    let schedule = Schedule::new(points.ilog2(), S::LANES, S::MAX_RADIX_LOG);
    let (re, im) = (S::chunks_mut(re), S::chunks_mut(im));
    let key = halves::<S>(key);
    let passes = schedule.passes();
    let ends = &Ends::<P>::NEW;

    let mut start = 0;
    let mut depth = 0;
    for (pass, &radix_log) in passes.iter().enumerate() {
        let len = 1 << (depth + radix_log);
        let twiddles = &table[start..start + len];
        match (pass, radix_log) {
            (0, 3) if S::MAX_RADIX_LOG > 2 => {
                first_pass::<S, _, _, _, 8>(simd, input, re, im, twiddles, ends, &mut ());
            }
            (0, 2) => first_pass::<S, _, _, _, 4>(simd, input, re, im, twiddles, ends, &mut ()),
            (0, _) => first_pass::<S, _, _, _, 2>(simd, input, re, im, twiddles, ends, &mut ()),
            (_, 3) if S::MAX_RADIX_LOG > 2 => {
                forward_pass::<S, _, 8>(simd, re, im, twiddles, &mut ());
            }
            (_, 2) => forward_pass::<S, _, 4>(simd, re, im, twiddles, &mut ()),
            (_, _) => forward_pass::<S, _, 2>(simd, re, im, twiddles, &mut ()),
        }
        start += len;
        depth += radix_log;
    }

    let last = &table[start..];
    let out = match sink {
        Sink::Start(sum) => {
            return to_sum::<S, L, false>(simd, re, im, last, key, halves_mut::<S>(sum));
        }
        Sink::Accumulate(sum) => {
            return to_sum::<S, L, true>(simd, re, im, last, key, halves_mut::<S>(sum));
        }
        Sink::Only(out) => {
            turn::<S, L, false>(simd, re, im, last, key, key);
            out
        }
        Sink::Last(sum, out) => {
            turn::<S, L, true>(simd, re, im, last, key, halves::<S>(sum));
            out
        }
    };

    for (pass, &radix_log) in passes.iter().enumerate().rev() {
        let len = 1 << depth;
        let twiddles = &table[start - len..start];
        match (pass, radix_log) {
            (0, 3) if S::MAX_RADIX_LOG > 2 => {
                final_pass::<S, _, _, _, 8>(simd, re, im, out, twiddles, ends, &mut ());
            }
            (0, 2) => final_pass::<S, _, _, _, 4>(simd, re, im, out, twiddles, ends, &mut ()),
            (0, _) => final_pass::<S, _, _, _, 2>(simd, re, im, out, twiddles, ends, &mut ()),
            (_, 3) if S::MAX_RADIX_LOG > 2 => {
                inverse_pass::<S, _, 8>(simd, re, im, twiddles, &mut ());
            }
            (_, 2) => inverse_pass::<S, _, 4>(simd, re, im, twiddles, &mut ()),
            (_, _) => inverse_pass::<S, _, 2>(simd, re, im, twiddles, &mut ()),
        }
        start -= len;
        depth -= radix_log;
    }
}

/// The chunks of the real and of the imaginary half.
type Halves<'a, S> = (&'a [<S as Simd>::Chunk], &'a [<S as Simd>::Chunk]);
type HalvesMut<'a, S> = (&'a mut [<S as Simd>::Chunk], &'a mut [<S as Simd>::Chunk]);

#[inline(always)]
fn halves<S: Simd>(data: &[f64]) -> Halves<'_, S> {
    let (re, im) = data.split_at(data.len() / 2);
    (S::chunks(re), S::chunks(im))
}

#[inline(always)]
fn halves_mut<S: Simd>(data: &mut [f64]) -> HalvesMut<'_, S> {
    let (re, im) = data.split_at_mut(data.len() / 2);
    (S::chunks_mut(re), S::chunks_mut(im))
}

/// A node of `L^2` points in `L` vectors.
struct Node<V, const L: usize> {
    re: [V; L],
    im: [V; L],
}

/// The twiddles of such a node: those of its first levels are for one node at a time, those of its
/// last levels for a node in each lane.
#[inline(always)]
fn node_twiddles<S: Simd, const L: usize>(simd: S, twiddles: &[f64]) -> (Twiddles<S>, Twiddles<S>) {
    let (scalars, vectors) = twiddles.split_at(L);
    let vectors = S::chunks(vectors);
    let across = broadcast::<S, L>(simd, scalars);
    let zero = simd.splat(0.0);
    let mut within = [Complex { re: zero, im: zero }; MAX_TWIDDLES];
    for k in 0..L / 2 {
        within[k].re = simd.load(&vectors[2 * k]);
        within[k].im = simd.load(&vectors[2 * k + 1]);
    }
    complete::<S, L>(simd, &mut within);
    (across, within)
}

/// Goes down to the leaves of one node, and multiplies its values by the key's.
#[inline(always)]
fn down_times_key<S: Simd, const L: usize>(
    simd: S,
    re: &[S::Chunk],
    im: &[S::Chunk],
    across: &Twiddles<S>,
    within: &Twiddles<S>,
    key: Halves<'_, S>,
    sum: Option<Halves<'_, S>>,
) -> Node<S::F64, L> {
    let mut x = Node {
        re: [simd.splat(0.0); L],
        im: [simd.splat(0.0); L],
    };
    for row in 0..L {
        x.re[row] = simd.load(&re[row]);
        x.im[row] = simd.load(&im[row]);
    }
    split(simd, &mut x.re, &mut x.im, across);
    simd.transpose(&mut x.re);
    simd.transpose(&mut x.im);
    split(simd, &mut x.re, &mut x.im, within);
    for row in 0..L {
        let (a_re, a_im) = (x.re[row], x.im[row]);
        let (b_re, b_im) = (simd.load(&key.0[row]), simd.load(&key.1[row]));
        let (re, im) = match sum {
            None => (simd.mul(a_re, b_re), simd.mul(a_re, b_im)),
            Some((re, im)) => (
                simd.mul_add(a_re, b_re, simd.load(&re[row])),
                simd.mul_add(a_re, b_im, simd.load(&im[row])),
            ),
        };
        x.re[row] = simd.neg_mul_add(a_im, b_im, re);
        x.im[row] = simd.mul_add(a_im, b_re, im);
    }
    x
}

macro_rules! node_slices {
    ($L:ident, $node:expr, ($re:expr, $im:expr)) => {
        (&$re[$L * $node..][..$L], &$im[$L * $node..][..$L])
    };
}

/// Computes the middle pass of a product that is not the last of its sum: down, and into the sum.
#[inline(always)]
fn to_sum<S: Simd, const L: usize, const ADD: bool>(
    simd: S,
    re: &[S::Chunk],
    im: &[S::Chunk],
    twiddles: &[f64],
    key: Halves<'_, S>,
    sum: HalvesMut<'_, S>,
) {
    for (node, twiddles) in twiddles
        .chunks_exact(L + L * L)
        .take(re.len() / L)
        .enumerate()
    {
        let (across, within) = node_twiddles::<S, L>(simd, twiddles);
        let sum_re = &mut sum.0[L * node..][..L];
        let sum_im = &mut sum.1[L * node..][..L];
        let (re, im) = node_slices!(L, node, (re, im));
        let key = node_slices!(L, node, (key.0, key.1));
        let addend = ADD.then_some((&*sum_re, &*sum_im));
        let x = down_times_key::<S, L>(simd, re, im, &across, &within, key, addend);
        for row in 0..L {
            simd.store(&mut sum_re[row], x.re[row]);
            simd.store(&mut sum_im[row], x.im[row]);
        }
    }
}

/// Computes the middle pass of the last product: down, and up again with the sum.
#[inline(always)]
fn turn<S: Simd, const L: usize, const ADD: bool>(
    simd: S,
    re: &mut [S::Chunk],
    im: &mut [S::Chunk],
    twiddles: &[f64],
    key: Halves<'_, S>,
    sum: Halves<'_, S>,
) {
    for (node, twiddles) in twiddles
        .chunks_exact(L + L * L)
        .take(re.len() / L)
        .enumerate()
    {
        let (across, within) = node_twiddles::<S, L>(simd, twiddles);
        let re = &mut re[L * node..][..L];
        let im = &mut im[L * node..][..L];
        let key = node_slices!(L, node, (key.0, key.1));
        let addend = ADD.then(|| node_slices!(L, node, (sum.0, sum.1)));
        let mut x = down_times_key::<S, L>(simd, re, im, &across, &within, key, addend);
        join(simd, &mut x.re, &mut x.im, &within);
        simd.transpose(&mut x.re);
        simd.transpose(&mut x.im);
        join(simd, &mut x.re, &mut x.im, &across);
        for row in 0..L {
            simd.store(&mut re[row], x.re[row]);
            simd.store(&mut im[row], x.im[row]);
        }
    }
}
