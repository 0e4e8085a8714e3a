//! Sums of many: carry-save addition in columns, then one pass of carries.

use tfhe_sbc_core::glwe_product::MaskTorus;

use super::{Block, EncryptedBool, Integer, IntegerError, Integers, Signedness, Unsigned};

/// The blocks that add up at each power of the message modulus.
pub(super) type Columns<T> = Vec<Vec<Block<T>>>;

impl<T: MaskTorus> Integers<'_, '_, T> {
    /// The sum of many unsigned integers, as wide as it needs to be.
    pub fn sum(
        &self,
        integers: &[&Integer<Unsigned, T>],
    ) -> Result<Integer<Unsigned, T>, IntegerError> {
        Ok(self.sum_batch(&[integers])?.remove(0))
    }

    /// Several such sums at once.
    pub fn sum_batch(
        &self,
        sums: &[&[&Integer<Unsigned, T>]],
    ) -> Result<Vec<Integer<Unsigned, T>>, IntegerError> {
        let mut columns = Vec::with_capacity(sums.len());
        for integers in sums {
            let input_width = integers.iter().map(|integer| integer.blocks.len()).max();
            let input_width = input_width.filter(|&n| n > 0).ok_or(IntegerError::Empty)?;
            columns.push(self.columns_of(integers, self.sum_width(input_width, integers.len())));
        }
        Ok(self.add_columns(columns))
    }

    /// The number of true values, for several lists at once.
    pub fn count_batch(
        &self,
        lists: &[&[&EncryptedBool<T>]],
    ) -> Result<Vec<Integer<Unsigned, T>>, IntegerError> {
        let bits = self.encoding.message_bits();
        let mut columns = Vec::with_capacity(lists.len());
        for list in lists {
            if list.is_empty() {
                return Err(IntegerError::Empty);
            }
            let width = self.encoding.block_count(list.len().ilog2() + 1);
            debug_assert!(width as u32 * bits > list.len().ilog2());
            let mut sum: Columns<T> = vec![Vec::new(); width];
            sum[0] = list.iter().map(|bit| bit.block.clone()).collect();
            columns.push(sum);
        }
        Ok(self.add_columns(columns))
    }

    /// Blocks of a sum of `count` numbers of `width` blocks.
    fn sum_width(&self, width: usize, count: usize) -> usize {
        let input_bits = width as u32 * self.encoding.message_bits();
        let carry_bits = usize::BITS - (count - 1).leading_zeros();
        self.encoding.block_count(input_bits + carry_bits)
    }

    pub(super) fn columns_of<S: Signedness>(
        &self,
        integers: &[&Integer<S, T>],
        width: usize,
    ) -> Columns<T> {
        let mut columns: Columns<T> = vec![Vec::new(); width];
        for integer in integers {
            for (column, block) in columns.iter_mut().zip(&integer.blocks) {
                column.push(block.clone());
            }
        }
        columns
    }

    /// Adds up the columns of several sums at once. What a sum carries out of its last
    /// column is dropped.
    pub(super) fn add_columns<S: Signedness>(
        &self,
        mut sums: Vec<Columns<T>>,
    ) -> Vec<Integer<S, T>> {
        self.refresh_columns(&mut sums);
        while self.save_carries(&mut sums) {}
        self.ripple_carries(&mut sums);
        sums.into_iter()
            .map(|columns| {
                Integer::new(
                    columns
                        .into_iter()
                        .map(|mut column| column.pop().unwrap_or_else(|| self.trivial_block(0)))
                        .collect(),
                )
            })
            .collect()
    }

    /// Bootstraps blocks that are too noisy for two of them and a carry to fit one
    /// bootstrap. Not those that are crowded by themselves: they get a bootstrap of
    /// their own anyway.
    fn refresh_columns(&self, sums: &mut [Columns<T>]) {
        let limit = (self.max_noise_level - 1) / 2;
        let clean = self.encoding.message_modulus() - 1;
        let mut noisy: Vec<&mut Block<T>> = sums
            .iter_mut()
            .flatten()
            .flatten()
            .filter(|block| block.noise_level > limit && block.degree <= 2 * clean)
            .collect();
        let jobs = noisy
            .iter()
            .map(|block| (block.combination(), &self.identity, block.degree))
            .collect();
        for (block, fresh) in noisy.iter_mut().zip(self.look_up(jobs)) {
            **block = fresh;
        }
    }

    /// One round of carry-save addition: every group of blocks that fits a bootstrap
    /// becomes a digit in its column and a carry in the next. False when every column
    /// has at most two blocks left that a pass of carries can take.
    fn save_carries(&self, sums: &mut [Columns<T>]) -> bool {
        let mut groups = Vec::new();
        for (s, columns) in sums.iter_mut().enumerate() {
            for (c, column) in columns.iter_mut().enumerate() {
                while let Some(group) = self.take_group(column) {
                    groups.push((s, c, group));
                }
            }
        }
        let progress = !groups.is_empty();
        self.resolve(groups, sums);
        progress
    }

    /// Takes blocks out of a column whose sum fits one bootstrap, if that is worth one.
    fn take_group(&self, column: &mut Vec<Block<T>>) -> Option<Block<T>> {
        let clean = self.encoding.message_modulus() - 1;
        let crowded = column.len() > 2 || column.iter().map(|b| b.degree).sum::<u64>() > 2 * clean;
        if !crowded {
            return None;
        }
        let mut group = column.pop()?;
        while let Some(next) = column.pop_if(|next| {
            group.degree + next.degree < self.encoding.block_modulus()
                && group.noise_level + next.noise_level <= self.max_noise_level
        }) {
            group.add_assign(&next);
        }
        Some(group)
    }

    /// One pass of carries, from the least significant column up.
    fn ripple_carries(&self, sums: &mut [Columns<T>]) {
        let clean = self.encoding.message_modulus() - 1;
        let width = sums.iter().map(Vec::len).max().unwrap_or(0);
        for c in 0..width {
            let mut groups = Vec::new();
            for (s, columns) in sums.iter_mut().enumerate() {
                let Some(column) = columns.get_mut(c) else {
                    continue;
                };
                let Some(mut group) = column.pop() else {
                    continue;
                };
                for block in column.drain(..) {
                    group.add_assign(&block);
                }
                if group.degree <= clean && group.noise_level <= 1 {
                    column.push(group);
                } else {
                    groups.push((s, c, group));
                }
            }
            self.resolve(groups, sums);
        }
    }

    /// Bootstraps every group `(sum, column, blocks added up)` to its digit, which goes
    /// to that column, and its carry, which goes to the next.
    fn resolve(&self, groups: Vec<(usize, usize, Block<T>)>, sums: &mut [Columns<T>]) {
        let (bits, modulus) = (
            self.encoding.message_bits(),
            self.encoding.message_modulus(),
        );
        let digit = self.table(|x| (x % modulus) as i64);
        let carry = self.table(|x| (x >> bits) as i64);
        let mut places = Vec::with_capacity(2 * groups.len());
        let mut jobs = Vec::with_capacity(2 * groups.len());
        for (s, c, group) in groups {
            let carry_degree = group.degree >> bits;
            if carry_degree > 0 && c + 1 < sums[s].len() {
                places.push((s, c + 1));
                jobs.push((group.combination(), &carry, carry_degree));
            }
            places.push((s, c));
            jobs.push((group.combination(), &digit, group.degree.min(modulus - 1)));
        }
        for ((s, c), block) in places.into_iter().zip(self.look_up(jobs)) {
            sums[s][c].push(block);
        }
    }
}
