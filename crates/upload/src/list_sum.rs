//! Sums of many uploads of the same columns, as GLWE ciphertexts.
//!
//! GLWE ciphertexts under one key are added coefficient by coefficient, so the sum of compact columns over
//! uploads costs no more than reading them. [`ColumnListSum`] expands masks and unpacks bodies straight
//! into its sum. It takes any number of uploads, one after another, in the memory of one. Uploads of
//! devices with keys of their own are added key by key ([`SumsByKey`]), because a key switch of the sum adds
//! its noise once, and one of every upload as often.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rayon::prelude::*;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::random::add_uniform;
use tfhe_sbc_core::wire::bits::unpack_add;
use tfhe_sbc_core::wire::columns::{ColumnList, ElementEncoding, ListMasks, Run};
use thiserror::Error;

/// The reason why a list is not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ListSumError {
    /// The list has other parameters than the sum.
    #[error("an upload has other parameters than those before it: sum them apart")]
    Parameters,
    /// The list has other segments than the sum.
    #[error("an upload has other columns, encodings or rows than those before it: sum them apart")]
    Segments,
    /// The list is under another key than the sum.
    #[error("an upload is under another key than those before it: sum them apart")]
    Key,
    /// The headroom of a compact column has no place for more uploads.
    #[error(
        "the headroom of the columns has place for sums of {most} uploads: sum fewer, or declare \
         more headroom"
    )]
    Full {
        /// The largest number of uploads.
        most: u64,
    },
    /// The list has radix blocks only, whose sums need bootstraps.
    #[error("the upload has no compact column: radix blocks are not summed in this way")]
    NoCompactColumn,
}

/// The sum of column lists of the same segments under one key.
///
/// All columns are added. The sums of the compact ones are exact as far as their encodings permit; those of
/// radix blocks leave their carry space after a few uploads and then mean nothing.
#[derive(Clone, Debug)]
pub struct ColumnListSum {
    parameters: Parameters,
    key: KeyFingerprint,
    table: Vec<u8>,
    runs: Vec<Run>,
    sums: Vec<GlweCiphertext<u64>>,
    count: u64,
    most: u64,
}

impl ColumnListSum {
    /// Returns the sum of no list, to which lists with the segments and the key of `list` can be added:
    /// `2^h` of them, if the compact column with the least headroom has `h` bits.
    ///
    /// # Errors
    /// If `list` has no compact column.
    pub fn like(list: &ColumnList<'_>) -> Result<Self, ListSumError> {
        let headroom = list
            .segments()
            .filter_map(|segment| match segment.encoding {
                ElementEncoding::Radix => None,
                ElementEncoding::Compact(encoding) => Some(encoding.headroom()),
            });
        let most = 1 << headroom.min().ok_or(ListSumError::NoCompactColumn)?;
        let (dimension, size) = list.glwe_shape();
        let zeros = vec![0; (dimension.0 + 1) * size.get()];
        let zero = GlweCiphertext::from_vec(zeros, size);
        Ok(Self {
            parameters: *list.parameters(),
            key: list.key(),
            table: list.table().to_vec(),
            runs: list.runs().map(|(run, _)| run).collect(),
            sums: zero.map_or_else(Vec::new, |zero| vec![zero; list.ciphertext_count()]),
            count: 0,
            most,
        })
    }

    /// Adds a list. The time does not depend on the values.
    ///
    /// # Errors
    /// If the list does not belong to the sum, or the headroom has no place for it. The sum is
    /// unchanged then.
    pub fn add(&mut self, list: &ColumnList<'_>) -> Result<(), ListSumError> {
        self.check(list)?;
        self.check_place(1)?;
        self.add_checked(list);
        Ok(())
    }

