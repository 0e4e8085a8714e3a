//! Numbers some of whose rows have no reading.
//!
//! The code of a missing reading is 0. A [`Mask`] tells where there is one ([`Table::valid`](crate::Table::valid)),
//! and whatever must tell 0 from nothing takes both.

use std::sync::Arc;

use crate::condition::Limit;
use crate::error::Error;
use crate::mask::Mask;
use crate::node::{Kind, Node, Op};
use crate::number::{Number, common_rows};
use crate::threshold::Relation;

impl Number {
    /// Returns the codes with one bit above them, which is `present` where there is a reading and the opposite where
    /// there is none. So rows without a reading come behind all others in ascending order if `present` is false, and
    /// in descending order if it is true.
    ///
    /// # Errors
    /// Operands that do not belong together, and codes of too many bits.
    pub fn marked(&self, valid: &Mask, present: bool) -> Result<Self, Error> {
        self.backend.check_same(&valid.backend)?;
        let rows = common_rows(&[&self.node, &valid.node])?;
        let bits = self.node.bits();
        let above = 1i64.checked_shl(bits).filter(|above| *above > 0);
        let above = above.ok_or(Error::TooWide)?;
        let mark = Node::new(
            valid.node.rows,
            Kind::Code(1),
            Op::Bits(Arc::clone(&valid.node)),
        );
        let factor = if present { above } else { -above };
        // The smallest value of a sum with a negative factor is left out, so that the bit is 1 where the factor's is 0.
        let terms = vec![(self.node(), 1), (mark, factor)];
        Ok(self.made(rows, bits + 1, Op::Linear { terms, shift: 0 }))
    }

    /// Returns, for each row with a reading, whether its code is in this relation to a threshold; false for others.
    ///
    /// # Errors
    /// Operands that do not belong together.
    pub fn compare_valid_codes(
        &self,
        relation: Relation,
        limit: &Limit,
        valid: &Mask,
    ) -> Result<Mask, Error> {
        let holds = self.compare_codes(relation, limit);
        // The code of a column is 0 where it has no reading, and that is not above another one.
        let of_column = match &*self.node.op() {
            Op::Load { .. } => true,
            Op::Take { of, .. } => matches!(&*of.op(), Op::Load { .. }),
            _ => false,
        };
        let is_above_lowest = match (relation, limit) {
            (Relation::Gt, Limit::Clear(_)) => true,
            (Relation::Ge | Relation::Eq, Limit::Clear(code)) => *code > 0,
            _ => false,
        };
        match of_column && is_above_lowest {
            true => Ok(holds),
            false => holds.and(valid),
        }
    }
}
