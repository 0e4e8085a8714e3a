//! The programmable bootstrap, in batches and in both orders.
//!
//! Write `LWE_N` for ciphertexts under the big key, of dimension `k·N` over the torus `T`, and `LWE_n` for
//! those under the small key, of dimension `n` mod 2^32. A *lookup* takes `LWE_n` to `LWE_N`:
//!
//! 1. modulus switch: `LWE_n` to exponents mod `2N` ([`modulus_switch`](crate::modulus_switch));
//! 2. blind rotation of the lookup table by the exponents ([`blind_rotate`](crate::blind_rotate));
//! 3. sample extraction of a coefficient for each function of the table.
//!
//! The orders put the key switch, which takes `LWE_N` to `LWE_n` (`key_switch`),
//! before or after the lookup:
//!
//! | method | steps | from | to |
//! |---|---|---|---|
//! | [`Evaluator::bootstrap_batch`] | key switch, lookup | `LWE_N` | `LWE_N` |
//! | [`Evaluator::bootstrap_key_switch_batch`] | lookup, key switch | `LWE_n` | `LWE_n` |
//! | [`Evaluator::bootstrap_switched_batch`] | lookup | `LWE_n` | `LWE_N` |

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::sample_extract::sample_extract_into;
use tfhe_sbc_core::torus::Torus;

use crate::blind_rotate::{blind_rotate_batch, blind_rotate_together};
use crate::cache_aligned::cache_aligned;
use crate::lookup_table::LookupTable;
use crate::modulus_switch::modulus_switch_coarsely_into;
use crate::seeded_rows::Progress;
use crate::server_key::ServerKey;

/// The largest number of ciphertexts that one thread advances in one pass over the bootstrapping key.
pub const LOCKSTEP: usize = 16;

/// The largest number of batches of full lockstep in a round: enough to balance the threads.
pub(crate) const BATCHES: usize = 4;

/// The largest number of bootstraps between two moments at which an evaluation can be cancelled, on
/// the threads of the current rayon pool.
pub fn round_len() -> usize {
    BATCHES * rayon::current_num_threads() * LOCKSTEP
}

/// The largest number of bootstraps whose intermediate ciphertexts are in memory at once: two full passes over the
/// bootstrapping key for each thread of the current rayon pool, and at least 512, so that cutting a batch costs little time.
fn jobs_at_a_time() -> usize {
    (2 * rayon::current_num_threads() * LOCKSTEP).max(512)
}

/// A server key in use: the homomorphic operations are methods of it. It counts its bootstraps.
pub struct Evaluator<'k, T> {
    key: &'k ServerKey<T>,
    bootstraps: AtomicU64,
    observer: Option<Progress<'k>>,
}

/// One bootstrap of a batch: a ciphertext, and the table to look it up in.
pub struct Job<'a, T, L> {
    /// The ciphertext, under the big key (`L = T`), or under the small key (`L = u32`) if no key
    /// switch comes first.
    pub input: LweCiphertext<L>,
    /// The lookup table, which may have several functions.
    pub table: &'a LookupTable<T>,
}

/// Returns the number of ciphertexts that each pass over the bootstrapping key advances when `threads`
/// threads share a batch of `jobs` ciphertexts: the number of passes is as small as possible, and the
/// same for each thread. Several threads with a single job make one pass together.
pub fn lockstep(jobs: usize, threads: usize) -> usize {
    let passes = jobs.div_ceil(threads * LOCKSTEP).max(1) * threads;
    jobs.div_ceil(passes).max(1)
}

/// The reason for which a batch is refused. No part of a refused batch has been computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// A ciphertext has another dimension than the key.
    #[error(
        "ciphertext {index} of the batch has dimension {found} instead of {expected}: it is under \
         another key, or for the other order of key switch and bootstrap"
    )]
    Dimension {
        /// The place of the ciphertext in the batch.
        index: usize,
        /// The dimension of the key.
        expected: usize,
        /// The dimension of the ciphertext.
        found: usize,
    },
    /// A lookup table has another polynomial size than the key.
    #[error(
        "the lookup table of ciphertext {index} has {found} coefficients instead of {expected}: \
         make one for the parameter set of this server key"
    )]
    TableSize {
        /// The place of the ciphertext in the batch.
        index: usize,
        /// The polynomial size of the key.
        expected: usize,
        /// The polynomial size of the table.
        found: usize,
    },
    /// A lookup table was made for blocks with another number of values.
    #[error(
        "the lookup table of ciphertext {index} is for blocks of {found} values instead of \
         {expected}: make one for the parameter set of this server key"
    )]
    TableBlocks {
        /// The place of the ciphertext in the batch.
        index: usize,
        /// The number of values of the key's blocks.
        expected: u64,
        /// The number of values of the table's blocks.
        found: u64,
    },
}

