//! The programmable bootstrap, in batches and in both orders.
//!
//! Key switch first ([`Evaluator::bootstrap_batch`]): big key → small key → rotate →
//! big key. Bootstrap first ([`Evaluator::bootstrap_key_switch_batch`]): small key →
//! rotate → big key → small key.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::sample_extract::sample_extract_into;

use crate::blind_rotate::{blind_rotate_batch, blind_rotate_together};
use crate::external_product::cache_aligned;
use crate::lookup_table::LookupTable;
use crate::modulus_switch::modulus_switch_into;
use crate::seeded_rows::Progress;
use crate::server_key::ServerKey;

/// Ciphertexts that one thread advances through one pass over the key.
pub const LOCKSTEP: usize = 8;

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
    /// what its table has at its phase. The result does not depend on the number of
    /// threads or on how the batch is cut.
    ///
    /// # Panics
    /// If a ciphertext is not under the big key.
    pub fn bootstrap_batch(&self, jobs: &[Job<'_, T, T>]) -> Vec<LweCiphertext<T>> {
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
    /// # Panics
    /// If a ciphertext is not under the small key.
    pub fn bootstrap_key_switch_batch(&self, jobs: &[Job<'_, T, u32>]) -> Vec<LweCiphertext<u32>> {
        let small: Vec<u32> = jobs
            .iter()
            .flat_map(|job| {
                assert_eq!(
                    job.input.dimension(),
                    self.parameters().lwe_dimension,
                    "the ciphertext is not under the small key"
                );
                job.input.as_slice()
            })
            .copied()
            .collect();
        let tables: Vec<&LookupTable<T>> = jobs.iter().map(|job| job.table).collect();
        let big = self.rotate_and_extract(&small, &tables);
        self.key_switch_batch(&big)
    }

    /// Switches ciphertexts from the big key to the small one, without bootstrapping.
    ///
    /// # Panics
    /// If a ciphertext is not under the big key.
    pub fn key_switch_batch(&self, inputs: &[LweCiphertext<T>]) -> Vec<LweCiphertext<u32>> {
        let inputs: Vec<&[T]> = inputs.iter().map(LweCiphertext::as_slice).collect();
        self.switch(&inputs)
            .chunks_exact(self.parameters().lwe_dimension.0 + 1)
            .filter_map(|lwe| LweCiphertext::from_vec(lwe.to_vec()))
            .collect()
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
        let parameters = self.parameters();
        let lwe_len = parameters.lwe_dimension.0 + 1;
        let size = parameters.polynomial_size().get();
        let big = parameters.big_lwe_dimension();
        let acc_len = big.0 + size;

        let mut outputs = vec![LweCiphertext::trivial(big, T::ZERO); tables.len()];
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
        let finish = |outputs: &mut [LweCiphertext<T>], accs: &[T]| {
            for (output, acc) in outputs.iter_mut().zip(accs.chunks_exact(acc_len)) {
                sample_extract_into(output.as_mut_slice(), acc, size, 0);
            }
            let done = outputs.len() as u64;
            self.bootstraps.fetch_add(done, Ordering::Relaxed);
            if let Some(observer) = self.observer {
                observer(done);
            }
        };
        if let (&[table], 2..) = (tables, threads) {
            let mut acc = cache_aligned(T::ZERO, acc_len);
            let key = &self.key.bootstrap;
            blind_rotate_together(parameters, key, table, &exponents(small), &mut acc, threads);
            finish(&mut outputs, &acc);
            return outputs;
        }
        // As few passes over the key as the lockstep allows, each thread as many.
        let passes = tables.len().div_ceil(threads * LOCKSTEP).max(1) * threads;
        let lockstep = tables.len().div_ceil(passes).max(1);
        outputs
            .par_chunks_mut(lockstep)
            .zip(tables.par_chunks(lockstep))
            .zip(small.par_chunks(lockstep * lwe_len))
            .for_each(|((outputs, tables), small)| {
                let mut accs = cache_aligned(T::ZERO, tables.len() * acc_len);
                blind_rotate_batch(
                    parameters,
                    &self.key.bootstrap,
                    tables,
                    &exponents(small),
                    &mut accs,
                    &mut self.key.bootstrap.product().scratch(),
                );
                finish(outputs, &accs);
            });
        outputs
    }
}
