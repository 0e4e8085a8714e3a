//! Numbers chosen from others: by a mask, or by places of rows.

use std::sync::Arc;

use crate::encoding::{Aligned, align};
use crate::error::Error;
use crate::mask::Mask;
use crate::node::{Kind, Node, Op};
use crate::number::{Number, Operand, check_rows, common_rows};

impl Number {
    /// Returns `self` where the mask holds, `otherwise` elsewhere.
    ///
    /// # Errors
    /// Operands that do not belong together, or that have no common encoding.
    pub fn select<'a>(
        &self,
        mask: &Mask,
        otherwise: impl Into<Operand<'a>>,
    ) -> Result<Self, Error> {
        match otherwise.into() {
            Operand::Clear(value) => self.select_clear(mask, value),
            Operand::Encrypted(otherwise) => self.select_encrypted(mask, otherwise),
        }
    }

    fn select_encrypted(&self, mask: &Mask, otherwise: &Self) -> Result<Self, Error> {
        self.backend.check_same(&mask.backend)?;
        self.backend.check_same(&otherwise.backend)?;
        let rows = common_rows(&[&self.node, &otherwise.node, &mask.node])?;
        let Aligned {
            nodes,
            bits,
            offset,
            scale,
            ..
        } = align(&[self, otherwise], &[])?;
        let mut nodes = nodes.into_iter();
        let (Some(then), Some(otherwise)) = (nodes.next(), nodes.next()) else {
            return Err(Error::NoRows);
        };
        let mask = Arc::clone(&mask.node);
        let op = Op::Select {
            mask,
            then,
            otherwise,
        };
        Ok(Self {
            offset,
            scale,
            ..self.made(rows, bits, op)
        })
    }

    fn select_clear(&self, mask: &Mask, otherwise: f64) -> Result<Self, Error> {
        self.backend.check_same(&mask.backend)?;
        let rows = common_rows(&[&self.node, &mask.node])?;
        let Aligned {
            nodes,
            codes,
            bits,
            offset,
            scale,
        } = align(&[self], &[otherwise])?;
        let (Some(of), Some(&otherwise)) = (nodes.into_iter().next(), codes.first()) else {
            return Err(Error::NoRows);
        };
        let mask = Arc::clone(&mask.node);
        let op = match otherwise {
            0 if of.rows.is_some() && mask.rows.is_some() => Op::Keep { of, mask },
            _ => Op::Select {
                mask,
                then: of,
                otherwise: Node::new(None, Kind::Code(bits), Op::Public(vec![otherwise])),
            },
        };
        Ok(Self {
            offset,
            scale,
            ..self.made(rows, bits, op)
        })
    }

    /// The number where the mask holds, 0 elsewhere, as a number of the same step whose code 0
    /// is 0: the offset is left out.
    ///
    /// # Errors
    /// Operands that do not belong together.
    pub fn keep(&self, mask: &Mask) -> Result<Self, Error> {
        self.backend.check_same(&mask.backend)?;
        let rows = common_rows(&[&self.node, &mask.node])?;
        let op = Op::Keep {
            of: self.node(),
            mask: Arc::clone(&mask.node),
        };
        Ok(Self {
            offset: 0.0,
            ..self.made(rows, self.node.bits(), op)
        })
    }

    /// Returns the rows at these places, which count from 0.
    ///
    /// # Errors
    /// No rows, or rows that are not there.
    pub fn take(&self, rows: &[usize]) -> Result<Self, Error> {
        check_rows(&self.node, rows)?;
        let op = Op::Take {
            of: self.node(),
            rows: rows.to_vec(),
        };
        Ok(self.made(Some(rows.len()), self.node.bits(), op))
    }

    /// Returns the row at a place, which counts from 0.
    ///
    /// # Errors
    /// A row that is not there.
    pub fn item(&self, row: usize) -> Result<Self, Error> {
        check_rows(&self.node, &[row])?;
        let op = Op::Take {
            of: self.node(),
            rows: vec![row],
        };
        Ok(self.made(None, self.node.bits(), op))
    }

    /// Returns the number whose rows are these single numbers.
    ///
    /// # Errors
    /// No numbers, numbers that have rows, and numbers that have no common encoding.
    pub fn stack(numbers: &[&Self]) -> Result<Self, Error> {
        let first = numbers.first().ok_or(Error::NoRows)?;
        for number in numbers {
            first.backend.check_same(&number.backend)?;
            if let Some(rows) = number.node.rows {
                return Err(Error::Rows(1, rows));
            }
        }
        let aligned = align(numbers, &[])?;
        Ok(Self {
            offset: aligned.offset,
            scale: aligned.scale,
            ..first.made(Some(numbers.len()), aligned.bits, Op::Stack(aligned.nodes))
        })
    }
}
