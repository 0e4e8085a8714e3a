//! Sanitised blocks: answers whose noise tells next to nothing about what was computed on.
//!
//! The steps are those of a wash cycle of Ducas and Stehlé ("Sanitization of FHE Ciphertexts", ePrint 2016/164,
//! section 4), once:
//!
//! 1. A fresh encryption of zero under a public key of the key set is added, so that the mask depends on nothing else.
//! 2. A bootstrap drops the noise of all that came before. Its table has the messages at the top of the torus, without
//!    padding and carry, which leaves the most room.
//! 3. Another encryption of zero and flooding noise are added.
//! 4. The key switch to the small key follows, and packing as for any answer.
//!
//! `oracle::sanitising` has the width of the flooding and the bound on what is left.

use std::ops::RangeInclusive;

use rayon::prelude::*;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::PlaintextKind;
use tfhe_sbc_core::public_zeros::PublicZeros;
use tfhe_sbc_core::random::{
    EntropyError, ExpanderKind, NoiseDistribution, NoiseSeed, SeedSequence, add_noise,
};
use tfhe_sbc_core::torus::Torus;

use crate::bootstrap::{BootstrapError, Evaluator, Job};
use crate::lookup_table::LookupTable;

/// The number of ciphertexts that share a pair of seeds. Streams have numbers below 2^32.
const BLOCKS_OF_A_SEED: usize = 1 << 16;

/// The deviations that flooding may have, torus-normalised: at least the precision of blocks under the small key, and
/// little enough for decryption.
const DEVIATIONS: RangeInclusive<f64> = 1.0 / 4_294_967_296.0..=1.0 / 16.0;

/// The reason why blocks were not sanitised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SanitiseError {
    /// A public key of another key set than the server key.
    #[error(
        "the public key belongs to another key set than the server key: make one of this key set"
    )]
    OtherKeySet,
    /// Parameters without messages of several bits.
    #[error("answers of this parameter set cannot be sanitised: it has no integers")]
    Parameters,
    /// Blocks that are not under the big key.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// A source of randomness that failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// A server's means for sanitising blocks: its key, encryptions of zero, and the width of the flooding.
pub struct Sanitiser<'k> {
    evaluator: Evaluator<'k, u64>,
    zeros: PublicZeros<u64>,
    flooding: NoiseDistribution,
    table: LookupTable<u64>,
}

impl<'k> Sanitiser<'k> {
    /// Returns a sanitiser that floods with Gaussian noise of the standard deviation `flooding`, torus-normalised.
    ///
    /// # Errors
    /// [`SanitiseError::OtherKeySet`] for zeros of another key set, and [`SanitiseError::Parameters`] for gates and for
    /// a deviation that is no noise.
    pub fn new(
        evaluator: Evaluator<'k, u64>,
        zeros: PublicZeros<u64>,
        flooding: f64,
    ) -> Result<Self, SanitiseError> {
        let parameters = evaluator.parameters();
        if zeros.fingerprint() != evaluator.fingerprint() || zeros.parameters() != parameters {
            return Err(SanitiseError::OtherKeySet);
        }
        if parameters.plaintext() != PlaintextKind::Radix || !DEVIATIONS.contains(&flooding) {
            return Err(SanitiseError::Parameters);
        }
        let flooding = NoiseDistribution::Gaussian {
            standard_deviation: flooding,
        };
        let bits = parameters.message_bits().0;
        let values = parameters.block_encoding().block_modulus();
        let message = |value: u64| value << (u64::BITS - bits);
        let table = LookupTable::several(parameters, values, 1, message)
            .ok_or(SanitiseError::Parameters)?;
        Ok(Self {
            evaluator,
            zeros,
            flooding,
            table,
        })
    }

    /// The number of bootstraps done so far.
    pub fn bootstrap_count(&self) -> u64 {
        self.evaluator.bootstrap_count()
    }

    /// Sanitises blocks under the big key and returns them under the small one, with the phases `m / 2^message_bits`,
    /// as [`PackingKey::pack_messages`](crate::packing_key::PackingKey::pack_messages) takes them. The value of each
    /// block is a message, without carry, and its noise that of a combination of bootstrap outputs that may enter a
    /// lookup. Takes one bootstrap a block.
    ///
    /// # Errors
    /// If a block is not under the big key, and those of the source of entropy.
    pub fn sanitise(
        &self,
        blocks: &[LweCiphertext<u64>],
        seeds: &mut SeedSequence,
    ) -> Result<Vec<LweCiphertext<u32>>, SanitiseError> {
        self.evaluator.check_big(blocks)?;
        let mut sanitised = Vec::with_capacity(blocks.len());
        for blocks in blocks.chunks(BLOCKS_OF_A_SEED) {
            let (_, soaking) = seeds.next_pair()?;
            let (_, rinsing) = seeds.next_pair()?;
            let (_, flooding) = seeds.next_pair()?;
            let jobs = blocks.par_iter().enumerate().map(|(index, block)| {
                let mut input = block.clone();
                self.add_zero(&mut input, &soaking, index)?;
                let table = &self.table;
                Ok(Job { input, table })
            });
            let jobs: Vec<Job<'_, u64, u64>> = jobs.collect::<Result<_, SanitiseError>>()?;
            let mut washed = self.evaluator.bootstrap_batch(&jobs)?;
            let each = washed.par_iter_mut().enumerate();
            each.try_for_each(|(index, block)| {
                let mut stream = ExpanderKind::ChaCha20.noise_stream(&flooding, index as u32);
                let mut noise = [u64::ZERO; 1];
                add_noise(self.flooding, &mut stream, &mut noise);
                let [noise] = noise;
                block.add_plaintext(noise);
                self.add_zero(block, &rinsing, index)
            })?;
            sanitised.extend(self.evaluator.key_switch_batch(&washed)?);
        }
        Ok(sanitised)
    }

    /// Adds encryption number `index` of zero that `seed` stands for.
    fn add_zero(
        &self,
        block: &mut LweCiphertext<u64>,
        seed: &NoiseSeed,
        index: usize,
    ) -> Result<(), SanitiseError> {
        // There are enough streams for as many blocks as share a seed.
        let zero = self.zeros.encrypt(seed, index as u32);
        let zero = zero.ok_or(SanitiseError::Parameters)?;
        block.add_assign(&zero.sample_extract(0));
        Ok(())
    }
}
