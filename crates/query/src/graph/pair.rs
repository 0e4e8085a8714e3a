//! Questions about two expressions.

use tfhe_sbc_columns::{Number, OptionalNumber};

use super::{Asked, Graph};
use crate::Pair;
use crate::error::EvaluateError;
use crate::expression::Expression;
use crate::results::{Gaps, Meaning};

impl Graph<'_> {
    /// Returns the values that answer a function of two expressions: sums over the rows in which both have a value.
    ///
    /// # Errors
    /// Values that have no encoding.
    pub(super) fn pair(
        &self,
        function: Pair,
        a: &Expression,
        b: &Expression,
    ) -> Result<Asked, EvaluateError> {
        let ((number, column), (other, other_column)) = (self.values(a)?, self.values(b)?);
        let measure = function.measure();
        let meaning = |sums: &[Number]| Meaning::Pair {
            columns: Box::new([column, other_column]),
            rows: self.row_count(),
            blocks: sums
                .iter()
                .map(|sum| self.block_count(sum.bits()))
                .collect(),
            function,
        };
        let (valid, other_valid) = (self.valid(a)?, self.valid(b)?);
        if valid.is_none() && other_valid.is_none() {
            let sums = number.pair_sums(&other, measure)?;
            let meaning = meaning(&sums);
            return Ok(Asked::new(sums, meaning));
        }
        let optional = |number, valid| match valid {
            Some(valid) => OptionalNumber::new(number, valid),
            None => Ok(OptionalNumber::whole(number)),
        };
        let (number, other) = (optional(number, valid)?, optional(other, other_valid)?);
        let sums = number.pair_sums(&other, measure)?;
        let (count, sums_of_codes) = sums.split_first().ok_or(tfhe_sbc_columns::Error::NoRows)?;
        let gaps = Gaps::Counted(self.block_count(count.bits()));
        let meaning = meaning(sums_of_codes).with_gaps(gaps);
        Ok(Asked::new(sums, meaning))
    }
}
