//! The programmable bootstrap, in batches and in both orders.
//!
//! Key switch first ([`Evaluator::bootstrap_batch`]): big key → small key → rotate →
//! big key. Bootstrap first ([`Evaluator::bootstrap_key_switch_batch`]): small key →
//! rotate → big key → small key. What is under the small key comes back under the big one by
//! [`Evaluator::bootstrap_switched_batch`].

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::sample_extract::sample_extract_into;
use tfhe_sbc_core::torus::Torus;

use crate::blind_rotate::{blind_rotate_batch, blind_rotate_together};
use crate::external_product::cache_aligned;
use crate::lookup_table::LookupTable;
use crate::modulus_switch::modulus_switch_into;
use crate::seeded_rows::Progress;
use crate::server_key::ServerKey;

/// Ciphertexts that one thread advances through one pass over the key at most.
pub(crate) const LOCKSTEP: usize = 8;

/// Bootstraps between which nothing of the previous ones is in memory but their outputs;
/// many more than threads times lockstep, so that cutting costs nothing.
const JOBS_AT_A_TIME: usize = 512;

/// A server key at work: everything homomorphic is a method of it. Counts the
/// bootstraps that it does.
pub struct Evaluator<'k, T> {
    key: &'k ServerKey<T>,
    bootstraps: AtomicU64,
    observer: Option<Progress<'k>>,
}

/// One bootstrap of a batch: the ciphertext and the table to look it up in.
pub struct Job<'a, T, L> {
    /// The ciphertext: under the big key, or under the small one (`L = u32`) for the
    /// order that bootstraps first.
    pub input: LweCiphertext<L>,
    /// The table.
    pub table: &'a LookupTable<T>,
}

/// Ciphertexts that each pass over the bootstrapping key advances when `threads` threads
/// share a batch of `jobs`: there are as few passes as possible, each thread has as many.
/// Several threads on a single job make one pass together.
pub fn lockstep(jobs: usize, threads: usize) -> usize {
    let passes = jobs.div_ceil(threads * LOCKSTEP).max(1) * threads;
    jobs.div_ceil(passes).max(1)
}

/// Why a batch is refused. Nothing of it has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// A ciphertext of another dimension.
    #[error(
        "ciphertext {index} of the batch has dimension {found} instead of {expected}: it is under \
         another key, or for the other order of key switch and bootstrap"
    )]
    Dimension {
        /// Its place in the batch.
        index: usize,
        /// The dimension of the key that it should be under.
        expected: usize,
        /// Its dimension.
        found: usize,
    },
    /// A lookup table of another polynomial size.
    #[error(
        "the lookup table of ciphertext {index} has {found} coefficients instead of {expected}: \
         make one for the parameter set of this server key"
    )]
    TableSize {
        /// The place of the ciphertext in the batch.
        index: usize,
        /// The polynomial size of the key.
        expected: usize,
        /// That of the table.
        found: usize,
    },
    /// A lookup table for other blocks.
    #[error(
        "the lookup table of ciphertext {index} is for blocks of {found} values instead of \
         {expected}: make one for the parameter set of this server key"
    )]
    TableBlocks {
        /// The place of the ciphertext in the batch.
        index: usize,
        /// Number of values of the key's blocks.
        expected: u64,
        /// Number of values of the table's.
        found: u64,
    },
}

impl<'k, T: MaskTorus> Evaluator<'k, T> {
    /// An evaluator of this key.
    pub fn new(key: &'k ServerKey<T>) -> Self {
        Self {
            key,
            bootstraps: AtomicU64::new(0),
            observer: None,
        }
    }

    /// An evaluator that tells somebody of its bootstraps as they are done.
    pub fn with_observer(key: &'k ServerKey<T>, observer: Progress<'k>) -> Self {
        Self {
            observer: Some(observer),
            ..Self::new(key)
        }
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        self.key.parameters()
    }

    /// Number of bootstraps so far.
    pub fn bootstrap_count(&self) -> u64 {
        self.bootstraps.load(Ordering::Relaxed)
    }

