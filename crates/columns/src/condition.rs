//! Comparisons whose thresholds may be encrypted, and decision trees: what questions have beside
//! the operators of [`Number`] and [`Mask`].

use std::sync::Arc;

use tfhe_sbc_engine::analytics::tree::{Node as Turn, Tree};

use crate::encoding::bits_of;
use crate::encrypted_limits::EncryptedLimit;
use crate::error::Error;
use crate::mask::Mask;
use crate::node::{Kind, Node, Op};
use crate::number::{Number, common_rows};
use crate::threshold::Relation;

/// A code that a number is compared with, of the number's width.
#[derive(Clone)]
pub enum Limit {
    /// A clear code.
    Clear(u64),
    /// An encrypted code, from [`Number::encrypted_limit`] or one of the other functions that make such codes.
    Encrypted(EncryptedLimit),
}

impl Number {
    /// Returns one clear truth value for all rows.
    pub fn same_for_all(&self, truth: bool) -> Mask {
        Mask::new(&self.backend, self.node.rows, Op::Constant(truth))
    }

    /// Returns, for each row, whether the code is in this relation to a threshold.
    pub fn compare_codes(&self, relation: Relation, limit: &Limit) -> Mask {
        let (comparison, of) = (relation.comparison(), Arc::clone(&self.node));
        let op = match limit {
            Limit::Clear(code) => Op::CompareCode(comparison, of, *code),
            Limit::Encrypted(EncryptedLimit(limit)) => {
                Op::Compare(comparison, of, Arc::clone(limit))
            }
        };
        Mask::new(&self.backend, self.node.rows, op)
    }

    /// Returns, for each row, whether the code is in this relation to that of another number of the
    /// same width.
    ///
    /// # Errors
    /// Operands that do not belong together.
    pub fn compare_codes_of(&self, relation: Relation, other: &Self) -> Result<Mask, Error> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        let (a, b) = (Arc::clone(&self.node), Arc::clone(&other.node));
        let op = Op::Compare(relation.comparison(), a, b);
        Ok(Mask::new(&self.backend, rows, op))
    }

    /// Returns, for each row, whether the code is among these.
    pub fn codes_among(&self, limits: &[Limit]) -> Mask {
        let limit = |limit: &Limit| match limit {
            Limit::Clear(code) => Node::new(None, self.node.kind, Op::Public(vec![*code])),
            Limit::Encrypted(EncryptedLimit(limit)) => Arc::clone(limit),
        };
        let op = match limits {
            [] => Op::Constant(false),
            _ => Op::OneOf(Arc::clone(&self.node), limits.iter().map(limit).collect()),
        };
        Mask::new(&self.backend, self.node.rows, op)
    }
}

/// The question of a node of a decision tree.
pub enum Decision<'a> {
    /// A question that asks whether a number is in a relation to a clear value.
    Compare(&'a Number, Relation, f64),
    /// A question that asks whether a mask holds.
    Holds(&'a Mask),
}

/// A branch of a decision tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// A branch to another node, which comes later in the list.
    Node(usize),
    /// A branch to a leaf.
    Leaf(u64),
}

/// Returns the leaf of a decision tree that each row comes to. Each node has its question, the
/// branch of the rows in which it holds, and the branch of the others; the first is the root.
///
/// # Errors
/// Nodes that are no tree, operands that do not belong together, and numbers of more than 52 bits.
pub fn decide(nodes: &[(Decision<'_>, Branch, Branch)]) -> Result<Number, Error> {
    let backend = match nodes.first() {
        Some((Decision::Compare(number, ..), ..)) => &number.backend,
        Some((Decision::Holds(mask), ..)) => &mask.backend,
        None => return Err(Error::NoRows),
    };
    let mut columns: Vec<Arc<Node>> = Vec::with_capacity(nodes.len());
    // The engine's leaves are nodes: behind the inner ones, one for each branch to a leaf.
    let (mut turns, mut leaves) = (Vec::with_capacity(2 * nodes.len() + 1), Vec::new());
    let mut largest = 0;
    for (decision, then, otherwise) in nodes {
        let compared;
        let holds = match *decision {
            Decision::Compare(number, relation, value) => {
                compared = number.compare(relation, value)?;
                &compared
            }
            Decision::Holds(mask) => mask,
        };
        backend.check_same(&holds.backend)?;
        let mut place = |branch: &Branch| match *branch {
            Branch::Node(node) => node,
            Branch::Leaf(leaf) => {
                largest = leaf.max(largest);
                leaves.push(Turn::Leaf(leaf));
                nodes.len() + leaves.len() - 1
            }
        };
        // Rows in which the condition does not hold have a bit below 1.
        turns.push(Turn::Branch {
            column: columns.len(),
            threshold: 1,
            otherwise: place(then),
            below: place(otherwise),
        });
        columns.push(bits(holds));
    }
    turns.extend(leaves);
    let tree = Tree::new(turns)?;
    let rows = common_rows(&columns.iter().map(|column| &**column).collect::<Vec<_>>())?;
    let op = Op::Decide { tree, columns };
    Ok(Number::counting(backend, rows, bits_of(largest), op))
}

/// Integers of one bit.
fn bits(mask: &Mask) -> Arc<Node> {
    Node::new(
        mask.node.rows,
        Kind::Code(1),
        Op::Bits(Arc::clone(&mask.node)),
    )
}
