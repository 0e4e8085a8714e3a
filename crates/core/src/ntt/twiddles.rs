//! The roots of unity at the nodes of the transform's tree.
//!
//! Nodes are numbered as in a heap: the root is 1, the children of `n` are `2n` and
//! `2n + 1`. Node `n = 2^d + i` splits a remainder mod `X^2m - z^2`. With
//! `g = 2^-(d+1) + Σ_b i_b 2^-(b+1)` over the bits `i_b` of `i`, its `z` is `ψ^(2^16 g)`
//! for a root `ψ` of order 2^17. This does not depend on N, so one table serves
//! every N.
//!
//! From depth 11 on the table would be too large for a board. There the index bits from 10 up
//! contribute a factor of their own: the twiddle of node `n` is the table's entry for the low 10
//! bits at depth 10 times [`FACTORS`]`[n >> 10]`.
//!
//! The inverse needs no table: `1/z` of a node is `-z` of its mirror, the node that is as far from
//! the end of its depth as this one is from the beginning.

use super::prime::{P, montgomery_mul, power, to_montgomery};

/// The number of nodes with an entry in [`TABLE`]: all above depth 11.
const TABLE_LEN: usize = 2048;
/// The number of nodes of the deepest level in the table, `TABLE_LEN / 2`.
const DEEPEST: usize = TABLE_LEN / 2;
/// The number of nodes of 65536 coefficients, divided by [`DEEPEST`].
const FACTORS_LEN: usize = 65536 / DEEPEST;

/// The exponent 2^16, for which `ψ` to this power is -1.
const HALF_TURN: i64 = 1 << 16;
/// The root `ψ`: 3 generates the multiplicative group.
const PSI: i64 = power(3, (P as u32 - 1) / (2 * HALF_TURN as u32));

/// The twiddles of nodes 1 to 2047, times 2^32.
static TABLE: [i32; TABLE_LEN] = {
    let mut table = [0; TABLE_LEN];
    let mut node = 1;
    while node < TABLE_LEN {
        table[node] = root(exponent(node));
        node += 1;
    }
    table
};

/// The factors from a twiddle at depth 10 to one below: entry `f` is for the nodes `n` with
/// `n >> 10 = f`.
static FACTORS: [i32; FACTORS_LEN] = {
    let mut table = [0; FACTORS_LEN];
    let mut node = 1;
    while node < FACTORS_LEN {
        table[node] = root((exponent(node) - HALF_TURN / 2) / DEEPEST as i64);
        node += 1;
    }
    table
};

/// Returns `2^16 g` of a node.
const fn exponent(node: usize) -> i64 {
    let depth = node.ilog2();
    let mut exponent = HALF_TURN >> (depth + 1);
    let mut bit = 0;
    while bit < depth {
        exponent += (node as i64 >> bit & 1) * (HALF_TURN >> (bit + 1));
        bit += 1;
    }
    exponent
}

/// Returns `ψ^exponent` times 2^32.
const fn root(exponent: i64) -> i32 {
    to_montgomery(power(PSI, exponent.rem_euclid(2 * HALF_TURN) as u32))
}

/// The twiddles of two layers, times 2^32: at most `0.52 P`.
pub(super) struct Twiddles {
    /// The twiddle of the node that splits a block into halves.
    pub(super) node: i32,
    /// The twiddles of its children.
    pub(super) children: [i32; 2],
}

impl Twiddles {
    #[inline(always)]
    pub(super) fn at(node: usize) -> Self {
        match TABLE.get(2 * node..2 * node + 2) {
            Some(&[left, right]) => Self {
                node: TABLE[node],
                children: [left, right],
            },
            _ => Self::deep(node),
        }
    }

    /// Returns the negated inverses of the twiddles of the node whose mirror is given.
    #[inline(always)]
    pub(super) fn inverse(mirror: usize) -> Self {
        let Self { node, children } = Self::at(mirror);
        Self {
            node,
            children: [children[1], children[0]],
        }
    }

    #[cold]
    #[inline(never)]
    fn deep(node: usize) -> Self {
        Self {
            node: twiddle(node),
            children: [twiddle(2 * node), twiddle(2 * node + 1)],
        }
    }
}

/// Returns the twiddle of any node.
pub(super) fn twiddle(node: usize) -> i32 {
    if node < TABLE_LEN {
        TABLE[node]
    } else {
        montgomery_mul(
            TABLE[DEEPEST + node % DEEPEST],
            FACTORS[node / DEEPEST % FACTORS_LEN],
        )
    }
}
