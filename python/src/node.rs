//! Computations as users write them down: a graph of [`Node`]s.
//!
//! A node stands for encrypted numbers, of whole codes, or truth values, in rows or a
//! single one. What it costs is decided when it is computed, with everything else that is
//! computed with it ([`crate::record`]); then it forgets how it was made and keeps its
//! ciphertexts.

use std::ops::Range;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::readings::ReadingsMetadata;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::integer::Comparison;

/// Most steps one after the other that are not computed yet: recording them is recursive in
/// the user's hands, and a chain that long is a loop that wants intermediate results.
pub(crate) const MAX_DEPTH: u32 = 1000;

/// What is computed, or known.
pub(crate) enum Op {
    /// A column of uploads.
    Load { source: Arc<Source>, column: usize },
    /// Ciphertexts under the small key, of digits or bits: of an earlier evaluation.
    Sealed(Vec<LweCiphertext<u32>>),
    /// Ciphertexts under the big key, of digits or bits: computed.
    Known(Known),
    /// Codes or bits of a rehearsal.
    Clear(Vec<u128>),
    /// Truth values that do not depend on what is encrypted.
    Constant(bool),
    /// Codes or bits that are no secret.
    Public(Vec<u64>),
    /// `Σ factor·code`, less its smallest value, plus `shift`.
    Linear {
        terms: Vec<(Arc<Node>, i64)>,
        shift: u64,
    },
    /// `a·b`.
    Product(Arc<Node>, Arc<Node>),
    /// Some rows.
    Take { of: Arc<Node>, rows: Vec<usize> },
    /// A number where a condition holds, another one elsewhere.
    Select {
        mask: Arc<Node>,
        then: Arc<Node>,
        otherwise: Arc<Node>,
    },
    /// The number where a condition holds, 0 elsewhere.
    Keep { of: Arc<Node>, mask: Arc<Node> },
    /// The first ones in order.
    Sorted {
        of: Arc<Node>,
        order: Order,
        count: usize,
    },
    /// How many are in each range.
    Histogram {
        of: Arc<Node>,
        bins: Vec<Range<u64>>,
    },
    /// The smallest or the largest.
    Extreme { of: Arc<Node>, order: Order },
    /// The row of the smallest or the largest, or that number.
    Place {
        of: Arc<Node>,
        order: Order,
        part: PlacePart,
    },
    /// The one that so many others come before.
    Rank { of: Arc<Node>, rank: usize },
    /// The sum.
    Sum(Arc<Node>),
    /// The sum of squares.
    SumOfSquares(Arc<Node>),
    /// The number of truth values that hold.
    Count(Arc<Node>),
    /// 1 where a truth value holds, 0 elsewhere.
    Bits(Arc<Node>),
    /// A comparison of two.
    Compare(Comparison, Arc<Node>, Arc<Node>),
    /// A comparison with a clear code.
    CompareCode(Comparison, Arc<Node>, u64),
    /// Whether it is one of these codes.
    OneOf(Arc<Node>, Vec<u64>),
    /// Not.
    Not(Arc<Node>),
    /// An operator on two truth values.
    Logic(Logic, Arc<Node>, Arc<Node>),
    /// Whether all hold.
    All(Arc<Node>),
    /// Whether any holds.
    Any(Arc<Node>),
}

/// Which part of a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlacePart {
    /// The row.
    Index,
    /// What is there.
    Value,
}

/// An operator on truth values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logic {
    /// Both.
    And,
    /// At least one.
    Or,
    /// Exactly one.
    Xor,
}

/// What was computed.
pub(crate) struct Known {
    pub(crate) blocks: Vec<KnownBlock>,
    /// The same under the small key, once somebody has asked for that.
    pub(crate) switched: OnceLock<Vec<LweCiphertext<u32>>>,
}

impl From<Vec<KnownBlock>> for Known {
    fn from(blocks: Vec<KnownBlock>) -> Self {
        let switched = OnceLock::new();
        Self { blocks, switched }
    }
}

