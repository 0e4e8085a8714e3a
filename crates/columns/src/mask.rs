//! Encrypted truth values.

use std::fmt;
use std::sync::Arc;

use crate::backend::Backend;
use crate::error::Error;
use crate::node::{Kind, Logic, Node, Op};
use crate::number::{Number, check_rows, common_rows, count_bits};

/// Encrypted truth values, in rows or a single one.
#[derive(Clone)]
pub struct Mask {
    pub(crate) backend: Arc<Backend>,
    pub(crate) node: Arc<Node>,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mask")
            .field("rows", &self.rows())
            .field("is_computed", &self.is_computed())
            .finish_non_exhaustive()
    }
}

impl Mask {
    pub(crate) fn new(backend: &Arc<Backend>, rows: Option<usize>, op: Op) -> Self {
        Self {
            backend: Arc::clone(backend),
            node: Node::new(rows, Kind::Truth, op),
        }
    }

    fn made(&self, rows: Option<usize>, op: Op) -> Self {
        Self::new(&self.backend, rows, op)
    }

    fn node(&self) -> Arc<Node> {
        Arc::clone(&self.node)
    }

    fn logic(&self, logic: Logic, other: &Self) -> Result<Self, Error> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        Ok(self.made(rows, Op::Logic(logic, self.node(), other.node())))
    }

    /// The number of rows; `None` if it is a single truth value.
    pub fn rows(&self) -> Option<usize> {
        self.node.rows
    }

    /// The number of rows; 1 if it is a single truth value.
    pub fn row_count(&self) -> usize {
        self.node.len()
    }

    /// Returns whether the mask is computed, or was clear from the start.
    pub fn is_computed(&self) -> bool {
        self.node.is_known()
    }

    /// Checks that it is not too many operators away from what is computed.
    ///
    /// # Errors
    /// [`Error::TooDeep`], which computing it gives too.
    pub fn check_depth(&self) -> Result<(), Error> {
        self.node.check_depth()
    }

    /// Returns the mask that holds where this one does not.
    #[must_use]
    pub fn negated(&self) -> Self {
        self.made(self.node.rows, Op::Not(self.node()))
    }

    /// Returns the mask that holds where both do.
    ///
    /// # Errors
    /// Operands that do not belong together.
    pub fn and(&self, other: &Self) -> Result<Self, Error> {
        self.logic(Logic::And, other)
    }

    /// Returns the mask that holds where at least one does.
    ///
    /// # Errors
    /// Operands that do not belong together.
    pub fn or(&self, other: &Self) -> Result<Self, Error> {
        self.logic(Logic::Or, other)
    }

    /// Returns the mask that holds where exactly one does.
    ///
    /// # Errors
    /// Operands that do not belong together.
    pub fn xor(&self, other: &Self) -> Result<Self, Error> {
        self.logic(Logic::Xor, other)
    }

    fn several(masks: &[&Self], op: impl FnOnce(Vec<Arc<Node>>) -> Op) -> Result<Self, Error> {
        let first = masks.first().ok_or(Error::NoRows)?;
        for mask in masks {
            first.backend.check_same(&mask.backend)?;
        }
        let nodes: Vec<&Node> = masks.iter().map(|mask| &*mask.node).collect();
        let rows = common_rows(&nodes)?;
        Ok(first.made(rows, op(masks.iter().map(|mask| mask.node()).collect())))
    }

    /// Returns, for each row, whether all masks hold: cheaper than [`and`](Self::and) in pairs.
    ///
    /// # Errors
    /// No masks, or masks that do not belong together.
    pub fn all_of(masks: &[&Self]) -> Result<Self, Error> {
        let all = Self::several(masks, Op::AllOf)?;
        // What everybody knows stays known.
        let known = masks.iter().map(|mask| mask.known());
        let known: Option<Vec<Vec<bool>>> = known.collect();
        Ok(match known {
            Some(known) if all.rows().is_some() => {
                let row = |row: usize| {
                    known.iter().all(|list| match list[..] {
                        [only] => only,
                        _ => list[row],
                    })
                };
                let rows: Vec<bool> = (0..all.row_count()).map(row).collect();
                all.public(&rows)
            }
            _ => all,
        })
    }

    /// The truth values, if they are no secret.
    pub(crate) fn known(&self) -> Option<Vec<bool>> {
        match &*self.node.op() {
            Op::Constant(truth) => Some(vec![*truth; self.row_count()]),
            Op::Public(bits) => Some(bits.iter().map(|bit| *bit == 1).collect()),
            _ => None,
        }
    }

    /// Returns, for each row, whether any mask holds: cheaper than [`or`](Self::or) in pairs.
    ///
    /// # Errors
    /// No masks, or masks that do not belong together.
    pub fn any_of(masks: &[&Self]) -> Result<Self, Error> {
        Self::several(masks, Op::AnyOf)
    }

    /// Returns one clear truth value for all rows of this mask.
    #[must_use]
    pub fn constant(&self, truth: bool) -> Self {
        self.made(self.node.rows, Op::Constant(truth))
    }

    /// Returns clear truth values, one for each row of this mask.
    #[must_use]
    pub fn public(&self, truths: &[bool]) -> Self {
        let bits: Vec<u64> = truths.iter().copied().map(u64::from).collect();
        self.made(Some(bits.len()), Op::Public(bits))
    }

    /// Returns the number that is 1 where the mask holds, 0 elsewhere.
    pub fn as_number(&self) -> Number {
        let op = Op::Bits(self.node());
        Number::counting(&self.backend, self.node.rows, 1, op)
    }

    /// The number of rows in which it holds.
    pub fn count(&self) -> Number {
        let bits = count_bits(self.node.len());
        Number::counting(&self.backend, None, bits, Op::Count(self.node()))
    }

    /// Returns whether the mask holds in all rows.
    #[must_use]
    pub fn all(&self) -> Self {
        self.made(None, Op::All(self.node()))
    }

    /// Returns whether the mask holds in any row.
    #[must_use]
    pub fn any(&self) -> Self {
        self.made(None, Op::Any(self.node()))
    }

    /// Returns the rows at these places, which count from 0.
    ///
    /// # Errors
    /// No rows, or rows that are not there.
    pub fn take(&self, rows: &[usize]) -> Result<Self, Error> {
        check_rows(&self.node, rows)?;
        let (of, rows) = (self.node(), rows.to_vec());
        Ok(self.made(Some(rows.len()), Op::Take { of, rows }))
    }

    /// Returns the row at a place, which counts from 0.
    ///
    /// # Errors
    /// A row that is not there.
    pub fn item(&self, row: usize) -> Result<Self, Error> {
        check_rows(&self.node, &[row])?;
        let (of, rows) = (self.node(), vec![row]);
        Ok(self.made(None, Op::Take { of, rows }))
    }
}
