//! Computations as users write them down: a graph of [`Node`]s.
//!
//! A node stands for encrypted codes or truth values, in rows or a single one. It is recorded
//! with everything else that is computed with it ([`crate::record`]); afterwards it holds its
//! ciphertexts, and what it was made of is dropped.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tfhe_sbc_core::encoding::Derivation;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::analytics::tree::Tree;
use tfhe_sbc_engine::integer::Comparison;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::compact::values::CompactValues;
use crate::error::Error;
use crate::limits::MAX_DEPTH;
use crate::loaded::{Loaded, LoadedUploads};

/// The operator of a node, or its content once that is known.
pub(crate) enum Op {
    /// A column of uploads.
    Load {
        source: Arc<Source>,
        /// The place of the column.
        column: usize,
    },
    /// Truth values that tell where a compact column of uploads has a reading.
    Valid {
        source: Arc<Source>,
        /// The place of the column.
        column: usize,
    },
    /// Ciphertexts under the small key, of digits or bits: of an earlier evaluation.
    Sealed(Vec<LweCiphertext<u32>>),
    /// Ciphertexts under the big key, of digits or bits: computed.
    Known(Known),
    /// Compact codes under the big key: computed.
    Compact(Arc<CompactValues>),
    /// Codes or bits of a rehearsal.
    Clear(Vec<u128>),
    /// Truth values that do not depend on what is encrypted.
    Constant(bool),
    /// Codes or bits that are no secret.
    Public(Vec<u64>),
    /// The same, in blocks that the circuit holds, also if it can be added up on polynomials.
    Blocks(Arc<Node>),
    /// `Σ factor·code`, less its smallest value, plus `shift`.
    Linear {
        terms: Vec<(Arc<Node>, i64)>,
        shift: u64,
    },
    /// `a·b`.
    Product(Arc<Node>, Arc<Node>),
    /// Some rows.
    Take {
        of: Arc<Node>,
        /// The places of the rows.
        rows: Vec<usize>,
    },
    /// Single numbers of one width as rows.
    Stack(Vec<Arc<Node>>),
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
    /// The number of codes in each range.
    Histogram {
        of: Arc<Node>,
        bins: Vec<Range<u64>>,
    },
    /// The smallest or the largest.
    Extreme { of: Arc<Node>, order: Order },
    /// The rows of the first ones in order, or those numbers: as many as the node has rows.
    Place {
        of: Arc<Node>,
        order: Order,
        part: PlacePart,
    },
    /// The number that `rank` others come before.
    Rank { of: Arc<Node>, rank: usize },
    /// A function of the rows up to each row from `first` on: of the last `window`, as far as there are so many.
    Windows {
        of: Arc<Node>,
        function: WindowFunction,
        window: usize,
        first: usize,
    },
    /// The sum.
    Sum(Arc<Node>),
    /// The sum of squares.
    SumOfSquares(Arc<Node>),
    /// The sum of products, row by row.
    SumOfProducts(Arc<Node>, Arc<Node>),
    /// The number of truth values that hold.
    Count(Arc<Node>),
    /// 1 where a truth value holds, 0 elsewhere.
    Bits(Arc<Node>),
    /// A comparison of two.
    Compare(Comparison, Arc<Node>, Arc<Node>),
    /// A comparison with a clear code.
    CompareCode(Comparison, Arc<Node>, u64),
    /// Truth values that tell whether the code is one of these, each a single number of its width.
    OneOf(Arc<Node>, Vec<Arc<Node>>),
    /// The negation of truth values.
    Not(Arc<Node>),
    /// An operator on two truth values.
    Logic(Logic, Arc<Node>, Arc<Node>),
    /// A truth value that tells whether all rows hold.
    All(Arc<Node>),
    /// A truth value that tells whether any row holds.
    Any(Arc<Node>),
    /// For each row, a truth value that tells whether all of these hold.
    AllOf(Vec<Arc<Node>>),
    /// For each row, a truth value that tells whether any of these holds.
    AnyOf(Vec<Arc<Node>>),
    /// For each row, the answer of a tree whose columns these are.
    Decide { tree: Tree, columns: Vec<Arc<Node>> },
}

/// A part of the places of the first rows in order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlacePart {
    /// The rows.
    Index,
    /// The numbers in them.
    Value,
}

/// A function of the rows of a window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowFunction {
    /// The sum.
    Sum,
    /// The first in an order.
    Extreme(Order),
}

/// An operator on truth values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logic {
    /// The conjunction: both hold.
    And,
    /// The disjunction: at least one holds.
    Or,
    /// The exclusive or: exactly one holds.
    Xor,
}

impl Logic {
    /// The operator on two clear truth values.
    pub(crate) fn apply(self, a: bool, b: bool) -> bool {
        match self {
            Self::And => a && b,
            Self::Or => a || b,
            Self::Xor => a != b,
        }
    }
}

/// Computed ciphertexts.
pub(crate) struct Known {
    pub(crate) blocks: Vec<KnownBlock>,
    /// The same under the small key, once they were exported.
    pub(crate) switched: OnceLock<Vec<LweCiphertext<u32>>>,
}

impl From<Vec<KnownBlock>> for Known {
    fn from(blocks: Vec<KnownBlock>) -> Self {
        let switched = OnceLock::new();
        Self { blocks, switched }
    }
}

/// A ciphertext under the big key, and the bounds that its lookups may assume.
pub(crate) struct KnownBlock {
    pub(crate) ciphertext: LweCiphertext<u64>,
    /// The largest value.
    pub(crate) degree: u64,
    /// The number of fresh ciphertexts whose noise it has.
    pub(crate) level: u32,
}

