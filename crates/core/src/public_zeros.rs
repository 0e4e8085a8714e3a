//! Encryptions of zero under a [`DevicePublicKey`], for whoever re-randomises ciphertexts.
//!
//! An encryption of zero is `Σ_j r_j · (A_j, B_j) + e`, as one of a [public key](crate::device_public_key) without
//! a message. Its masks stay as they are: nothing is rounded. To whoever does not know the `r_j` its masks are samples
//! of module-LWE with these secrets, also if the secret key is known, as long as the noise of the body is covered.

use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use crate::device_public_key::DevicePublicKey;
use crate::glwe::{GlweCiphertext, GlweSecretKey};
use crate::glwe_product::ProductTorus;
use crate::parameters::{KeyFingerprint, Parameters};
use crate::random::{ExpanderKind, NoiseSeed, fill_uniform};
use crate::wire::public_key::read_scalars;

/// The number of streams of a noise seed that one encryption of zero reads at most: one for the polynomials `r_j` and
/// one for each component.
pub const STREAMS_OF_A_ZERO: u32 = crate::parameters::MAX_GLWE_DIMENSION as u32 + 2;

/// A public key whose rows are expanded. Not secret.
pub struct PublicZeros<T> {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    /// The components, mask polynomials first: each has `k · N` scalars, those of all k rows.
    components: Vec<Vec<T>>,
}

impl<T> fmt::Debug for PublicZeros<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicZeros")
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

impl<T: ProductTorus> PublicZeros<T> {
    /// Expands the rows of a public key. Returns `None` if its torus is not `T`.
    pub fn new(key: &DevicePublicKey) -> Option<Self> {
        let parameters = *key.parameters();
        if parameters.torus_bits() != T::BITS {
            return None;
        }
        let size = parameters.polynomial_size().get();
        let dimension = parameters.glwe_dimension().0;
        let mut components = alloc::vec![Vec::with_capacity(dimension * size); dimension + 1];
        let bodies = key.bodies().chunks_exact(size * (T::BITS as usize / 8));
        for (row, body) in (0..).zip(bodies) {
            let mut scalars = alloc::vec![T::ZERO; (dimension + 1) * size];
            let (masks, tail) = scalars.split_at_mut(dimension * size);
            fill_uniform(&mut key.expander().mask_stream(key.mask_seed(), row), masks);
            read_scalars(body, tail);
            for (component, polynomial) in components.iter_mut().zip(scalars.chunks_exact(size)) {
                component.extend_from_slice(polynomial);
            }
        }
        Some(Self {
            parameters,
            fingerprint: key.fingerprint(),
            components,
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The fingerprint of the key set.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// Returns encryption number `index` of zero that a seed stands for. Its randomness is that of streams
    /// `index · `[`STREAMS_OF_A_ZERO`]` ..` of the seed, which must be fresh. Returns `None` if there is no such stream.
    ///
    /// The result does not decrypt, and neither it nor the time that it takes depends on a secret key.
    pub fn encrypt(&self, seed: &NoiseSeed, index: u32) -> Option<GlweCiphertext<T>> {
        let expander = ExpanderKind::ChaCha20;
        let first = index.checked_mul(STREAMS_OF_A_ZERO)?;
        first.checked_add(STREAMS_OF_A_ZERO)?;
        let size = self.parameters.polynomial_size();
        let secrets = GlweSecretKey::generate(
            self.parameters.glwe_secret(),
            self.parameters.glwe_dimension(),
            size,
            &mut expander.noise_stream(seed, first),
        )
        .prepare();
        let mut scratch = Zeroizing::new(alloc::vec![0.0; secrets.scratch_len::<T>()]);
        let mut words = alloc::vec![T::ZERO; self.components.len() * size.get()];
        let components = self
            .components
            .iter()
            .zip(words.chunks_exact_mut(size.get()));
        for (stream, (rows, out)) in (first + 1..).zip(components) {
            let mut noise = expander.noise_stream(seed, stream);
            let distribution = self.parameters.glwe_noise();
            secrets.encrypt_body_into(out, rows, distribution, &mut noise, &mut scratch);
        }
        GlweCiphertext::from_vec(words, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SecretKey;
    use crate::parameter_sets::{BOOLEAN_1024, MESSAGE_2_CARRY_2};
    use crate::random::{Seed, SeedSequence};

    fn variance(errors: impl Iterator<Item = f64>) -> f64 {
        let squares: Vec<f64> = errors.map(|error| error * error).collect();
        squares.iter().sum::<f64>() / squares.len() as f64
    }

    /// The phases are noise of the variance `σ² (1 + 2 k N E[s²])`, and the masks are uniform.
    fn zeros_of<T: ProductTorus>(set: &crate::parameters::ParameterSet) {
        let mut seeds = SeedSequence::new(Seed::from_bytes([7; 32]));
        let parameters = set.validate().unwrap();
        let secret = SecretKey::generate(parameters, &mut seeds).unwrap();
        let key = secret.glwe().prepare();
        let (mut phases, mut masks) = (Vec::new(), Vec::new());
        // A part of the noise is constant under one public key.
        for index in 0..64 {
            let public = secret.device_public_key(&mut seeds).unwrap();
            let zeros = PublicZeros::<T>::new(&public).unwrap();
            let (_, seed) = seeds.next_pair().unwrap();
            let zero = zeros.encrypt(&seed, index).unwrap();
            phases.extend(key.phase(&zero).iter().map(|p| p.to_signed_fraction()));
            let mask = &zero.as_slice()[..parameters.big_lwe_dimension().0];
            masks.extend(mask.iter().map(|a| a.to_signed_fraction()));
        }
        let sigma = parameters.glwe_noise().variance(parameters.torus_bits());
        let terms = parameters.big_lwe_dimension().0 as f64;
        let ratio = variance(phases.into_iter()) / (sigma * (1.0 + terms));
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
        let ratio = variance(masks.into_iter()) * 12.0;
        assert!((0.97..1.03).contains(&ratio), "{ratio}");
    }

    #[test]
    fn zeros_have_the_noise_of_public_keys_and_uniform_masks() {
        zeros_of::<u64>(&MESSAGE_2_CARRY_2);
        zeros_of::<u32>(&BOOLEAN_1024);
    }

    #[test]
    fn every_index_and_every_seed_has_a_zero_of_its_own() {
        let mut seeds = SeedSequence::new(Seed::from_bytes([8; 32]));
        let secret =
            SecretKey::generate(MESSAGE_2_CARRY_2.validate().unwrap(), &mut seeds).unwrap();
        let public = secret.device_public_key(&mut seeds).unwrap();
        let zeros = PublicZeros::<u64>::new(&public).unwrap();
        let ((_, one), (_, other)) = (seeds.next_pair().unwrap(), seeds.next_pair().unwrap());
        let first = zeros.encrypt(&one, 0).unwrap();
        assert_eq!(first, zeros.encrypt(&one, 0).unwrap());
        assert_ne!(first, zeros.encrypt(&one, 1).unwrap());
        assert_ne!(first, zeros.encrypt(&other, 0).unwrap());
        assert!(zeros.encrypt(&one, u32::MAX).is_none());
        assert!(PublicZeros::<u32>::new(&public).is_none());
    }
}
