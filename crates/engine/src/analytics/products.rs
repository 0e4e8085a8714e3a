//! Sums of the products of two columns, row by row.
//!
//! A product of two rows is that of each digit of one with each digit of the other. Those of many rows are added up before
//! they are digits, as [squares](super::moments) are.

use super::AnalyticsError;
use super::moments::{MANY_ROWS, add_digits};
use crate::circuit::{Addend, Block, Circuit};
use crate::integer::sum::Columns;
use crate::integer::{FheUint, Width, carry_bits};

impl Circuit {
    /// The sum of `a[row]·b[row]` over all rows. The two columns may have different widths, of at most 127 bits.
    ///
    /// # Errors
    /// If a column is empty, they have different numbers of rows, the readings of one have different widths or belong to
    /// another circuit, or the sum does not fit 256 bits.
    pub fn sum_of_products(&self, a: &[FheUint], b: &[FheUint]) -> Result<FheUint, AnalyticsError> {
        let (a_width, b_width) = (self.check_column(a)?, self.check_column(b)?);
        if a.len() != b.len() {
            return Err(AnalyticsError::Rows(a.len(), b.len()));
        }
        let width = Width::new(a_width.bits() + b_width.bits() + carry_bits(a.len()))?;
        let (a, b) = (self.ordered(a), self.ordered(b));
        let columns = match self.products_at_scale(&a, &b, width) {
            Some(columns) => columns,
            None => self.products_in_digits(&a, &b, width),
        };
        Ok(self.propagate_unchecked(&self.add_columns(columns, width)))
    }

    /// The digits of the products of digits, by the powers that they are added at.
    fn products_in_digits(&self, a: &[FheUint], b: &[FheUint], width: Width) -> Columns {
        let mut columns: Columns = vec![Vec::new(); self.block_count(width)];
        let base = self.message_modulus();
        let product: [&dyn Fn(i64, i64) -> i64; 2] = [&|x, y| x * y % base, &|x, y| x * y / base];
        for (a, b) in a.iter().zip(b) {
            for (i, one) in a.blocks().iter().enumerate() {
                for (j, other) in b.blocks().iter().enumerate() {
                    let digits = self.look_up_pair_all(one, other, &product);
                    add_digits(&mut columns, i + j, digits);
                }
            }
        }
        columns
    }

    /// Does the same as [`products_in_digits`](Self::products_in_digits) by sums of products that one lookup gives each.
    /// `None` if there are few rows, or the circuit has no form of such sums.
    fn products_at_scale(&self, a: &[FheUint], b: &[FheUint], width: Width) -> Option<Columns> {
        if a.len() < MANY_ROWS {
            return None;
        }
        let (blocks, others) = (a.first()?.blocks().len(), b.first()?.blocks().len());
        let mut columns: Columns = vec![Vec::new(); self.block_count(width)];
        // The weight of the digit above another one in the block that a lookup takes.
        let weight = self.message_modulus();
        let function = |x: i64| (x / weight) * (x % weight);
        for power in 0..blocks + others - 1 {
            let pairs = (0..blocks).filter_map(|i| Some((i, power.checked_sub(i)?)));
            let addends = pairs.filter(|(_, j)| *j < others).flat_map(|(i, j)| {
                a.iter().zip(b).map(move |(a, b)| {
                    let (high, low): (&Block, &Block) = (&a.blocks()[i], &b.blocks()[j]);
                    (low, high)
                })
            });
            let addends = addends.map(|(low, high)| Addend {
                block: self.paired(low, high).0,
                function: &function,
            });
            let addends: Vec<Addend<'_>> = addends.collect();
            for digits in self.digits_of_sums(&addends)? {
                add_digits(&mut columns, power, digits);
            }
        }
        Some(columns)
    }
}