impl<'k, T: ProductTorus> Evaluator<'k, T> {
    /// Returns an evaluator that uses `key`.
    pub fn new(key: &'k ServerKey<T>) -> Self {
        Self {
            key,
            bootstraps: AtomicU64::new(0),
            observer: None,
        }
    }

    /// Returns an evaluator that also calls `observer` after every few bootstraps, with their number.
    pub fn with_observer(key: &'k ServerKey<T>, observer: Progress<'k>) -> Self {
        Self {
            observer: Some(observer),
            ..Self::new(key)
        }
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> &Parameters {
        self.key.parameters()
    }

    /// The fingerprint of the key set.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.key.fingerprint()
    }

    /// The number of bootstraps done so far.
    pub fn bootstrap_count(&self) -> u64 {
        self.bootstraps.load(Ordering::Relaxed)
    }

    /// Bootstraps ciphertexts under the big key, key switch first. For each ciphertext, the outputs are
    /// encryptions under the big key of the values of the table's functions at its phase, in the order
    /// of the functions. The result does not depend on the number of threads or on how the work
    /// is cut.
    ///
    /// # Errors
    /// If a ciphertext is not under the big key, or a table is for another parameter set.
    pub fn bootstrap_batch(
        &self,
        jobs: &[Job<'_, T, T>],
    ) -> Result<Vec<LweCiphertext<T>>, BootstrapError> {
        self.check_jobs(jobs, self.parameters().big_lwe_dimension())?;
        Ok(self.bootstrap_all(jobs))
    }

    /// Does the same as [`bootstrap_batch`](Self::bootstrap_batch) for jobs that are known to fit
    /// the key.
    ///
    /// # Panics
    /// If a job does not fit.
    pub(crate) fn bootstrap_all(&self, jobs: &[Job<'_, T, T>]) -> Vec<LweCiphertext<T>> {
        self.look_up_all(jobs, |jobs| {
            let inputs: Vec<&[T]> = jobs.iter().map(|job| job.input.as_slice()).collect();
            self.key_switch(&inputs)
        })
    }

    /// Bootstraps ciphertexts under the small key, lookup first. The outputs are as those of
    /// [`bootstrap_batch`](Self::bootstrap_batch), but under the small key.
    ///
    /// The noise level of the shipped sets is for the other order. In this order the noise of the key
    /// switch is in every input and grows with the weights, so inputs must be single outputs of
    /// this function or fresh (noise level 1).
    ///
    /// # Errors
    /// If a ciphertext is not under the small key, or a table is for another parameter set.
    pub fn bootstrap_key_switch_batch(
        &self,
        jobs: &[Job<'_, T, u32>],
    ) -> Result<Vec<LweCiphertext<u32>>, BootstrapError> {
        Ok(self.switch_all(&self.bootstrap_switched_batch(jobs)?))
    }

    /// Looks up ciphertexts under the small key. The outputs are under the big key, the same as those of
    /// [`bootstrap_batch`](Self::bootstrap_batch) after its key switch. With this, an output of
    /// [`key_switch_batch`](Self::key_switch_batch), such as a result on its way to the key owner,
    /// can be computed on again.
    ///
    /// # Errors
    /// If a ciphertext is not under the small key, or a table is for another parameter set.
    pub fn bootstrap_switched_batch(
        &self,
        jobs: &[Job<'_, T, u32>],
    ) -> Result<Vec<LweCiphertext<T>>, BootstrapError> {
        self.check_jobs(jobs, self.parameters().lwe_dimension())?;
        Ok(self.look_up_all(jobs, |jobs| {
            let inputs = jobs.iter().flat_map(|job| job.input.as_slice());
            inputs.copied().collect()
        }))
    }

    /// Switches ciphertexts from the big key to the small one, without a bootstrap.
    ///
    /// # Errors
    /// If a ciphertext is not under the big key.
    pub fn key_switch_batch(
        &self,
        inputs: &[LweCiphertext<T>],
    ) -> Result<Vec<LweCiphertext<u32>>, BootstrapError> {
        self.check_big(inputs)?;
        Ok(self.switch_all(inputs))
    }

    /// Does the same as [`key_switch_batch`](Self::key_switch_batch) for ciphertexts that are known
    /// to fit the key.
    ///
    /// # Panics
    /// If a ciphertext does not fit.
    pub(crate) fn switch_all(&self, inputs: &[LweCiphertext<T>]) -> Vec<LweCiphertext<u32>> {
        let inputs: Vec<&[T]> = inputs.iter().map(LweCiphertext::as_slice).collect();
        self.key_switch(&inputs)
            .chunks_exact(self.parameters().lwe_dimension().0 + 1)
            .filter_map(|lwe| LweCiphertext::from_vec(lwe.to_vec()))
            .collect()
    }

    /// Checks that ciphertexts are under the big key.
    ///
    /// # Errors
    /// If one is not.
    pub(crate) fn check_big(&self, inputs: &[LweCiphertext<T>]) -> Result<(), BootstrapError> {
        check_dimensions(inputs, self.parameters().big_lwe_dimension())
    }

    /// Checks the dimensions of the ciphertexts, and that the tables are for this parameter set.
    fn check_jobs<L: Torus>(
        &self,
        jobs: &[Job<'_, T, L>],
        dimension: LweDimension,
    ) -> Result<(), BootstrapError> {
        check_dimensions(jobs.iter().map(|job| &job.input), dimension)?;
        let size = self.parameters().polynomial_size().get();
        let blocks = self.parameters().block_encoding().block_modulus();
        for (index, job) in jobs.iter().enumerate() {
            let found = job.table.as_slice().len();
            if found != size {
                return Err(BootstrapError::TableSize {
                    index,
                    expected: size,
                    found,
                });
            }
            if let Some(found) = job.table.block_modulus().filter(|&found| found != blocks) {
                return Err(BootstrapError::TableBlocks {
                    index,
                    expected: blocks,
                    found,
                });
            }
        }
        Ok(())
    }

    /// The key switch of ciphertexts under the big key. The outputs lie one after the other, `n + 1`
    /// scalars each.
    fn key_switch(&self, inputs: &[&[T]]) -> Vec<u32> {
        let mut small = vec![0; inputs.len() * (self.parameters().lwe_dimension().0 + 1)];
        self.key.key_switch.switch_batch_into(inputs, &mut small);
        small
    }

    /// The lookups of a batch, [`jobs_at_a_time`] at once. `small_of` makes the inputs of some jobs under the
    /// small key, `n + 1` scalars each.
    fn look_up_all<L>(
        &self,
        jobs: &[Job<'_, T, L>],
        small_of: impl Fn(&[Job<'_, T, L>]) -> Vec<u32>,
    ) -> Vec<LweCiphertext<T>> {
        let mut outputs = Vec::with_capacity(jobs.len());
        for jobs in jobs.chunks(jobs_at_a_time()) {
            let tables: Vec<&LookupTable<T>> = jobs.iter().map(|job| job.table).collect();
            outputs.extend(self.look_up(&small_of(jobs), &tables));
        }
        outputs
    }

    /// One lookup for each table: modulus switch, blind rotation and sample extraction. `small` holds
    /// the inputs under the small key, `n + 1` scalars each.
    fn look_up(&self, small: &[u32], tables: &[&LookupTable<T>]) -> Vec<LweCiphertext<T>> {
        let big = self.parameters().big_lwe_dimension();
        let mut outputs = vec![LweCiphertext::trivial(big, T::ZERO); function_count(tables)];
        match (tables, rayon::current_num_threads()) {
            (&[table], threads @ 2..) => self.look_up_together(small, table, &mut outputs, threads),
            (_, threads) => self.look_up_in_lockstep(small, tables, &mut outputs, threads),
        }
        outputs
    }

    /// One lookup on several threads, which share its blind rotation.
    fn look_up_together(
        &self,
        small: &[u32],
        table: &LookupTable<T>,
        outputs: &mut [LweCiphertext<T>],
        threads: usize,
    ) {
        let mut acc = cache_aligned(T::ZERO, self.accumulator_len());
        blind_rotate_together(
            self.parameters(),
            &self.key.bootstrap,
            table,
            &self.switch_modulus(small, &[table]),
            &mut acc,
            threads,
        );
        self.extract_into(outputs, &[table], &acc);
    }

    /// Lookups on all threads. Each thread has some ciphertexts at a time, all of which one pass over
    /// the bootstrapping key advances.
    fn look_up_in_lockstep(
        &self,
        small: &[u32],
        tables: &[&LookupTable<T>],
        mut outputs: &mut [LweCiphertext<T>],
        threads: usize,
    ) {
        let lockstep = lockstep(tables.len(), threads);
        let lwe_len = self.parameters().lwe_dimension().0 + 1;
        let inputs = small.chunks(lockstep * lwe_len);
        let mut passes = Vec::with_capacity(tables.len().div_ceil(lockstep));
        for (tables, small) in tables.chunks(lockstep).zip(inputs) {
            let (own, rest) = outputs.split_at_mut(function_count(tables));
            outputs = rest;
            passes.push((own, tables, small));
        }
        let key = &self.key.bootstrap;
        passes.into_par_iter().for_each(|(outputs, tables, small)| {
            let mut accs = cache_aligned(T::ZERO, tables.len() * self.accumulator_len());
            blind_rotate_batch(
                self.parameters(),
                key,
                tables,
                &self.switch_modulus(small, tables),
                &mut accs,
                &mut key.product().scratch_of_two(),
            );
            self.extract_into(outputs, tables, &accs);
        });
    }

    /// The modulus switch of ciphertexts under the small key, one for each table: `n + 1` exponents mod
    /// `2N` for each.
    fn switch_modulus(&self, small: &[u32], tables: &[&LookupTable<T>]) -> Vec<u32> {
        let parameters = self.parameters();
        let lwe_len = parameters.lwe_dimension().0 + 1;
        let mut exponents = vec![0; small.len()];
        let inputs = small.chunks_exact(lwe_len).zip(tables);
        for (exponents, (lwe, table)) in exponents.chunks_exact_mut(lwe_len).zip(inputs) {
            modulus_switch_coarsely_into(
                exponents,
                lwe,
                (parameters.polynomial_size(), table.coarseness_log2()),
                parameters.modulus_switch(),
                parameters.lwe_block_size(),
            );
        }
        exponents
    }

    /// Extracts the outputs of every table from its rotated accumulator, and counts the bootstraps.
    fn extract_into(
        &self,
        outputs: &mut [LweCiphertext<T>],
        tables: &[&LookupTable<T>],
        accs: &[T],
    ) {
        let size = self.parameters().polynomial_size().get();
        let rotated = tables.iter().zip(accs.chunks_exact(self.accumulator_len()));
        let places = rotated.flat_map(|(table, acc)| table.extracted().map(move |at| (acc, at)));
        for (output, (acc, at)) in outputs.iter_mut().zip(places) {
            sample_extract_into(output.as_mut_slice(), acc, size, at);
        }
        let bootstraps = tables.len() as u64;
        self.bootstraps.fetch_add(bootstraps, Ordering::Relaxed);
        if let Some(observer) = self.observer {
            observer(bootstraps);
        }
    }

    /// The number of scalars of a GLWE ciphertext.
    fn accumulator_len(&self) -> usize {
        self.parameters().big_lwe_dimension().0 + self.parameters().polynomial_size().get()
    }
}

/// The number of functions of all tables together.
fn function_count<T: ProductTorus>(tables: &[&LookupTable<T>]) -> usize {
    tables.iter().map(|table| table.function_count()).sum()
}

/// Checks that all ciphertexts have the dimension `expected`.
fn check_dimensions<'c, L: Torus + 'c>(
    inputs: impl IntoIterator<Item = &'c LweCiphertext<L>>,
    LweDimension(expected): LweDimension,
) -> Result<(), BootstrapError> {
    for (index, input) in inputs.into_iter().enumerate() {
        let found = input.dimension().0;
        if found != expected {
            return Err(BootstrapError::Dimension {
                index,
                expected,
                found,
            });
        }
    }
    Ok(())
}