    /// Bootstraps ciphertexts under the big key: each comes back under the big key, as
    /// what its table has at its phase, once for each function of the table. The result
    /// does not depend on the number of threads or on how the batch is cut.
    ///
    /// # Errors
    /// A ciphertext that is not under the big key, or a table for another parameter set.
    pub fn bootstrap_batch(
        &self,
        jobs: &[Job<'_, T, T>],
    ) -> Result<Vec<LweCiphertext<T>>, BootstrapError> {
        self.check_inputs(
            jobs.iter().map(|job| &job.input),
            self.parameters().big_lwe_dimension(),
        )?;
        self.check_tables(jobs)?;
        Ok(self.bootstrap_all(jobs))
    }

    /// [`bootstrap_batch`](Self::bootstrap_batch) of what is known to fit.
    ///
    /// # Panics
    /// If something does not.
    pub(crate) fn bootstrap_all(&self, jobs: &[Job<'_, T, T>]) -> Vec<LweCiphertext<T>> {
        let mut outputs = Vec::with_capacity(jobs.len());
        for jobs in jobs.chunks(JOBS_AT_A_TIME) {
            let inputs: Vec<&[T]> = jobs.iter().map(|job| job.input.as_slice()).collect();
            let tables: Vec<&LookupTable<T>> = jobs.iter().map(|job| job.table).collect();
            outputs.extend(self.rotate_and_extract(&self.switch(&inputs), &tables));
        }
        outputs
    }

    /// Bootstraps ciphertexts under the small key: each comes back under the small key.
    ///
    /// The noise level of the shipped sets is for the other order. Here the key switch
    /// comes last, so its noise is in every input and grows with the weights: inputs
    /// must be single outputs of this function or fresh (noise level 1).
    ///
    /// # Errors
    /// A ciphertext that is not under the small key, or a table for another parameter set.
    pub fn bootstrap_key_switch_batch(
        &self,
        jobs: &[Job<'_, T, u32>],
    ) -> Result<Vec<LweCiphertext<u32>>, BootstrapError> {
        self.check_inputs(
            jobs.iter().map(|job| &job.input),
            self.parameters().lwe_dimension,
        )?;
        self.check_tables(jobs)?;
        let small: Vec<u32> = jobs
            .iter()
            .flat_map(|job| job.input.as_slice())
            .copied()
            .collect();
        let tables: Vec<&LookupTable<T>> = jobs.iter().map(|job| job.table).collect();
        Ok(self.switch_all(&self.rotate_and_extract(&small, &tables)))
    }

    /// Bootstraps ciphertexts under the small key: each comes back under the big key, as
    /// [`bootstrap_batch`](Self::bootstrap_batch) has it after its key switch. So what
    /// [`key_switch_batch`](Self::key_switch_batch) gave, such as a result on its way to the
    /// key owner, can be computed on again.
    ///
    /// # Errors
    /// A ciphertext that is not under the small key, or a table for another parameter set.
    pub fn bootstrap_switched_batch(
        &self,
        jobs: &[Job<'_, T, u32>],
    ) -> Result<Vec<LweCiphertext<T>>, BootstrapError> {
        self.check_inputs(
            jobs.iter().map(|job| &job.input),
            self.parameters().lwe_dimension,
        )?;
        self.check_tables(jobs)?;
        let mut outputs = Vec::with_capacity(jobs.len());
        for jobs in jobs.chunks(JOBS_AT_A_TIME) {
            let small: Vec<u32> = jobs
                .iter()
                .flat_map(|job| job.input.as_slice())
                .copied()
                .collect();
            let tables: Vec<&LookupTable<T>> = jobs.iter().map(|job| job.table).collect();
            outputs.extend(self.rotate_and_extract(&small, &tables));
        }
        Ok(outputs)
    }

    /// Switches ciphertexts from the big key to the small one, without bootstrapping.
    ///
    /// # Errors
    /// A ciphertext that is not under the big key.
    pub fn key_switch_batch(
        &self,
        inputs: &[LweCiphertext<T>],
    ) -> Result<Vec<LweCiphertext<u32>>, BootstrapError> {
        self.check_inputs(inputs.iter(), self.parameters().big_lwe_dimension())?;
        Ok(self.switch_all(inputs))
    }

    /// [`key_switch_batch`](Self::key_switch_batch) of what is known to fit.
    ///
    /// # Panics
    /// If something does not.
    pub(crate) fn switch_all(&self, inputs: &[LweCiphertext<T>]) -> Vec<LweCiphertext<u32>> {
        let inputs: Vec<&[T]> = inputs.iter().map(LweCiphertext::as_slice).collect();
        self.switch(&inputs)
            .chunks_exact(self.parameters().lwe_dimension.0 + 1)
            .filter_map(|lwe| LweCiphertext::from_vec(lwe.to_vec()))
            .collect()
    }

    fn check_inputs<'c, L: Torus + 'c>(
        &self,
        inputs: impl Iterator<Item = &'c LweCiphertext<L>>,
        LweDimension(expected): LweDimension,
    ) -> Result<(), BootstrapError> {
        for (index, input) in inputs.enumerate() {
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

    fn check_tables<L>(&self, jobs: &[Job<'_, T, L>]) -> Result<(), BootstrapError> {
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

    fn switch(&self, inputs: &[&[T]]) -> Vec<u32> {
        let mut small = vec![0; inputs.len() * (self.parameters().lwe_dimension.0 + 1)];
        self.key.key_switch.switch_batch_into(inputs, &mut small);
        small
    }

    fn rotate_and_extract(
        &self,
        small: &[u32],
        tables: &[&LookupTable<T>],
    ) -> Vec<LweCiphertext<T>> {
        let (key, parameters) = (&self.key.bootstrap, self.parameters());
        let lwe_len = parameters.lwe_dimension.0 + 1;
        let size = parameters.polynomial_size().get();
        let big = parameters.big_lwe_dimension();
        let acc_len = big.0 + size;

        let output_count = tables.iter().map(|table| table.function_count()).sum();
        let mut outputs = vec![LweCiphertext::trivial(big, T::ZERO); output_count];
        let threads = rayon::current_num_threads();
        let exponents = |lwe: &[u32]| {
            let mut exponents = vec![0; lwe.len()];
            let pairs = exponents
                .chunks_exact_mut(lwe_len)
                .zip(lwe.chunks_exact(lwe_len));
            for (exponents, lwe) in pairs {
                modulus_switch_into(
                    exponents,
                    lwe,
                    parameters.polynomial_size(),
                    parameters.modulus_switch,
                    parameters.lwe_block_size,
                );
            }
            exponents
        };
        let finish = |outputs: &mut [LweCiphertext<T>], tables: &[&LookupTable<T>], accs: &[T]| {
            let turned = tables.iter().zip(accs.chunks_exact(acc_len));
            let places = turned.flat_map(|(table, acc)| table.extracted().map(move |at| (acc, at)));
            for (output, (acc, at)) in outputs.iter_mut().zip(places) {
                sample_extract_into(output.as_mut_slice(), acc, size, at);
            }
            self.count(tables.len() as u64);
        };
        if let (&[table], 2..) = (tables, threads) {
            let mut acc = cache_aligned(T::ZERO, acc_len);
            let exponents = exponents(small);
            blind_rotate_together(parameters, key, table, &exponents, &mut acc, threads);
            finish(&mut outputs, tables, &acc);
            return outputs;
        }
        let lockstep = lockstep(tables.len(), threads);
        let mut rest = outputs.as_mut_slice();
        let mut chunks = Vec::with_capacity(tables.len().div_ceil(lockstep));
        for (tables, small) in tables
            .chunks(lockstep)
            .zip(small.chunks(lockstep * lwe_len))
        {
            let count = tables.iter().map(|table| table.function_count()).sum();
            let (outputs, others) = rest.split_at_mut(count);
            rest = others;
            chunks.push((outputs, tables, small));
        }
        chunks.into_par_iter().for_each(|(outputs, tables, small)| {
            let mut accs = cache_aligned(T::ZERO, tables.len() * acc_len);
            blind_rotate_batch(
                parameters,
                key,
                tables,
                &exponents(small),
                &mut accs,
                &mut key.product().scratch(),
            );
            finish(outputs, tables, &accs);
        });
        outputs
    }

    fn count(&self, bootstraps: u64) {
        self.bootstraps.fetch_add(bootstraps, Ordering::Relaxed);
        if let Some(observer) = self.observer {
            observer(bootstraps);
        }
    }
}
