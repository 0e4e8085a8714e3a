//! Keys that encrypt nothing, for measuring the time of bootstraps.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};

use crate::bootstrap::{Evaluator, Job};
use crate::bootstrap_key::BootstrapKey;
use crate::filler::filler_words;
use crate::key_switch::KeySwitchKey;
use crate::lookup_table::LookupTable;
use crate::server_key::{ServerKey, ServerKeyError, check_torus};

/// A server key with the shape and size of a parameter set's real key, but filled with arbitrary words:
/// no secret belongs to it, and the outputs of its bootstraps are meaningless.
///
/// The kernels do the same work for all values, so that its bootstraps take as long as those of a real
/// key, and it is made as fast as memory is filled.
pub struct TimingKey<T> {
    key: ServerKey<T>,
    table: LookupTable<T>,
}

impl<T: ProductTorus> TimingKey<T> {
    /// Returns a timing key for `parameters`.
    ///
    /// # Errors
    /// [`ServerKeyError::TorusBits`] if the parameters are over another torus than `T`.
    pub fn new(parameters: &Parameters) -> Result<Self, ServerKeyError> {
        check_torus::<T>(parameters)?;
        let key = ServerKey {
            parameters: *parameters,
            fingerprint: KeyFingerprint::default(),
            bootstrap: BootstrapKey::of_filler_words(parameters),
            key_switch: KeySwitchKey::of_filler_words(parameters),
            packing: None,
            torus: std::marker::PhantomData,
        };
        let table = LookupTable::from_fn(parameters, |x| x as i64);
        Ok(Self { key, table })
    }

    /// The numbers of bytes in memory of the bootstrapping key and of the key-switching key.
    pub fn byte_counts(&self) -> [usize; 2] {
        [
            self.key.bootstrap_key_bytes(),
            self.key.key_switch_key_bytes(),
        ]
    }

    /// Does `batch` bootstraps on the threads of the current rayon pool and drops the outputs.
    pub fn bootstrap_batch(&self, batch: usize) {
        let input = self.input();
        let job = || Job {
            input: input.clone(),
            table: &self.table,
        };
        let jobs: Vec<_> = std::iter::repeat_with(job).take(batch).collect();
        std::hint::black_box(Evaluator::new(&self.key).bootstrap_all(&jobs));
    }

    /// Does `batch` key switches on the threads of the current rayon pool and drops the outputs.
    pub fn key_switch_batch(&self, batch: usize) {
        let inputs = vec![self.input(); batch];
        std::hint::black_box(Evaluator::new(&self.key).switch_all(&inputs));
    }

    /// A ciphertext of filler words under the big key.
    fn input(&self) -> LweCiphertext<T> {
        let big = self.key.parameters().big_lwe_dimension();
        let mut input = LweCiphertext::trivial(big, T::ZERO);
        let scalars = input.as_mut_slice().iter_mut().zip(filler_words());
        scalars.for_each(|(scalar, word)| *scalar = T::from_i64(word));
        input
    }
}
