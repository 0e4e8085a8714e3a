//! The factors `X^a - 1` of the key bits of a step, at the points of a transform.

use super::Monomials;
use crate::fft::node::Complex;
use crate::simd::Simd;

/// The most key bits of a step. What their factors at a node have in common is looked up once for the whole node.
pub(super) const MAX_BLOCK_SIZE: usize = 8;

/// Looks up the monomials of all key bits of a step at node `node` of `nodes`, times the unit of the bit. There are at most
/// [`MAX_BLOCK_SIZE`] exponents.
#[inline(always)]
pub(super) fn look_up<'a, 't, S: Simd>(
    turns: &'t mut [Turn<'a, S>; MAX_BLOCK_SIZE],
    monomials: &'a Monomials,
    exponents: &[u32],
    unit_of: impl Fn(usize) -> f64,
    (node, nodes): (usize, usize),
) -> &'t [Turn<'a, S>] {
    let within_node = S::chunks(&monomials.within_node).as_chunks().0;
    let turns = &mut turns[..exponents.len()];
    for (bit, (turn, &exponent)) in turns.iter_mut().zip(exponents).enumerate() {
        let unit = unit_of(bit);
        let place = exponent as usize % (S::LANES * S::LANES) * S::LANES;
        let [re, im] = monomials.root(exponent, node, nodes.ilog2());
        *turn = Turn {
            root: [re * unit, im * unit],
            unit,
            within_node: &within_node[place..][..S::LANES],
        };
    }
    turns
}

/// The monomial of a key bit at the points of a node: the value at a point is the root of the node times that within it.
#[derive(Clone, Copy)]
pub(super) struct Turn<'a, S: Simd> {
    /// The root, in units of the key bit.
    root: [f64; 2],
    /// One, in units of the key bit.
    unit: f64,
    /// Vectors of real and of imaginary parts.
    within_node: &'a [[S::Chunk; 2]],
}

impl<S: Simd> Turn<'_, S> {
    pub(super) const NONE: Self = Self {
        root: [0.0; 2],
        unit: 0.0,
        within_node: &[],
    };

    /// One, in units of the key bit.
    #[inline(always)]
    pub(super) fn unit(&self, simd: S) -> S::F64 {
        simd.splat(self.unit)
    }

    /// `X^a - 1` at the points of row `row`, in units of the key bit, of which `unit` is one.
    #[inline(always)]
    pub(super) fn factor(&self, simd: S, row: usize, unit: S::F64) -> Complex<S::F64> {
        let [z_re, z_im] = self.root.map(|part| simd.splat(part));
        let [v_re, v_im] = &self.within_node[row];
        let (v_re, v_im) = (simd.load(v_re), simd.load(v_im));
        Complex {
            re: simd.neg_mul_add(z_im, v_im, simd.mul_sub(z_re, v_re, unit)),
            im: simd.mul_add(z_im, v_re, simd.mul(z_re, v_im)),
        }
    }
}
