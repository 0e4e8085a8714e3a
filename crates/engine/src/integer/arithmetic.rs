//! Addition, subtraction, negation and multiplication by clear numbers, all mod
//! `message_modulus^blocks`.

use tfhe_sbc_core::glwe_product::MaskTorus;

use super::sum::Columns;
use super::{Block, Integer, IntegerError, Integers, Pair, Signedness, check_widths};

impl<T: MaskTorus> Integers<'_, '_, T> {
    /// `a + b`.
    pub fn add<S: Signedness>(
        &self,
        a: &Integer<S, T>,
        b: &Integer<S, T>,
    ) -> Result<Integer<S, T>, IntegerError> {
        Ok(self.add_batch(&[(a, b)])?.remove(0))
    }

    /// `a + b` for every pair.
    pub fn add_batch<S: Signedness>(
        &self,
        pairs: &[Pair<'_, S, T>],
    ) -> Result<Vec<Integer<S, T>>, IntegerError> {
        check_widths(pairs)?;
        let sums = pairs
            .iter()
            .map(|&(a, b)| self.columns_of(&[a, b], a.blocks.len()))
            .collect();
        Ok(self.add_columns(sums))
    }

    /// `a - b`.
    pub fn sub<S: Signedness>(
        &self,
        a: &Integer<S, T>,
        b: &Integer<S, T>,
    ) -> Result<Integer<S, T>, IntegerError> {
        Ok(self.sub_batch(&[(a, b)])?.remove(0))
    }

    /// `a - b` for every pair, as `a + ¬b + 1`.
    pub fn sub_batch<S: Signedness>(
        &self,
        pairs: &[Pair<'_, S, T>],
    ) -> Result<Vec<Integer<S, T>>, IntegerError> {
        check_widths(pairs)?;
        let sums = pairs
            .iter()
            .map(|&(a, b)| {
                let mut columns = self.columns_of(&[a, &self.complement(b)], a.blocks.len());
                columns[0].push(self.trivial_block(1));
                columns
            })
            .collect();
        Ok(self.add_columns(sums))
    }

    /// `-a`.
    pub fn neg<S: Signedness>(&self, a: &Integer<S, T>) -> Result<Integer<S, T>, IntegerError> {
        self.sub(&self.trivial(0, a.blocks.len()), a)
    }

    /// `a + scalar`.
    pub fn scalar_add<S: Signedness>(
        &self,
        a: &Integer<S, T>,
        scalar: i64,
    ) -> Result<Integer<S, T>, IntegerError> {
        self.add(a, &self.trivial(scalar, a.blocks.len()))
    }

    /// `a - scalar`.
    pub fn scalar_sub<S: Signedness>(
        &self,
        a: &Integer<S, T>,
        scalar: i64,
    ) -> Result<Integer<S, T>, IntegerError> {
        self.sub(a, &self.trivial(scalar, a.blocks.len()))
    }

    /// `a · scalar`: the digits of the scalar are weights of shifted copies of `a`.
    pub fn scalar_mul<S: Signedness>(
        &self,
        a: &Integer<S, T>,
        scalar: i64,
    ) -> Result<Integer<S, T>, IntegerError> {
        let width = a.blocks.len();
        if width == 0 {
            return Err(IntegerError::Empty);
        }
        // A block times its largest weight must still fit a bootstrap.
        let limit = (self.max_noise_level / (self.encoding.message_modulus() as u32 - 1)).max(1);
        let a = &self.with_noise_at_most([a], limit)[0];
        let digits = self.trivial::<S>(scalar, width);
        let mut columns: Columns<T> = vec![Vec::new(); width];
        for (shift, digit) in digits.blocks.iter().enumerate() {
            let weight = digit.degree;
            if weight == 0 {
                continue;
            }
            for (column, block) in columns[shift..].iter_mut().zip(&a.blocks) {
                column.push(scaled(block, weight));
            }
        }
        Ok(self.add_columns(vec![columns]).remove(0))
    }

    /// `message_modulus - 1 - block` in every block: `-a - 1` mod the integer's modulus.
    fn complement<S: Signedness>(&self, a: &Integer<S, T>) -> Integer<S, T> {
        let top = self.encoding.message_modulus() - 1;
        Integer::new(
            a.blocks
                .iter()
                .map(|block| {
                    let mut lwe = block.lwe.clone();
                    lwe.neg_assign();
                    lwe.add_plaintext(self.encoding.encode(top as i64));
                    Block {
                        lwe,
                        degree: top,
                        noise_level: block.noise_level,
                    }
                })
                .collect(),
        )
    }
}

fn scaled<T: MaskTorus>(block: &Block<T>, weight: u64) -> Block<T> {
    let mut lwe = block.lwe.clone();
    lwe.mul_assign(weight as i64);
    Block {
        lwe,
        degree: block.degree * weight,
        noise_level: block.noise_level * weight as u32,
    }
}