/// A ciphertext that was computed, and what its lookups may assume.
pub(crate) struct KnownBlock {
    pub(crate) ciphertext: LweCiphertext<u64>,
    /// The largest value.
    pub(crate) degree: u64,
    /// Its noise, in that of a fresh one.
    pub(crate) level: u32,
}

/// What a column is loaded from.
pub(crate) struct Source {
    pub(crate) metadata: ReadingsMetadata,
    pub(crate) content: Content,
}

/// The readings of a [`Source`].
pub(crate) enum Content {
    /// Uploads: their rows, and their ciphertexts under the evaluation key.
    Ciphertexts(Vec<(usize, ExpandedGlweList<u64>)>),
    /// The codes of a rehearsal, column by column.
    Codes(Vec<Vec<u64>>),
}

/// What a node holds in each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A code of so many bits.
    Code(u32),
    /// A truth value.
    Truth,
}

/// Encrypted numbers or truth values.
pub(crate) struct Node {
    /// Their number; `None` if it is a single one and no list.
    pub(crate) rows: Option<usize>,
    pub(crate) kind: Kind,
    state: RwLock<State>,
}

struct State {
    op: Arc<Op>,
    depth: u32,
}

impl Node {
    pub(crate) fn new(rows: Option<usize>, kind: Kind, op: Op) -> Arc<Self> {
        let depth = op.children().iter().map(|child| child.depth()).max();
        let depth = depth.map_or(0, |depth| depth + 1);
        Arc::new(Self {
            rows,
            kind,
            state: RwLock::new(State {
                op: Arc::new(op),
                depth,
            }),
        })
    }

    /// How it is made.
    pub(crate) fn op(&self) -> Arc<Op> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&state.op)
    }

    /// The largest number of steps to what is known.
    pub(crate) fn depth(&self) -> u32 {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.depth
    }

    /// Forgets how it was made: it is known.
    pub(crate) fn set(&self, op: Op) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(
            &mut *state,
            State {
                op: Arc::new(op),
                depth: 0,
            },
        );
        drop(state);
        drop(old);
    }

    /// Whether nothing is to be computed.
    pub(crate) fn is_known(&self) -> bool {
        matches!(
            *self.op(),
            Op::Sealed(_) | Op::Known(_) | Op::Clear(_) | Op::Constant(_)
        )
    }

    /// Number of rows, a single one being one.
    pub(crate) fn len(&self) -> usize {
        self.rows.unwrap_or(1)
    }

    /// Bits of its codes; 1 of truth values.
    pub(crate) fn bits(&self) -> u32 {
        match self.kind {
            Kind::Code(bits) => bits,
            Kind::Truth => 1,
        }
    }
}

impl Op {
    /// What it is made of.
    pub(crate) fn children(&self) -> Vec<&Arc<Node>> {
        match self {
            Self::Load { .. }
            | Self::Sealed(_)
            | Self::Known(_)
            | Self::Clear(_)
            | Self::Constant(_)
            | Self::Public(_) => Vec::new(),
            Self::Linear { terms, .. } => terms.iter().map(|(node, _)| node).collect(),
            Self::Product(a, b) | Self::Compare(_, a, b) | Self::Logic(_, a, b) => vec![a, b],
            Self::Select {
                mask,
                then,
                otherwise,
            } => vec![mask, then, otherwise],
            Self::Keep { of, mask } => vec![of, mask],
            Self::Take { of, .. }
            | Self::Sorted { of, .. }
            | Self::Histogram { of, .. }
            | Self::Extreme { of, .. }
            | Self::Place { of, .. }
            | Self::Rank { of, .. }
            | Self::Sum(of)
            | Self::SumOfSquares(of)
            | Self::Count(of)
            | Self::Bits(of)
            | Self::CompareCode(_, of, _)
            | Self::OneOf(of, _)
            | Self::Not(of)
            | Self::All(of)
            | Self::Any(of) => vec![of],
        }
    }
}
