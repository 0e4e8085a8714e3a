//! The roots of unity at the nodes of the transform's tree.
//!
//! Nodes are numbered as in a heap: the root is 1, the children of `n` are `2n` and
//! `2n + 1`. Node `n = 2^d + i` splits a remainder mod `X^2m - z^2`, and with
//! `g = 2^-(d+1) + Σ_b i_b 2^-(b+1)` over the bits `i_b` of `i`, its `z` is `ψ^(2^16 g)`
//! for a root `ψ` of order 2^17. Neither depth nor index knows N, so one table serves
//! every N.
//!
//! From depth 11 on the table would outgrow a board. There the index bits from 10 up
//! split off as a factor of their own: node `n` has the table's entry for the low 10
//! bits at depth 10 times [`FACTORS`]`[n >> 10]`.
//!
//! The inverse needs no table: `1/z` of a node is `-z` of its mirror, the node as far from
//! the end of its depth as this one is from the beginning.

use super::prime::{P, montgomery_mul, power, to_montgomery};

/// Nodes with an entry in [`TABLE`]: all above depth 11.
const TABLE_LEN: usize = 2048;
/// `TABLE_LEN / 2`, the number of nodes of the deepest level that is in the table.
const DEEPEST: usize = TABLE_LEN / 2;
/// Nodes of 65536 coefficients, divided by [`DEEPEST`].
const FACTORS_LEN: usize = 65536 / DEEPEST;

/// 2^16, the exponent of `ψ` that is -1.
const HALF_TURN: i64 = 1 << 16;
/// `ψ`: 3 generates the multiplicative group.
const PSI: i64 = power(3, (P as u32 - 1) / (2 * HALF_TURN as u32));

/// Twiddles of nodes 1 to 2047, times 2^32.
static TABLE: [i32; TABLE_LEN] = {
    let mut table = [0; TABLE_LEN];
    let mut node = 1;
    while node < TABLE_LEN {
        table[node] = root(exponent(node));
        node += 1;
    }
    table
};

/// What takes the twiddle of a node at depth 10 to one below it: entry `f` is for the
/// nodes `n` with `n >> 10 = f`.
static FACTORS: [i32; FACTORS_LEN] = {
    let mut table = [0; FACTORS_LEN];
    let mut node = 1;
    while node < FACTORS_LEN {
        table[node] = root((exponent(node) - HALF_TURN / 2) / DEEPEST as i64);
        node += 1;
    }
    table
};

/// `2^16 g` of a node.
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

/// `ψ^exponent` times 2^32.
const fn root(exponent: i64) -> i32 {
    to_montgomery(power(PSI, exponent.rem_euclid(2 * HALF_TURN) as u32))
}

/// The twiddles of two layers, times 2^32: at most `0.52 P`.
pub(super) struct Twiddles {
    /// Of the node that splits a block into halves.
    pub(super) node: i32,
    /// Of its children.
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

    /// Minus the inverses of those of the node whose mirror this is.
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

/// The twiddle of any node.
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
