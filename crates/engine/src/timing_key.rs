//! Keys of noise, for measuring how long bootstraps take.

use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};

use crate::bootstrap::{Evaluator, Job};
use crate::bootstrap_key::BootstrapKey;
use crate::key_switch::KeySwitchKey;
use crate::lookup_table::LookupTable;
use crate::server_key::{ServerKey, ServerKeyError, check_torus};

/// A server key of the shape and size of a parameter set's that encrypts nothing: no secret
/// belongs to it, and what is bootstrapped with it is noise. Since what kernels do does not
/// depend on values, it takes as long as a real one, and is made in the time of filling memory.
///
/// All that it can do is spend that time.
pub struct TimingKey<T> {
    key: ServerKey<T>,
    table: LookupTable<T>,
}

impl<T: MaskTorus> TimingKey<T> {
    /// The key of noise for `parameters`.
    ///
    /// # Errors
    /// If they are over another torus.
    pub fn new(parameters: &Parameters) -> Result<Self, ServerKeyError> {
        check_torus::<T>(parameters)?;
        let key = ServerKey {
            parameters: *parameters,
            fingerprint: KeyFingerprint::default(),
            bootstrap: BootstrapKey::of_noise(parameters),
            key_switch: KeySwitchKey::of_noise(parameters),
            torus: std::marker::PhantomData,
        };
        let table = LookupTable::from_fn(parameters, |x| x as i64);
        Ok(Self { key, table })
    }

    /// Bytes of both keys in memory: of the bootstrapping and of the key-switching key.
    pub fn byte_counts(&self) -> [usize; 2] {
        [
            self.key.bootstrap_key_bytes(),
            self.key.key_switch_key_bytes(),
        ]
    }

    /// A batch of this many bootstraps on the threads of the current rayon pool.
    pub fn bootstrap_batch(&self, batch: usize) {
        let input = self.input();
        let job = || Job {
            input: input.clone(),
            table: &self.table,
        };
        let jobs: Vec<_> = std::iter::repeat_with(job).take(batch).collect();
        std::hint::black_box(Evaluator::new(&self.key).bootstrap_all(&jobs));
    }

    /// A batch of this many key switches likewise.
    pub fn key_switch_batch(&self, batch: usize) {
        let inputs = vec![self.input(); batch];
        std::hint::black_box(Evaluator::new(&self.key).switch_all(&inputs));
    }

    fn input(&self) -> LweCiphertext<T> {
        let big = self.key.parameters().big_lwe_dimension();
        let mut input = LweCiphertext::trivial(big, T::ZERO);
        let scalars = input.as_mut_slice().iter_mut().zip(noise());
        scalars.for_each(|(scalar, noise)| *scalar = T::from_i64(noise));
        input
    }
}

/// Numbers that look random (Marsaglia: Xorshift RNGs), from nowhere.
pub(crate) fn noise() -> impl Iterator<Item = i64> {
    let next = |x: &u64| {
        let x = x ^ (x << 13);
        let x = x ^ (x >> 7);
        Some(x ^ (x << 17))
    };
    std::iter::successors(Some(0x9e37_79b9_7f4a_7c15), next).map(|x: u64| x as i64)
}
