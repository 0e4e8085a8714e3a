//! Truth values: and, or, exclusive or, not, and the and of many.

use tfhe_sbc_core::glwe_product::MaskTorus;

use super::{Block, EncryptedBool, IntegerError, Integers};

impl<T: MaskTorus> Integers<'_, '_, T> {
    /// A clear truth value, to take part in computations.
    pub fn trivial_bool(&self, bit: bool) -> EncryptedBool<T> {
        EncryptedBool {
            block: self.trivial_block(u64::from(bit)),
        }
    }

    /// `¬a`. No bootstrap.
    pub fn not(&self, a: &EncryptedBool<T>) -> EncryptedBool<T> {
        let mut block = a.block.clone();
        self.invert(&mut block);
        EncryptedBool { block }
    }

    pub(super) fn invert(&self, block: &mut Block<T>) {
        block.lwe.neg_assign();
        block.lwe.add_plaintext(self.encoding.encode(1));
        block.degree = 1;
    }

    /// `a ∧ b` for every pair.
    pub fn and_batch(
        &self,
        pairs: &[(&EncryptedBool<T>, &EncryptedBool<T>)],
    ) -> Vec<EncryptedBool<T>> {
        self.of_sum(pairs, |ones| ones == 2)
    }

    /// `a ∨ b` for every pair.
    pub fn or_batch(
        &self,
        pairs: &[(&EncryptedBool<T>, &EncryptedBool<T>)],
    ) -> Vec<EncryptedBool<T>> {
        self.of_sum(pairs, |ones| ones > 0)
    }

    /// `a ⊕ b` for every pair.
    pub fn xor_batch(
        &self,
        pairs: &[(&EncryptedBool<T>, &EncryptedBool<T>)],
    ) -> Vec<EncryptedBool<T>> {
        self.of_sum(pairs, |ones| ones == 1)
    }

    /// Whether all of every list are true.
    pub fn all_batch(
        &self,
        lists: &[&[&EncryptedBool<T>]],
    ) -> Result<Vec<EncryptedBool<T>>, IntegerError> {
        if lists.iter().any(|list| list.is_empty()) {
            return Err(IntegerError::Empty);
        }
        let blocks = lists
            .iter()
            .map(|list| list.iter().map(|bit| bit.block.clone()).collect())
            .collect();
        Ok(self
            .all_of(blocks)
            .into_iter()
            .map(|block| EncryptedBool { block })
            .collect())
    }

    fn of_sum(
        &self,
        pairs: &[(&EncryptedBool<T>, &EncryptedBool<T>)],
        f: impl Fn(u64) -> bool,
    ) -> Vec<EncryptedBool<T>> {
        let table = self.table(|ones| i64::from(f(ones)));
        // Every truth value comes out of a bootstrap at noise level 1, `not` keeps it.
        let jobs = pairs
            .iter()
            .map(|(a, b)| {
                let mut sum = a.block.combination();
                sum.add_assign(&b.block.combination());
                (sum, &table, 1)
            })
            .collect();
        self.look_up(jobs)
            .into_iter()
            .map(|block| EncryptedBool { block })
            .collect()
    }

    /// The conjunction of every list of bits: as many at a time as fit one bootstrap.
    /// A list of one is itself.
    pub(super) fn all_of(&self, mut lists: Vec<Vec<Block<T>>>) -> Vec<Block<T>> {
        let group_len = (self.encoding.block_modulus() - 1).min(self.max_noise_level.into());
        let all_ones: Vec<_> = (0..=group_len)
            .map(|len| self.table(|ones| i64::from(ones == len)))
            .collect();
        while lists.iter().any(|list| list.len() > 1) {
            let mut places = Vec::new();
            let mut jobs = Vec::new();
            for (l, list) in lists
                .iter_mut()
                .enumerate()
                .filter(|(_, list)| list.len() > 1)
            {
                for group in list.chunks(group_len as usize) {
                    let mut sum = group[0].clone();
                    group[1..].iter().for_each(|bit| sum.add_assign(bit));
                    places.push(l);
                    jobs.push((sum.combination(), &all_ones[group.len()], 1));
                }
                list.clear();
            }
            for (l, block) in places.into_iter().zip(self.look_up(jobs)) {
                lists[l].push(block);
            }
        }
        lists.into_iter().flatten().collect()
    }
}