/// A table that columns are loaded from.
pub(crate) struct Source {
    pub(crate) metadata: Arc<ReadingsMetadata>,
    pub(crate) content: Content,
}

/// The values of a [`Source`].
pub(crate) enum Content {
    /// The uploads.
    Ciphertexts(Box<LoadedUploads>),
    /// The readings of a rehearsal, column by column.
    Codes(Vec<ClearCodes>),
    /// No values: the computation is only counted.
    Unknown,
}

/// The readings of a column of a rehearsal.
pub(crate) struct ClearCodes {
    /// The codes; 0 where there is no reading.
    pub(crate) codes: Vec<u64>,
    /// The rows without a reading.
    pub(crate) missing: HashSet<usize>,
}

impl ClearCodes {
    /// The code in a row, or one that is derived from it.
    pub(crate) fn at(&self, row: usize, derived: Option<Derivation>) -> u64 {
        match derived {
            None => self.codes[row],
            Some(_) if self.missing.contains(&row) => 0,
            Some(derivation) => derivation.of(self.codes[row]),
        }
    }
}

impl Source {
    /// Returns the upload that has a row, and the place of the row in it. `None` if there is no such row, or none has
    /// ciphertexts.
    pub(crate) fn upload_at(&self, row: usize) -> Option<(&Loaded, usize)> {
        match &self.content {
            Content::Ciphertexts(uploads) => uploads.at(row),
            Content::Codes(_) | Content::Unknown => None,
        }
    }

    /// Returns the uploads that have rows of a range.
    pub(crate) fn uploads_of(&self, rows: &Range<usize>) -> &[Loaded] {
        match &self.content {
            Content::Ciphertexts(uploads) => uploads.of(rows),
            Content::Codes(_) | Content::Unknown => &[],
        }
    }
}

/// Returns the runs of neighbours among places.
pub(crate) fn runs_of(places: &[usize]) -> impl Iterator<Item = Range<usize>> {
    places
        .chunk_by(|a, b| *b == a + 1)
        .filter_map(|run| Some(*run.first()?..run.last()? + 1))
}

/// The kind of value that a node has in each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A code of this number of bits.
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

    /// The operator that makes it.
    pub(crate) fn op(&self) -> Arc<Op> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&state.op)
    }

    /// The largest number of operators between it and what is known.
    pub(crate) fn depth(&self) -> u32 {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.depth
    }

    /// Checks that it is not too many operators away from what is known.
    pub(crate) fn check_depth(&self) -> Result<(), Error> {
        match self.depth() > MAX_DEPTH {
            true => Err(Error::TooDeep),
            false => Ok(()),
        }
    }

    /// Replaces its operator by a known value.
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

    /// Returns whether nothing is left to compute.
    pub(crate) fn is_known(&self) -> bool {
        matches!(
            *self.op(),
            Op::Sealed(_) | Op::Known(_) | Op::Compact(_) | Op::Clear(_) | Op::Constant(_)
        )
    }

    /// Number of rows; 1 if it is a single value.
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
    /// The operands.
    pub(crate) fn children(&self) -> Vec<&Arc<Node>> {
        match self {
            Self::Load { .. }
            | Self::Valid { .. }
            | Self::Sealed(_)
            | Self::Known(_)
            | Self::Compact(_)
            | Self::Clear(_)
            | Self::Constant(_)
            | Self::Public(_) => Vec::new(),
            Self::Linear { terms, .. } => terms.iter().map(|(node, _)| node).collect(),
            Self::Product(a, b)
            | Self::SumOfProducts(a, b)
            | Self::Compare(_, a, b)
            | Self::Logic(_, a, b) => vec![a, b],
            Self::Select {
                mask,
                then,
                otherwise,
            } => vec![mask, then, otherwise],
            Self::Keep { of, mask } => vec![of, mask],
            Self::Stack(nodes)
            | Self::AllOf(nodes)
            | Self::AnyOf(nodes)
            | Self::Decide { columns: nodes, .. } => nodes.iter().collect(),
            Self::OneOf(of, list) => [of].into_iter().chain(list).collect(),
            Self::Take { of, .. }
            | Self::Sorted { of, .. }
            | Self::Histogram { of, .. }
            | Self::Windows { of, .. }
            | Self::Extreme { of, .. }
            | Self::Place { of, .. }
            | Self::Rank { of, .. }
            | Self::Sum(of)
            | Self::SumOfSquares(of)
            | Self::Count(of)
            | Self::Bits(of)
            | Self::Blocks(of)
            | Self::CompareCode(_, of, _)
            | Self::Not(of)
            | Self::All(of)
            | Self::Any(of) => vec![of],
        }
    }
}

impl Drop for Node {
    /// Drops a long chain of nodes without recursion.
    fn drop(&mut self) {
        let mut ops = vec![self.take_op()];
        while let Some(op) = ops.pop() {
            let Some(op) = Arc::into_inner(op) else {
                continue;
            };
            let children: Vec<Arc<Node>> = op.children().into_iter().cloned().collect();
            drop(op);
            for child in children {
                if let Some(mut child) = Arc::into_inner(child) {
                    ops.push(child.take_op());
                }
            }
        }
    }
}

impl Node {
    fn take_op(&mut self) -> Arc<Op> {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut state.op, Arc::new(Op::Constant(false)))
    }
}
