//! Selection, minimum and maximum.
//!
//! A choice between two digits is `b + c·(a - b)`. The product comes out of one
//! bootstrap of `(a - b) + (m - 1) + (2m - 1)·c`, a number below the block modulus
//! that tells both factors, so it costs one bootstrap a digit; and the same product
//! gives minimum and maximum together, as `a - c·(a - b)` and `b + c·(a - b)`.

use std::borrow::Cow;

use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::lwe::LweCiphertext;

use super::{
    Block, Choice, Comparison, EncryptedBool, Extremes, Integer, IntegerError, Integers, Pair,
    Signedness, check_widths,
};

impl<T: MaskTorus> Integers<'_, '_, T> {
    /// `condition ? a : b`.
    pub fn select<S: Signedness>(
        &self,
        condition: &EncryptedBool<T>,
        a: &Integer<S, T>,
        b: &Integer<S, T>,
    ) -> Result<Integer<S, T>, IntegerError> {
        Ok(self.select_batch(&[(condition, a, b)])?.remove(0))
    }

    /// `condition ? a : b` for every `(condition, a, b)`.
    pub fn select_batch<S: Signedness>(
        &self,
        choices: &[Choice<'_, S, T>],
    ) -> Result<Vec<Integer<S, T>>, IntegerError> {
        let pairs: Vec<_> = choices.iter().map(|&(_, a, b)| (a, b)).collect();
        check_widths(&pairs)?;
        let weight = self.condition_weight();
        let weigh = self.table(|x| if x > 0 { weight } else { 0 });
        let jobs = choices
            .iter()
            .map(|(condition, ..)| (condition.block.combination(), &weigh, weight as u64))
            .collect();
        let conditions = self.look_up(jobs);
        let operands = self.settled(&pairs);
        let products = self.chosen_differences(&conditions, &operands);
        Ok(operands
            .as_chunks::<2>()
            .0
            .iter()
            .zip(products)
            .map(|([_, b], products)| self.moved(b, &products, LweCiphertext::add_assign))
            .collect())
    }

    /// The smaller of every pair.
    pub fn min_batch<S: Signedness>(
        &self,
        pairs: &[Pair<'_, S, T>],
    ) -> Result<Vec<Integer<S, T>>, IntegerError> {
        Ok(self
            .min_max_batch(pairs)?
            .into_iter()
            .map(|(min, _)| min)
            .collect())
    }

    /// The larger of every pair.
    pub fn max_batch<S: Signedness>(
        &self,
        pairs: &[Pair<'_, S, T>],
    ) -> Result<Vec<Integer<S, T>>, IntegerError> {
        Ok(self
            .min_max_batch(pairs)?
            .into_iter()
            .map(|(_, max)| max)
            .collect())
    }

    /// Minimum and maximum of every pair, for the price of one of them.
    pub fn min_max_batch<S: Signedness>(
        &self,
        pairs: &[Pair<'_, S, T>],
    ) -> Result<Vec<Extremes<S, T>>, IntegerError> {
        check_widths(pairs)?;
        let operands = self.settled(pairs);
        let comparisons: Vec<_> = operands
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[a, b]| (Comparison::Gt, a.as_ref(), b.as_ref()))
            .collect();
        let a_is_larger = self.compare_order(&comparisons, self.condition_weight())?;
        let products = self.chosen_differences(&a_is_larger, &operands);
        Ok(operands
            .as_chunks::<2>()
            .0
            .iter()
            .zip(products)
            .map(|([a, b], products)| {
                (
                    self.moved(a, &products, LweCiphertext::sub_assign),
                    self.moved(b, &products, LweCiphertext::add_assign),
                )
            })
            .collect())
    }

    /// Minimum and maximum of every list, in a tournament of all lists at once.
    pub fn min_max_of_batch<S: Signedness>(
        &self,
        lists: &[&[&Integer<S, T>]],
    ) -> Result<Vec<Extremes<S, T>>, IntegerError> {
        if lists.iter().any(|list| list.is_empty()) {
            return Err(IntegerError::Empty);
        }
        // The first round serves both ends; from then on losers and winners go on
        // apart. A list's odd one out takes part in both.
        let pairs: Vec<_> = lists
            .iter()
            .flat_map(|list| list.as_chunks::<2>().0)
            .map(|[a, b]| (*a, *b))
            .collect();
        let mut decided = self.min_max_batch(&pairs)?.into_iter();
        let mut smaller = Vec::with_capacity(lists.len());
        let mut larger = Vec::with_capacity(lists.len());
        for list in lists {
            let (chunks, odd) = list.as_chunks::<2>();
            let (mut low, mut high): (Vec<_>, Vec<_>) = decided.by_ref().take(chunks.len()).unzip();
            low.extend(odd.iter().map(|&integer| integer.clone()));
            high.extend(odd.iter().map(|&integer| integer.clone()));
            smaller.push(low);
            larger.push(high);
        }
        while smaller.iter().any(|list| list.len() > 1) {
            let rounds = smaller.iter().chain(&larger);
            let pairs: Vec<_> = rounds
                .flat_map(|list| list.as_chunks::<2>().0)
                .map(|[a, b]| (a, b))
                .collect();
            let mut decided = self.min_max_batch(&pairs)?.into_iter();
            for list in &mut smaller {
                let odd = list.split_off(list.len() / 2 * 2);
                let winners = decided.by_ref().take(list.len() / 2).map(|(min, _)| min);
                *list = winners.chain(odd).collect();
            }
            for list in &mut larger {
                let odd = list.split_off(list.len() / 2 * 2);
                let winners = decided.by_ref().take(list.len() / 2).map(|(_, max)| max);
                *list = winners.chain(odd).collect();
            }
        }
        Ok(smaller
            .into_iter()
            .flatten()
            .zip(larger.into_iter().flatten())
            .collect())
    }

    /// What a condition is multiplied by so that it stands above every difference.
    fn condition_weight(&self) -> i64 {
        2 * self.encoding.message_modulus() as i64 - 1
    }

    /// The operands, in order, with noise that leaves room for two of them and a
    /// condition in one bootstrap.
    fn settled<'a, S: Signedness>(&self, pairs: &[Pair<'a, S, T>]) -> Vec<Cow<'a, Integer<S, T>>> {
        self.with_noise_at_most(
            pairs.iter().flat_map(|&(a, b)| [a, b]),
            (self.max_noise_level - 1) / 2,
        )
    }