    /// Adds lists on all threads of the current rayon pool, each into a sum of its own.
    ///
    /// # Errors
    /// If a list does not belong to the sum, or the headroom has no place for all. The sum is
    /// unchanged then.
    pub fn add_all(&mut self, lists: &[ColumnList<'_>]) -> Result<(), ListSumError> {
        lists.iter().try_for_each(|list| self.check(list))?;
        self.check_place(lists.len() as u64)?;
        let parts = lists.par_chunks(lists.len().div_ceil(rayon::current_num_threads()).max(1));
        let empty = &self.empty();
        let parts = parts.map(|lists| {
            let mut part = empty.clone();
            lists.iter().for_each(|list| part.add_checked(list));
            part
        });
        for part in parts.collect::<Vec<_>>() {
            self.add_part(&part);
        }
        Ok(())
    }

    /// Adds another sum, for instance that of another thread.
    ///
    /// # Errors
    /// If it is of other lists, or the headroom has no place for both. The sum is unchanged then.
    pub fn merge(&mut self, other: &Self) -> Result<(), ListSumError> {
        self.check_shape(&other.parameters, other.key, &other.table)?;
        self.check_place(other.count)?;
        self.add_part(other);
        Ok(())
    }

    /// The key that the sum is under.
    pub fn key(&self) -> KeyFingerprint {
        self.key
    }

    /// The number of lists that were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest number of lists, for which the headroom of all compact columns suffices.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The runs of the lists: the places of the columns in the ciphertexts.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The sums, one for each ciphertext of a list. Coefficients behind the last run have no meaning.
    pub fn ciphertexts(&self) -> &[GlweCiphertext<u64>] {
        &self.sums
    }

    /// The sums, one for each ciphertext of a list.
    pub fn into_ciphertexts(self) -> Vec<GlweCiphertext<u64>> {
        self.sums
    }

    fn empty(&self) -> Self {
        let mut empty = self.clone();
        empty.count = 0;
        for sum in &mut empty.sums {
            sum.as_mut_slice().fill(0);
        }
        empty
    }

    fn check(&self, list: &ColumnList<'_>) -> Result<(), ListSumError> {
        self.check_shape(list.parameters(), list.key(), list.table())
    }

    fn check_shape(
        &self,
        parameters: &Parameters,
        key: KeyFingerprint,
        table: &[u8],
    ) -> Result<(), ListSumError> {
        let check = |ok: bool, error| if ok { Ok(()) } else { Err(error) };
        check(self.parameters == *parameters, ListSumError::Parameters)?;
        check(self.table == table, ListSumError::Segments)?;
        check(self.key == key, ListSumError::Key)
    }

    fn check_place(&self, more: u64) -> Result<(), ListSumError> {
        match self.count + more <= self.most {
            true => Ok(()),
            false => Err(ListSumError::Full { most: self.most }),
        }
    }

    fn add_checked(&mut self, list: &ColumnList<'_>) {
        let size = self.parameters.polynomial_size().get();
        let each_mask = list.masks_len();
        let mut rest = list.ciphertext_bytes();
        for run in &self.runs {
            let sum = self.sums[run.polynomial].as_mut_slice();
            let (masks, body) = sum.split_at_mut(sum.len() - size);
            if run.start == 0 {
                let (packed, behind) = rest.split_at(each_mask);
                match list.masks() {
                    ListMasks::Seeded(expander, seed) => {
                        let mut stream = expander.mask_stream(&seed, run.polynomial as u32);
                        add_uniform(&mut stream, masks);
                    }
                    ListMasks::Sent { mask_bits } => unpack_add(packed, mask_bits, masks),
                }
                rest = behind;
            }
            let (packed, behind) = rest.split_at(run.packed_len());
            unpack_add(packed, run.body_bits, &mut body[run.start..][..run.count]);
            rest = behind;
        }
        self.count += 1;
    }

    fn add_part(&mut self, part: &Self) {
        add_ciphertexts(&mut self.sums, &part.sums);
        self.count += part.count;
    }
}

/// The sums of column lists of the same segments under several keys, one sum for each key.
#[derive(Clone, Debug, Default)]
pub struct SumsByKey {
    sums: HashMap<KeyFingerprint, ColumnListSum>,
    count: u64,
}

impl SumsByKey {
    /// Returns the sum of no list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a list to the sum of its key.
    ///
    /// # Errors
    /// If the list has other segments or parameters than those before it, or the headroom has no place for
    /// one more under any key: the sums are added in the end. The sums are unchanged then.
    pub fn add(&mut self, list: &ColumnList<'_>) -> Result<(), ListSumError> {
        if let Some(any) = self.sums.values().next() {
            any.check_shape(list.parameters(), any.key, list.table())?;
            if self.count >= any.most {
                return Err(ListSumError::Full { most: any.most });
            }
        }
        let sum = match self.sums.entry(list.key()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(ColumnListSum::like(list)?),
        };
        sum.add(list)?;
        self.count += 1;
        Ok(())
    }

    /// The number of lists that were added, under all keys.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of each key.
    pub fn sums(&self) -> impl Iterator<Item = &ColumnListSum> {
        self.sums.values()
    }

    /// Brings the sum of each key under one key by `switch`, which replaces ciphertexts in place, and adds
    /// them. The sums of no list are no ciphertexts.
    ///
    /// # Errors
    /// The first error of `switch`.
    pub fn switched<E>(
        self,
        mut switch: impl FnMut(KeyFingerprint, &mut [GlweCiphertext<u64>]) -> Result<(), E>,
    ) -> Result<Vec<GlweCiphertext<u64>>, E> {
        let mut total: Vec<GlweCiphertext<u64>> = Vec::new();
        for (key, sum) in self.sums {
            let mut sums = sum.into_ciphertexts();
            switch(key, &mut sums)?;
            match total.is_empty() {
                true => total = sums,
                false => add_ciphertexts(&mut total, &sums),
            }
        }
        Ok(total)
    }
}

fn add_ciphertexts(sums: &mut [GlweCiphertext<u64>], terms: &[GlweCiphertext<u64>]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        for (sum, &term) in sum.as_mut_slice().iter_mut().zip(term.as_slice()) {
            *sum = sum.wrapping_add(term);
        }
    }
}
