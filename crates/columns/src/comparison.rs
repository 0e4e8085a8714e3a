//! Comparisons of encrypted numbers with each other and with clear numbers.

use std::sync::Arc;

use tfhe_sbc_engine::integer::Comparison;

use crate::encoding::align;
use crate::error::Error;
use crate::mask::Mask;
use crate::node::{Node, Op};
use crate::number::{Number, Operand, common_rows};
use crate::threshold::{CodeCondition, Relation, code_condition};

impl Number {
    /// Returns, for each row, whether the number is in this relation to the other one.
    ///
    /// # Errors
    /// Operands that do not belong together, or that have no common encoding.
    pub fn compare<'a>(
        &self,
        relation: Relation,
        other: impl Into<Operand<'a>>,
    ) -> Result<Mask, Error> {
        match other.into() {
            Operand::Clear(value) => self.compare_clear(relation, value),
            Operand::Encrypted(other) => self.compare_encrypted(relation, other),
        }
    }

    fn compare_encrypted(&self, relation: Relation, other: &Self) -> Result<Mask, Error> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        let aligned = align(&[self, other], &[])?;
        let [a, b] = &aligned.nodes[..] else {
            return Err(Error::NoRows);
        };
        let op = Op::Compare(relation.comparison(), Arc::clone(a), Arc::clone(b));
        Ok(Mask::new(&self.backend, rows, op))
    }

    fn compare_clear(&self, relation: Relation, value: f64) -> Result<Mask, Error> {
        if value.is_nan() {
            return Err(Error::NotFinite);
        }
        let op = match code_condition(&self.encoding()?, relation, value) {
            CodeCondition::Always(truth) => Op::Constant(truth),
            CodeCondition::Compare(relation, code) => {
                Op::CompareCode(relation.comparison(), self.node(), code)
            }
        };
        Ok(Mask::new(&self.backend, self.node.rows, op))
    }

    /// Returns `self < other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn lt<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Lt, other)
    }

    /// Returns `self <= other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn le<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Le, other)
    }

    /// Returns `self > other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn gt<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Gt, other)
    }

    /// Returns `self >= other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn ge<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Ge, other)
    }

    /// Returns `self == other`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn equals<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Mask, Error> {
        self.compare(Relation::Eq, other)
    }

    /// Returns `low <= self && self <= high`.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn between(&self, low: f64, high: f64) -> Result<Mask, Error> {
        Mask::all_of(&[&self.ge(low)?, &self.le(high)?])
    }

    /// Returns, for each row, whether the number is among these values.
    ///
    /// # Errors
    /// A number of more than 52 bits.
    pub fn one_of(&self, values: &[f64]) -> Result<Mask, Error> {
        let encoding = self.encoding()?;
        let codes = values.iter().filter_map(|&value| {
            match code_condition(&encoding, Relation::Eq, value) {
                CodeCondition::Compare(_, code) => Some(code),
                CodeCondition::Always(_) => None,
            }
        });
        let mut codes: Vec<u64> = codes.collect();
        codes.sort_unstable();
        codes.dedup();
        let op = match codes[..] {
            [] => Op::Constant(false),
            [code] => Op::CompareCode(Comparison::Eq, self.node(), code),
            _ => {
                let limits = codes.into_iter().map(|code| self.limit(code));
                Op::OneOf(self.node(), limits.collect())
            }
        };
        Ok(Mask::new(&self.backend, self.node.rows, op))
    }

    /// A single clear code of this number's width.
    fn limit(&self, code: u64) -> Arc<Node> {
        Node::new(None, self.node.kind, Op::Public(vec![code]))
    }
}