    /// `c·(a - b)` for every digit of every pair of neighbours in `operands`, for
    /// conditions of 0 or [`condition_weight`](Self::condition_weight).
    fn chosen_differences<S: Signedness>(
        &self,
        conditions: &[Block<T>],
        operands: &[Cow<'_, Integer<S, T>>],
    ) -> Vec<Vec<LweCiphertext<T>>> {
        let (weight, top) = (
            self.condition_weight(),
            self.encoding.message_modulus() as i64 - 1,
        );
        let product = self.table(|x| {
            let x = x as i64;
            if x >= weight { x - weight - top } else { 0 }
        });
        let pairs = operands.as_chunks::<2>().0;
        let mut jobs = Vec::new();
        for ([a, b], condition) in pairs.iter().zip(conditions) {
            for (a, b) in a.blocks.iter().zip(&b.blocks) {
                let mut x = a.combination();
                x.sub_assign(&b.combination());
                x.add_assign(&condition.combination());
                x.add_plaintext(self.encoding.encode(top));
                jobs.push((x, &product, top as u64));
            }
        }
        let mut products = self.look_up(jobs).into_iter().map(|block| block.lwe);
        pairs
            .iter()
            .map(|[a, _]| products.by_ref().take(a.blocks.len()).collect())
            .collect()
    }

    /// `integer` with every digit moved by a product that keeps it a digit.
    fn moved<S: Signedness>(
        &self,
        integer: &Integer<S, T>,
        products: &[LweCiphertext<T>],
        op: impl Fn(&mut LweCiphertext<T>, &LweCiphertext<T>),
    ) -> Integer<S, T> {
        Integer::new(
            integer
                .blocks
                .iter()
                .zip(products)
                .map(|(block, product)| {
                    let mut lwe = block.lwe.clone();
                    op(&mut lwe, product);
                    Block {
                        lwe,
                        degree: self.encoding.message_modulus() - 1,
                        noise_level: block.noise_level + 1,
                    }
                })
                .collect(),
        )
    }
}
