//! Comparisons.
//!
//! The order of two numbers is the sign of their most significant differing digits.
//! Each pair of digits is bootstrapped to the sign of its difference times a power of
//! two; a sum of such signs has the sign of its highest nonzero term, so one more
//! bootstrap decides up to `message + carry` digits at once.

use std::borrow::Cow;

use tfhe_sbc_core::glwe_product::MaskTorus;

use super::{
    Block, Combination, Compared, EncryptedBool, Integer, IntegerError, Integers, Pair, Signedness,
    check_widths,
};
use crate::lookup_table::LookupTable;

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
}

impl Comparison {
    /// The comparison of clear numbers.
    pub fn apply<V: PartialOrd>(self, a: V, b: V) -> bool {
        match self {
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
            Self::Eq => a == b,
            Self::Ne => a != b,
        }
    }
}

impl<T: MaskTorus> Integers<'_, '_, T> {
    /// One comparison.
    pub fn compare<S: Signedness>(
        &self,
        comparison: Comparison,
        a: &Integer<S, T>,
        b: &Integer<S, T>,
    ) -> Result<EncryptedBool<T>, IntegerError> {
        Ok(self.compare_batch(&[(comparison, a, b)])?.remove(0))
    }

    /// Many comparisons at once.
    pub fn compare_batch<S: Signedness>(
        &self,
        comparisons: &[Compared<'_, S, T>],
    ) -> Result<Vec<EncryptedBool<T>>, IntegerError> {
        let (mut order, mut equality) = (Vec::new(), Vec::new());
        for &(comparison, a, b) in comparisons {
            match comparison {
                Comparison::Eq | Comparison::Ne => equality.push((comparison, a, b)),
                _ => order.push((comparison, a, b)),
            }
        }
        let mut order = self.compare_order(&order, 1)?.into_iter();
        let mut equality = self.compare_equality(&equality)?.into_iter();
        let bits = comparisons.iter().filter_map(|(comparison, ..)| {
            let block = match comparison {
                Comparison::Eq | Comparison::Ne => equality.next(),
                _ => order.next(),
            };
            block.map(|block| EncryptedBool { block })
        });
        Ok(bits.collect())
    }

    /// `weight` where the comparison, one of order, holds, and 0 where it does not.
    pub(super) fn compare_order<S: Signedness>(
        &self,
        comparisons: &[Compared<'_, S, T>],
        weight: i64,
    ) -> Result<Vec<Block<T>>, IntegerError> {
        let pairs: Vec<_> = comparisons.iter().map(|&(_, a, b)| (a, b)).collect();
        check_widths(&pairs)?;
        let size = self.evaluator.parameters().polynomial_size();
        let half_unit = T::ONE << (T::BITS - self.encoding.plaintext_bits() - 1);
        let half_weight = half_unit.mul(T::from_i64(weight));
        // The sign of d ± 1/2 is never in doubt, and ± weight/2 becomes 0 or weight.
        let if_above = LookupTable::sign(size, half_weight);
        let if_below = LookupTable::sign(size, half_weight.neg());
        let jobs = self
            .order_differences(&pairs)
            .into_iter()
            .zip(comparisons)
            .map(|(mut difference, (comparison, ..))| {
                let (shift, table) = match comparison {
                    Comparison::Gt => (half_unit.neg(), &if_above),
                    Comparison::Ge => (half_unit, &if_above),
                    Comparison::Lt => (half_unit, &if_below),
                    _ => (half_unit.neg(), &if_below),
                };
                difference.add_plaintext(shift);
                (difference, table, weight as u64)
            })
            .collect();
        let mut outputs = self.look_up(jobs);
        for block in &mut outputs {
            block.lwe.add_plaintext(half_weight);
        }
        Ok(outputs)
    }

    /// For every pair a ciphertext of a number below the block modulus in absolute
    /// value, with the sign of `a - b`.
    fn order_differences<S: Signedness>(&self, pairs: &[Pair<'_, S, T>]) -> Vec<Combination<T>> {
        // Two operands must fit the noise budget of one bootstrap.
        let operands = self.with_noise_at_most(
            pairs.iter().flat_map(|&(a, b)| [a, b]),
            self.max_noise_level / 2,
        );
        let operands = if S::SIGNED {
            self.with_sign_bits_flipped(&operands)
        } else {
            let blocks = |integer: &Cow<'_, Integer<S, T>>| {
                integer.blocks.iter().map(Block::combination).collect()
            };
            operands.iter().map(blocks).collect()
        };
        let mut lists: Vec<SignTerms<T>> = operands
            .as_chunks::<2>()
            .0
            .iter()
            .map(SignTerms::differences)
            .collect();
        while lists.iter().any(|list| list.terms.len() > 1) {
            self.combine_signs(&mut lists);
        }
        lists.into_iter().flat_map(|list| list.terms).collect()
    }

    /// The ciphertexts of two's complement numbers with the sign bit flipped, which
    /// puts them in the order of unsigned ones.
    fn with_sign_bits_flipped<S: Signedness>(
        &self,
        integers: &[Cow<'_, Integer<S, T>>],
    ) -> Vec<Vec<Combination<T>>> {
        let sign_bit = self.encoding.message_modulus() / 2;
        let flip = self.table(|x| (x ^ sign_bit) as i64);
        let top = self.encoding.message_modulus() - 1;
        let jobs = integers
            .iter()
            .filter_map(|integer| integer.blocks.last())
            .map(|block| (block.combination(), &flip, top))
            .collect();
        integers
            .iter()
            .zip(self.look_up(jobs))
            .map(|(integer, flipped)| {
                let (_, low) = integer.blocks.split_last().unwrap_or((&flipped, &[]));
                low.iter()
                    .chain([&flipped])
                    .map(Block::combination)
                    .collect()
            })
            .collect()
    }

    /// Replaces groups of terms by sums with the sign of the most significant nonzero
    /// term of the group.
    fn combine_signs(&self, lists: &mut [SignTerms<T>]) {
        let group_len = (self.encoding.plaintext_bits() - 1).min(self.max_noise_level) as usize;
        let weighted_sign: Vec<_> = (0..group_len)
            .map(|place| self.table(|x| i64::from(x > 0) << place))
            .collect();
        let mut jobs = Vec::new();
        for list in lists.iter().filter(|list| list.terms.len() > 1) {
            for (i, term) in list.terms.iter().enumerate().skip(list.signs) {
                let (_, place) = list.place_of(i, group_len);
                jobs.push((term.clone(), &weighted_sign[place], 1 << place));
            }
        }
        let mut signs = self
            .look_up(jobs)
            .into_iter()
            .map(|block| block.combination());
        for list in lists.iter_mut().filter(|list| list.terms.len() > 1) {
            let mut sums: Vec<Combination<T>> = Vec::new();
            let kept = list.terms[..list.signs].iter().cloned();
            let bootstrapped = signs.by_ref().take(list.terms.len() - list.signs);
            for (i, sign) in kept.chain(bootstrapped).enumerate() {
                let (group, _) = list.place_of(i, group_len);
                match sums.get_mut(group) {
                    Some(sum) => sum.add_assign(&sign),
                    None => sums.push(sign),
                }
            }
            list.signs = usize::from(list.terms.len() % group_len == 1);
            list.terms = sums;
        }
    }
}

/// Terms, least significant first, of which the sign of the most significant nonzero
/// one is wanted.
struct SignTerms<T> {
    terms: Vec<Combination<T>>,
    /// Number of least significant terms (0 or 1) that are bootstrapped signs already.
    signs: usize,
}

impl<T: MaskTorus> SignTerms<T> {
    fn differences([a, b]: &[Vec<Combination<T>>; 2]) -> Self {
        let terms = a.iter().zip(b).map(|(a, b)| {
            let mut difference = a.clone();
            difference.sub_assign(b);
            difference
        });
        Self {
            terms: terms.collect(),
            signs: 0,
        }
    }

    /// The group of term `i`, and its place in the group from the least significant.
    /// Groups are full from the most significant end, so that a group of one, which
    /// needs no more than its sign, can only be the least significant.
    fn place_of(&self, i: usize, group_len: usize) -> (usize, usize) {
        let first_len = match self.terms.len() % group_len {
            0 => group_len,
            remainder => remainder,
        };
        match i.checked_sub(first_len) {
            None => (0, i),
            Some(rest) => (1 + rest / group_len, rest % group_len),
        }
    }
}

impl<T: MaskTorus> Integers<'_, '_, T> {
    fn compare_equality<S: Signedness>(
        &self,
        comparisons: &[Compared<'_, S, T>],
    ) -> Result<Vec<Block<T>>, IntegerError> {
        let pairs: Vec<_> = comparisons.iter().map(|&(_, a, b)| (a, b)).collect();
        check_widths(&pairs)?;
        let operands = self.with_noise_at_most(
            pairs.iter().flat_map(|&(a, b)| [a, b]),
            self.max_noise_level / 2,
        );
        // Differences moved up by the largest digit are never negative.
        let top = self.encoding.message_modulus() - 1;
        let equal = self.table(|x| i64::from(x == top));
        let mut jobs = Vec::new();
        for [a, b] in operands.as_chunks::<2>().0 {
            for (a, b) in a.blocks.iter().zip(&b.blocks) {
                let mut difference = a.combination();
                difference.sub_assign(&b.combination());
                difference.add_plaintext(self.encoding.encode(top as i64));
                jobs.push((difference, &equal, 1));
            }
        }
        let mut bits = self.look_up(jobs).into_iter();
        let lists = pairs
            .iter()
            .map(|(a, _)| bits.by_ref().take(a.blocks.len()).collect())
            .collect();
        let mut all = self.all_of(lists);
        for (block, (comparison, ..)) in all.iter_mut().zip(comparisons) {
            if *comparison == Comparison::Ne {
                self.invert(block);
            }
        }
        Ok(all)
    }
}
