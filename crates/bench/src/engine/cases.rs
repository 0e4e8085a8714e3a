//! Ciphertexts under the big key, the table that they are looked up in, and the
//! plaintexts before and after.

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_engine::bootstrap::LOCKSTEP;
use tfhe_sbc_engine::lookup_table::LookupTable;

use crate::error::BenchError;
use crate::keys::Keys;

/// The number of ciphertexts with known answers that comparisons with the peer have at least.
pub(super) const CASES: usize = 64;

/// Returns the sizes of the batches that are timed on a machine with this many cores: 1, 2, 4 and so on, up to
/// one that has [`CASES`] ciphertexts and [`LOCKSTEP`] for every core.
pub(super) fn batch_sizes(cores: usize) -> Vec<usize> {
    let largest = CASES.max(cores * LOCKSTEP).next_power_of_two();
    std::iter::successors(Some(1), |size| Some(size * 2))
        .take_while(|&size| size <= largest)
        .collect()
}

/// Ciphertexts with their lookup table and their plaintexts, for the largest batch.
pub(super) struct Cases<T> {
    /// The table of all of them.
    pub(super) table: LookupTable<T>,
    /// The ciphertexts.
    pub(super) inputs: Vec<LweCiphertext<T>>,
    /// The plaintexts of the inputs.
    pub(super) before: Vec<T>,
    /// The plaintexts of what comes out of the table.
    pub(super) after: Vec<T>,
}

impl Cases<u64> {
    /// Squares mod the block modulus of encrypted blocks.
    pub(super) fn squares(keys: &mut Keys<u64>, count: usize) -> Result<Self, BenchError> {
        let encoding = keys.parameters().block_encoding();
        let modulus = encoding.block_modulus();
        let square = |x: u64| (x * x % modulus) as i64;
        let table = LookupTable::from_fn(keys.parameters(), square);
        let values = (0..count as u64).map(|i| i % modulus);
        let before = values.clone().map(|x| encoding.encode(x as i64)).collect();
        let after = values.map(|x| encoding.encode(square(x))).collect();
        Self::encrypt(keys, table, before, after)
    }
}

impl<T: ProductTorus> Cases<T> {
    /// Signs of encrypted bits.
    pub(super) fn signs(keys: &mut Keys<T>, count: usize) -> Result<Self, BenchError> {
        let bit = |i: usize| boolean::encode::<T>(i.is_multiple_of(3));
        let table = LookupTable::sign(keys.parameters().polynomial_size(), boolean::encode(true));
        let plaintexts: Vec<T> = (0..count).map(bit).collect();
        Self::encrypt(keys, table, plaintexts.clone(), plaintexts)
    }

    fn encrypt(
        keys: &mut Keys<T>,
        table: LookupTable<T>,
        before: Vec<T>,
        after: Vec<T>,
    ) -> Result<Self, BenchError> {
        let inputs: Result<_, _> = before
            .iter()
            .map(|&plaintext| keys.encrypt(plaintext))
            .collect();
        Ok(Self {
            table,
            inputs: inputs?,
            before,
            after,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_double_until_every_core_has_full_lockstep() {
        assert_eq!(batch_sizes(2), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(batch_sizes(4), batch_sizes(2));
        assert_eq!(batch_sizes(6), [1, 2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(batch_sizes(8), batch_sizes(6));
    }
}
